"""Range inference: every golden case of the original, and the forms it could not solve."""

from __future__ import annotations

import random
import re

import pytest

from tcc.frontend import tir
from tests.frontend.elaborated import attempt, places, program

CONV = "float(N, C, H, W) I, float(M, C, KH, KW) W1"
GRAD = f"{CONV}, float(N, M, OH, OW) d_O"
BATCH = "float(A_0, A_1, A_2) A, float(B_0, B_1, B_2) B, float(C_0, C_1, C_2) C"

# inputs, outputs, statements, and for every output the minima and the extents
GOLDEN = {
    "Copy1D": ("float(M) I", "O", "O(i) = I(i)", {"O": ("0", "M")}),
    "Copy2D": ("float(M, N) I", "O", "O(i, j) = I(i, j)", {"O": ("0, 0", "M, N")}),
    "Transpose2D": ("float(M, N) I", "O", "O(i, j) = I(j, i)", {"O": ("0, 0", "N, M")}),
    "Transpose4D": (
        "float(A, B, C, D) I",
        "O",
        "O(i, j, k, l) = I(j, i, l, k)",
        {"O": ("0, 0, 0, 0", "B, A, D, C")},
    ),
    "Scale1D": ("float(I_0) I", "O", "O(i) = I(123 * i)", {"O": ("0", "(I_0 + 122) // 123")}),
    "Shift1D": ("float(I_0) I", "O", "O(i) = I(i - 1)", {"O": ("1", "I_0")}),
    "Shift1D2": ("float(I_0) I", "O", "O(i) = I(i + 5)", {"O": ("-5", "I_0")}),
    "Conv": (
        f"{CONV}, float(M) B",
        "tmp, O",
        "tmp(n, m, h, w) +=! I(n, c, h + kh, w + kw) * W1(m, c, kh, kw)"
        " O(n, m, h, w) = tmp(n, m, h, w) + B(m)",
        {
            "tmp": ("0, 0, 0, 0", "N, M, H - KH + 1, W - KW + 1"),
            "O": ("0, 0, 0, 0", "N, M, H - KH + 1, W - KW + 1"),
        },
    ),
    "ConvGrad": (
        GRAD,
        "d_I, d_W1, d_B",
        "d_I(n, c, h, w) +=! d_O(n, m, h - kh, w - kw) * W1(m, c, kh, kw)"
        " d_W1(m, c, kh, kw) +=! d_O(n, m, h - kh, w - kw) * I(n, c, h, w)"
        " d_B(m) +=! d_O(n, m, h, w)",
        {
            "d_I": ("0, 0, KH - 1, KW - 1", "N, C, OH - KH + 1, OW - KW + 1"),
            "d_W1": ("0, 0, H - OH, W - OW", "M, C, OH - H + 1, OW - W + 1"),
            "d_B": ("0", "M"),
        },
    ),
    "PaddedConv": (
        CONV,
        "pad, tmp",
        "pad(n, c, h, w) = I(n, c, h - 2 - 3, w - 3 - 4)"
        " tmp(n, m, h, w) +=! pad(n, c, 2 * h + kh, 3 * w + kw) * W1(m, c, kh, kw)",
        {
            "pad": ("0, 0, 5, 7", "N, C, H, W"),
            "tmp": ("0, 0, 3, 3", "N, M, (H - KH + 1) // 2, (W - KW + 1) // 3"),
        },
    ),
    "WeirdConv": (
        "float(B, IP, H, W) I, float(OP, IP, KH, KW) Wt",
        "O",
        "O(b, op, h, w) +=! I(b, ip, 2 * h + 3 * w + kh, 2 * w + kw) * Wt(op, ip, kh, kw)",
        {
            "O": (
                "0, 0, 0, 0",
                "B, OP, (H - KH - ((W - KW) // 2) * 3) // 2 + 1, (W - KW) // 2 + 1",
            )
        },
    ),
    "TCA": (
        "float(I_0, I_1, I_2) I",
        "O",
        "O(i) +=! I(j, i + j, k)",
        {"O": ("0", "I_1 - I_0 + 1")},
    ),
    "TCF": (
        BATCH,
        "O2, O3",
        "O2(j, k, l) +=! B(j, k, l) + A(i, j, k) O3(k, l, m) +=! C(k, l, m) + O2(j, k, l)",
        {
            "O2": ("0, 0, 0", "min(B_0, A_1), min(B_1, A_2), B_2"),
            "O3": ("0, 0, 0", "min(C_0, min(B_1, A_2)), min(C_1, B_2), C_2"),
        },
    ),
    "TCG": (
        BATCH,
        "O1, O2, O3",
        "O1(i, j) +=! A(i, j, k) O2(j, k, l) +=! B(j, k, l) + O1(i, j)"
        " O3(k, l, m) +=! C(k, l, m) + O2(j, k, l)",
        {
            "O1": ("0, 0", "A_0, A_1"),
            "O2": ("0, 0, 0", "min(B_0, A_1), B_1, B_2"),
            "O3": ("0, 0, 0", "min(C_0, B_1), min(C_1, B_2), C_2"),
        },
    ),
    "PartialCopy": (
        "float(N, M) I",
        "O",
        "O(i, j) = I(i, j) where i in 3:N - 1",
        {"O": ("3, 0", "N - 4, M")},
    ),
    "UnambiguousRotate": (
        "float(N, M) I",
        "O",
        "O(i, j) = I(10 + i - j, i + j) where i in 0:10",
        {"O": ("0, 20 - min(N, 20)", "10, min(M - 10, 10) + min(N, 20) - 19")},
    ),
    "PartialAssignWithWhere": (
        "float(N) I",
        "O",
        "O(i, j) = 3.0 where i in 4:8, j in 3:20, exists I(i)",
        {"O": ("4, 3", "4, 17")},
    ),
    "B(10 - i)": ("float(I_0) B", "A", "A(i) = B(10 - i)", {"A": ("11 - I_0", "I_0")}),
}


