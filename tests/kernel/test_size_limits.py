"""Open sizes for which int arithmetic of kernels would overflow are refused."""

from __future__ import annotations

import numpy as np
import pytest

import tcc
from tcc.affine import Affine, const, maximum, minimum, var
from tcc.kernel.affine_text import AffinePrinter
from tcc.kernel.context import NARROW
from tcc.kernel.prove import Scope
from tcc.kernel.size_limits import SizeLimits
from tests.kernel.running import compiled

M, N, K, Q = (var(n) for n in ("M", "N", "K", "N_4"))
NAMES = {"M": ("M", 1), "N": ("N", 1), "K": ("K", 1), "N_4": ("N", 4)}
RANGES = dict.fromkeys(NAMES, (1, NARROW))
T = Scope("t", const(0), const(32))
B = Scope("b", const(0), (N + 127) // 128)
W = Scope("w", const(0), N - K + 1)


@pytest.mark.parametrize(
    ("form", "scopes", "expected"),
    [
        (N + 127, (), ["N <= 2147483520"]),
        ((N + 127) // 128, (), []),  # what is divided is a form of its own
        (N - 1, (), []),
        (N * 2, (), ["N <= 1073741823"]),
        (M + N, (), ["M + N <= 2147483647"]),
        (M - N, (), []),
        (-M - N, (), ["M + N <= 2147483647"]),
        (M * N + 7, (), ["M * N <= 2147483640"]),
        (var("t") * N + 7, (T,), []),  # an offset
        (minimum(var("t") + 1, N - 1) * N + 7, (T,), []),
        (((var("t") + 1) // 2) * M * N + N + 7, (T,), ["N <= 2147483640"]),
        (Q * 4 + 63, (), ["N <= 2147483584"]),
        (var("b") * 128 + var("t") * 4, (B, T), ["N <= 2147483524"]),
        (var("w") + K - 1, (W,), []),
        (var("w") + var("t"), (W, T), ["N <= 2147483617"]),
        (minimum(N, const(8)) * 99, (), []),
        (maximum(N, M) + 1, (), ["M + N <= 2147483646"]),
        (var("t") * 128 + 5, (T,), []),
    ],
)
def test_bounds(form, scopes, expected):
    limits = SizeLimits(NAMES)
    limits.note(form, scopes, RANGES)
    assert [_text(c) for c in limits.conditions()] == expected


def _text(condition: Affine) -> str:
    return f"{const(condition.constant) - condition} <= {condition.constant}"


def test_the_strictest_limit_stays():
    limits = SizeLimits(NAMES)
    for form in (N + 15, N + 127, M + N, M + N + 3, N + 63):
        limits.note(form, (), RANGES)
    assert [_text(c) for c in limits.conditions()] == ["M + N <= 2147483644", "N <= 2147483520"]


def test_nothing_follows_from_a_variable_of_which_only_the_type_is_known():
    limits = SizeLimits(NAMES)
    limits.note(var("q") + N, (Scope("q", const(0), const(2**31)),), RANGES)
    assert not [*limits.conditions()]


@pytest.mark.parametrize(
    ("form", "most"),
    [
        (var("q") - 1 + N, 2**31),
        (4 * var("q") + 3 + (N - 1), 2**29),  # four in a tile, of blocks of two dimensions
        (var("q") // 4 + N, 2**31),
    ],
)
def test_nothing_follows_from_parts_of_such_a_variable(form, most):
    """Launchers refused all sizes above 1."""
    limits = SizeLimits(NAMES)
    limits.note(form, (Scope("q", const(0), const(most)),), RANGES)
    assert not [*limits.conditions()]


def test_sums_in_long_long_need_no_limit():
    limits = SizeLimits(NAMES)
    printer = AffinePrinter({"N": (1, NARROW)}, set(), limits)
    assert printer.affine(N + 2**31) == "(long long)N + 2147483648LL"
    assert not [*limits.conditions()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(int8(N) A) -> (S) { S +=! int(A(i)) }", "N <= "),
        ("def f(int8(N) A) -> (B) { B(i) = A(i) }", "N <= 2147483392"),
        ("def f(int8(N) A) -> (B) { B(j) = A(0) where j in 0:2 * N }", "N <= 1073741696"),
        (
            "def f(int8(N) A, int8(M) B) -> (C) { C(i) = A(0) where i in 0:N + M }",
            "M + N <= 2147483392",
        ),
        # Blocks along y and z take steps of 65535.
        ("def f(int8(M, N) A) -> (B) { B(j, i) = A(i, j) }", "N <= 2147418113"),
    ],
)
def test_the_launcher_refuses(text, expected):
    """Past the limit a loop ran over nothing, and its result was a silent 0."""
    artifact = compiled(text, {}).artifact
    assert any(r.text.startswith(expected) for r in artifact.interface.requirements)
    assert "// the kernels count in 32 bits" in artifact.cuda_source


def test_sizes_with_values_have_no_limit():
    text = "def f(int8(N) A) -> (B) { B(i) = A(i) }"
    assert not compiled(text, {"N": NARROW}).artifact.interface.requirements


def test_arrays_that_are_too_large_are_an_error():
    kernel = tcc.compile("def large(int8(N) A) -> (S) { S +=! int(A(i)) }")
    with pytest.raises(tcc.CompileError, match=r"E0619.*`large` needs `N <= 21474"):
        kernel.run({"A": np.broadcast_to(np.int8(1), (NARROW,))})
