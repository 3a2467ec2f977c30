"""The table of builtin functions: names and arities of the original, and three more."""

import shutil
import subprocess

import pytest

from tcc.frontend.builtins import ARITY, BUILTINS, spelling
from tcc.frontend.tokens import KEYWORDS
from tcc.scalar import SPELLINGS, ScalarType


def test_all_of_the_original_and_three_more():
    assert len(BUILTINS) == 67
    assert {"abs", "sigmoid", "relu"} <= set(BUILTINS)
    counts = [sum(a == k for a in ARITY.values()) for k in (1, 2, 3, 4)]
    assert counts == [47 + 3, 12, 3, 2]
    assert all(name == b.name for name, b in BUILTINS.items())
    assert not set(BUILTINS) & {*KEYWORDS, *SPELLINGS}


@pytest.mark.parametrize(
    ("name", "float32", "float64"),
    [
        ("exp", "expf", "exp"),
        ("fabs", "fabsf", "fabs"),
        ("abs", "fabsf", "fabs"),
        ("norm3d", "norm3df", "norm3d"),
        ("fdivide", "fdividef", "fdivide"),
        ("cyl_bessel_i0", "cyl_bessel_i0f", "cyl_bessel_i0"),
        ("sigmoid", "sigmoid", "sigmoid"),
    ],
)
def test_spelling(name, float32, float64):
    assert spelling(name, ScalarType.FLOAT32) == float32
    assert spelling(name, ScalarType.FLOAT64) == float64


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_what_math_h_has(tmp_path):
    """Every function marked as such compiles with nothing but math.h."""
    lines = [
        f"{kind} f{n}_{kind}({kind} x) {{ return ::{name}({', '.join('x' * b.arity)}); }}"
        for n, b in enumerate(BUILTINS.values())
        if b.in_math_h
        for kind, name in (("float", b.float32), ("double", b.float64))
    ]
    file = tmp_path / "calls.cpp"
    file.write_text("#include <math.h>\n" + "\n".join(lines), "utf-8")
    command = ["g++", "-std=c++17", "-Wall", "-Werror", "-Wconversion", "-fsyntax-only", str(file)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""