def golden(name: str) -> tuple[tir.Program, dict[str, tuple[str, str]]]:
    inputs, outputs, statements, expected = GOLDEN[name]
    return program(f"def f({inputs}) -> ({outputs}) {{ {statements} }}"), expected


def samples(found: tir.Program) -> list[dict[str, int]]:
    """Assignments of the sizes that meet all preconditions."""
    rng = random.Random(7)
    drawn = [{s: rng.randint(1, 30) for s in found.sizes} for _ in range(600)]
    return [d for d in drawn if all(p.expression.evaluate(d) >= 0 for p in found.preconditions)]


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_ranges(name):
    found, expected = golden(name)
    assignments = samples(found)
    assert len(assignments) > 10
    for tensor, (minima, extents) in expected.items():
        wanted = compile(f"[{minima}], [{extents}]", name, "eval")
        for sizes in assignments:
            origin = [o.evaluate(sizes) for o in found.tensors[tensor].origin]
            shape = [e.evaluate(sizes) for e in found.tensors[tensor].shape]
            assert (origin, shape) == eval(wanted, {"min": min, **sizes})


@pytest.mark.parametrize(
    ("name", "tensor", "shape"),
    [
        ("Scale1D", "O", "(I_0 + 122) / 123"),
        ("Conv", "O", "N, M, H - KH + 1, W - KW + 1"),
        ("PaddedConv", "tmp", "N, M, (H - KH + 1) / 2, (W - KW + 1) / 3"),
        ("WeirdConv", "O", "B, OP, (H - KH - 3 * ((W - KW) / 2)) / 2 + 1, (W - KW) / 2 + 1"),
        ("TCF", "O3", "min(A_2, B_1, C_0), min(B_2, C_1), C_2"),
    ],
)
def test_golden_forms(name, tensor, shape):
    found, _ = golden(name)
    assert ", ".join(map(str, found.tensors[tensor].shape)) == shape


# What the original rejects for want of a range, at the target.
UNSOLVED = {
    "Transpose5D": ("float(A, B, C, D, E) I", "O(i, j, k, l, m) = I(j, i, k, i, l)"),
    "TCB": ("float(A_0, A_1, A_2) A", "O(i) +=! A(i + j, i + j, i + j)"),
    "AmbiguousRotate": ("float(N, M) I", "O(i, j) = I(10 + i - j, i + j)"),
    "PartialAssignWithoutWhere": ("float(N) I", "O(i, j) = 3.0"),
    "one of two": ("float(N) I", "O(i, j) = I(i)"),
    "gather only": ("float(N) I, int(M) K", "O(i) = I(int32(float(i)))"),
    "quadratic": ("float(N) I", "O(i) = I(i * i)"),
    "remainder": ("float(N) I", "O(i) = I(i % 3)"),
    "window": ("float(N) I", "O(n) +=! I(n + k)"),
}


def test_the_access_that_bounds_only_a_sum_is_named():
    _, (finding,) = attempt("def f(float(N) X) -> (Y) { Y(n) +=! X(n + 2 * k + 1) }")
    (label,) = finding.secondary
    assert (label.span.text, label.text) == ("X(n + 2 * k + 1)", "bounds only `2 * k + n`")


@pytest.mark.parametrize("name", UNSOLVED)
def test_unsolved(name):
    inputs, statement = UNSOLVED[name]
    assert places(f"def f({inputs}) -> (O) {{\n    {statement}\n}}\n") == ["E0301 2:5"]


# What the original would check at run time, and therefore refused: a check of the launcher here.
LEFT_OVER = {
    "TCC": ("float(N, NM, M) I", "O(i, j) = I(i, i + j, j)", {"NM - N - M + 1"}),
    "TCD": (
        "float(A, B, C, D, E) I",
        "O(i, j, k) = I(i, j, i, k, 2 * i + j)",
        {"E - B - 2 * min(A, C) + 2"},
    ),
    "TCE": (
        "float(A, B, C, D, E) I",
        "O(i, j) = I(j, j + 1, i, i + 3, 2 * i + j + 0)",
        {"E - 2 * min(C, D - 3) - min(A, B - 1) + 2", "min(A, B - 1) - 1", "min(C, D - 3) - 1"},
    ),
}


