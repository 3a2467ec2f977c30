"""Affine expressions as C++: the same value in C's arithmetic, few parentheses."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tcc.affine import Affine, const, maximum, minimum, var
from tcc.kernel.affine_text import AffinePrinter
from tcc.kernel.helpers import helper_texts
from tcc.kernel.prove import Scope
from tests.kernel.random_ir import POINTS, RandomIr

ROW, J, N, M = map(var, "ijNM")
CXX = shutil.which("g++") or shutil.which("clang++")
FLAGS = ("-std=c++17", "-O0", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")


def printer() -> AffinePrinter:
    result = AffinePrinter({"N": (1, 100)}, set())
    result.scopes += [Scope("i", const(0), const(3)), Scope("j", const(-3), const(4))]
    return result


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (const(0), "0"),
        (const(-6), "-6"),
        (ROW - 1, "i - 1"),
        (1 - ROW, "1 - i"),
        (-ROW, "-i"),
        (ROW * -4, "-4 * i"),
        (-ROW - J, "-i - j"),
        (ROW * 2 + J * 3 - 5, "2 * i + 3 * j - 5"),
        (ROW // 4, "i / 4"),
        (ROW % 4, "i % 4"),
        ((ROW + 1) % 2 + N, "N + (i + 1) % 2"),
        (ROW // 4 * 3, "3 * (i / 4)"),
        (-(ROW // 2), "-(i / 2)"),
        (J // 4, "floor_div(j, 4)"),
        (J % 4 - 1, "floor_mod(j, 4) - 1"),
        ((N + 7) // 8, "(N + 7) / 8"),
        ((ROW + N) // 8 % 4, "((N + i) / 8) % 4"),
        (N * M * 2, "2 * M * N"),
        (N * M * -1, "-(M * N)"),
        (minimum(N, M) + 1, "minimum(M, N) + 1"),
        (maximum(ROW, J, 3), "maximum(maximum(i, j), 3)"),
    ],
)
def test_text(form: Affine, text: str) -> None:
    found = printer().affine(form)
    terms = sorted(re.split(r" \+ ", found))
    assert terms == sorted(re.split(r" \+ ", text))


def test_helpers_are_noted() -> None:
    shared = printer()
    shared.affine(J // 4 + minimum(ROW, J))
    assert shared.helpers == {"floor_div", "minimum"}


def test_factors() -> None:
    assert printer().factor(ROW + 1) == "(i + 1)"
    assert printer().factor(ROW * 2) == "(2 * i)"
    assert printer().factor(N) == "N"


def test_text_has_the_value_of_the_form() -> None:
    """C's division is that of naturals here; everything else is the same in Python."""
    names = {
        "floor_div": lambda a, b: a // b,
        "floor_mod": lambda a, b: a % b,
        "minimum": min,
        "maximum": max,
    }
    made = RandomIr(3)
    for _ in range(300):
        form = made.affine(random.Random(0).randint(1, 3))
        code = compile(printer().affine(form).replace("/", "//"), "form", "eval")
        for i, j in POINTS:
            assert eval(code, names, {"i": i, "j": j}) == form.evaluate({"i": i, "j": j})


@pytest.mark.parametrize(
    ("form", "is_long"),
    [
        (ROW * 2**29 - 1, False),
        (ROW * 2**30 + J, True),
        (J * 2**30, True),
        (J * 2**29, False),
        (ROW * 2**30 - J * 2**20, True),
        (N * 2**30, False),  # of open sizes nothing is known
        (ROW + 2**31, True),
        (minimum(ROW + 2**31, 5), True),
        ((ROW * 2**31) % 8, False),
    ],
)
def test_what_may_leave_int_is_computed_in_long_long(form: Affine, is_long: bool) -> None:
    assert ("long long" in printer().affine(form)) == is_long


def test_sizes_count_where_that_is_asked_for() -> None:
    def text(form: Affine) -> str:
        return AffinePrinter({"N": (1, None)}, set(), largest_size=2**31 - 1).affine(form)

    assert text(N - 5) == "N - 5"
    assert text(M - N * 2) == "(long long)M - 2 * (long long)N"
    assert text(M * N) == "(long long)M * (long long)N"


@pytest.mark.skipif(CXX is None, reason="needs g++ or clang++")
def test_large_forms_have_their_value_in_cpp(tmp_path: Path) -> None:
    made, choose = RandomIr(4), random.Random(1)
    forms = [
        made.affine(2) * choose.randint(1, 2**30) + made.affine(3) // choose.randint(1, 9)
        for _ in range(80)
    ]
    forms += [f % choose.randint(2, 2**20) for f in forms[:40]]
    forms += [maximum(f, minimum(ROW, f - 2**31)) for f in forms[:20]]
    shared = printer()
    lines = []
    for number, form in enumerate(forms):
        values = ", ".join(f"{form.evaluate({'i': i, 'j': j})}LL" for i, j in POINTS)
        lines.append(f"const long long v{number}[] = {{{values}}};")
        body = f"return ({shared.affine(form)}) != v{number}[p];"
        lines.append(f"bool bad{number}(int p, int i, int j) {{ {body} }}")
    lines.append("int main() {")
    for number in range(len(forms)):
        calls = (f"bad{number}({p}, {i}, {j})" for p, (i, j) in enumerate(POINTS))
        lines.append(f"  if ({' || '.join(calls)}) return 1;")
    head = ["#define __host__", "#define __device__", "#define __forceinline__ inline"]
    lines = [*head, *helper_texts(shared.helpers), *lines, "}", ""]
    (tmp_path / "all.cpp").write_text("\n".join(lines), "utf-8")
    subprocess.run([str(CXX), "-w", *FLAGS, "-o", "all", "all.cpp"], cwd=tmp_path, check=True)
    subprocess.run([str(tmp_path / "all")], check=True)