@pytest.mark.parametrize("name", LEFT_OVER)
def test_left_over_conditions_stay_as_preconditions(name):
    inputs, statement, expected = LEFT_OVER[name]
    found = program(f"def f({inputs}) -> (O) {{ {statement} }}")
    rng = random.Random(3)
    for _ in range(200):
        sizes = {s: rng.randint(1, 9) for s in found.sizes}
        wanted = all(eval(e, {"min": min, **sizes}) >= 0 for e in expected)
        assert all(p.expression.evaluate(sizes) >= 0 for p in found.preconditions) == wanted


def test_left_over_condition_that_the_sizes_prove():
    text = "def f(float(N, NM, M) I) -> (O) { O(i, j) = I(i, i + j, j) }"
    found = program(text, N=10, NM=19, M=10)
    assert not found.preconditions
    assert places(text, N=10, NM=18, M=10) == ["E0307 1:45"]


RANGES = {
    # right side and clauses for one output index, size N of X, and the range
    "X(i / 2)": "0:2 * N",
    "X((i + 1) / 3)": "-1:3 * N - 1",
    "X(5 - i / 2)": "12 - 2 * N:12",
    "X(2 * i / 3)": "0:(3 * N + 1) / 2",
    "X(min(i, 3)) where i in 0:9": "0:9",
    "X(max(i, 0)) + X(i + 1)": "-1:N - 1",
    "X(i) + X(i % 3)": "0:N",
    "X(i) + X(i + i / 2)": "0:N",
    "X(i) where i in 2:N": "2:N",
    "X(i - 1) + X(i + 1)": "1:N - 1",
    "i > 0 ? X(i - 1) : X(i)": "1:N",
    "X(N - 1 - i)": "0:N",
    "X(X.0 - 1 - i)": "0:N",
    "X(3) + float(i) where i in 0:N / 2": "0:N / 2",
    "1.0 where exists X(i)": "0:N",
    "1.0 where exists X(i + 2) + X(2 * i)": "0:min((N + 1) / 2, N - 2)",
}


@pytest.mark.parametrize("right", RANGES)
def test_ranges_of_one_index(right):
    found = program(f"def f(float(N) X) -> (Y) {{ Y(i) = {right} }}")
    range_ = found.statements[0].ranges["i"]
    assert f"{range_.low}:{range_.high}" == RANGES[right]


def test_triangular_reduction():
    found = program("def f(float(N, N) A) -> (S) { S(i) +=! A(i, r) where r in 0:i + 1 }")
    ranges = found.statements[0].ranges
    assert str(ranges["i"].high) == "N"
    assert (str(ranges["r"].low), str(ranges["r"].high)) == ("0", "i + 1")
    assert not found.preconditions


def test_a_triangular_range_bounds_the_outer_index():
    found = program("def f(float(N, M) A) -> (S) { S(i) +=! A(i, r) where r in 0:i }")
    assert str(found.statements[0].ranges["i"].high) == "min(M + 1, N)"


def test_reductions_come_after_what_their_range_depends_on():
    found = program(
        "def f(float(N) A, float(M) B) -> (S) { S +=! A(q) * B(r) where q in 0:r + 1 }", N=4, M=3
    )
    assert found.statements[0].reductions == ("r", "q")


def test_reductions_are_in_order_of_first_appearance():
    found = program(
        "def f(float(A, B, C, D) I) -> (S) { S +=! I(z, foo, y, q) where foo = x, q in 0:D }"
    )
    assert found.statements[0].reductions == ("z", "y", "q", "x")


def test_a_reduction_stays_inside_its_target():
    text = """
def f(float(M) X) -> (Y) {
    Y(n) = 0.0 where n in 0:10
    Y(n) += X(n)
    Y(n) += 1.0
}
"""
    _, second, third = program(text).statements
    assert str(second.ranges["n"].high) == "min(M, 10)"
    assert str(third.ranges["n"].high) == "10"


def test_inference_runs_forward_only():
    text = "def f(float(N) A, float(M) B) -> (T, Y) { T(i) = A(i) Y(i) = T(i) + B(i) }"
    found = program(text)
    assert str(found.tensors["T"].shape[0]) == "N"
    assert str(found.tensors["Y"].shape[0]) == "min(M, N)"


def test_flattened_subscript_is_affine_once_the_size_is_known():
    text = """
def f(float(L) X, float(H, W) T) -> (Y) {
    Y(c, d) = X(c * T.1 + d) where d in 0:W
}
"""
    _, (finding,) = attempt(text)
    assert (finding.code, finding.line, finding.column) == ("E0301", 3, 5)
    assert finding.notes == ("a subscript of `X` bounds `c` once its sizes are known",)
    found = program(text, W=5, L=23)
    shape = [e.evaluate({"L": 23, "H": 2, "W": 5}) for e in found.tensors["Y"].shape]
    assert shape == [4, 5]


def test_all_open_preconditions_name_what_they_are_for():
    found = program("def f(float(N) X, float(K) W) -> (Y) { Y(n) +=! X(n + k) * W(k) }")
    (condition,) = found.preconditions
    assert str(condition.expression) == "N - K"
    assert re.search("range .* of `n` is not empty", condition.reason)
