"""Kernels over rows: one thread or many share a row, values stay with them or do not."""

from __future__ import annotations

import pytest

from tests.kernel.running import check, data

SOFTMAX = """
def f(float(N, M) X) -> (Y) {
    m(i) max=! X(i, j)
    e(i, j) = exp(X(i, j) - m(i))
    s(i) +=! e(i, j)
    Y(i, j) = e(i, j) / s(i)
}
"""
# Every tensor is written along the row and read in a later pass; T is the caller's at first.
BETWEEN_PASSES = """
def f(float(N, M) A, float(N, M) B) -> (T, U, V, S) {
    T(i, j) += A(i, j)
    U(i, j) = T(i, j)
    T(i, j) = B(i, j)
    S(i) +=! T(i, j)
    V(i, j) = T(i, j) * S(i) + A(i, j)
}
"""


@pytest.mark.parametrize("length", [64, 66])
def test_in_out_tensor_is_read_before_it_is_kept(length: int) -> None:
    kernel = check(BETWEEN_PASSES, {"N": 3, "M": length}, outer_schedule_fusion_strategy="max")
    assert kernel.plan is not None
    assert [k.row is not None for k in kernel.plan.kernels] == [True]


@pytest.mark.parametrize("rows", [1, 4])
def test_threads_of_a_warp_read_an_in_out_tensor_before_it_is_written(rows: int) -> None:
    """No exchange through shared memory, which would be a barrier already."""
    sizes = {"N": 5, "M": 40}
    plan = {"parallel": {"n": ["block.x", f"thread.y {rows}"]}, "row": ["thread.x 32"]}
    text = "def f(float(N, M) X) -> (S) { S(n) += X(n, m) }"
    kernel = check(text, sizes, plan={"f_kernel": plan})
    program = kernel.compilation.program
    assert program is not None
    kernel.run(data(program, sizes), check=True)


ROWS = {
    "one warp a row, several rows": ("thread.y 3", ["thread.x 32", "vector 4", "keep"]),
    "several rows in a warp": ("thread.y 3", ["thread.x 4", "vector 2", "keep"]),
    "several warps a row": ("thread.y 2", ["thread.x 128"]),
    "rows in turns": ("serial", ["thread.x 64", "vector 4"]),
    "neighbours own rows": ("thread.x 4", ["thread.y 5", "vector 2"]),
    "more threads than positions": ("thread.z 1", ["thread.x 256", "keep"]),
}


@pytest.mark.parametrize("name", ROWS)
def test_softmax(name: str) -> None:
    """Rows of 68 elements, five of them: neither fills the threads."""
    digit, row = ROWS[name]
    parallel = {"i": [digit] if digit == "serial" else ["block.x 2", digit]}
    check(
        SOFTMAX,
        {"N": 5, "M": 68},
        outer_schedule_fusion_strategy="max",
        plan={"f_kernel": {"parallel": parallel, "row": row}},
    )


def test_open_sizes() -> None:
    check(
        BETWEEN_PASSES,
        {"N": 5, "M": 67},
        fixed=False,
        outer_schedule_fusion_strategy="max",
        plan={"f_kernel": {"parallel": {"i": ["block.x", "thread.y 2"]}, "row": ["thread.x 64"]}},
    )


def test_rows_of_several_loops() -> None:
    """Group norm over channels and places, two sums in one pass, a mean that every thread has."""
    text = """
    def f(float(N, C, H, W) X) -> (Y, mean) {
        s(n) +=! X(n, c, h, w)
        q(n) +=! X(n, c, h, w) * X(n, c, h, w)
        mean(n) = s(n) / (C * H * W)
        Y(n, c, h, w) = (X(n, c, h, w) - mean(n)) * rsqrt(q(n))
    }
    """
    sizes = {"N": 3, "C": 3, "H": 5, "W": 7}
    for fixed in (True, False):
        check(
            text,
            sizes,
            fixed=fixed,
            outer_schedule_fusion_strategy="max",
            plan={"f_kernel": {"parallel": {"n": ["block.x"]}, "row": ["thread.x 32"]}},
        )


def test_exchanged_types_and_operators() -> None:
    """Integers and double; sums, products and extrema; a total that the caller starts."""
    text = """
    def f(int32(N, M) A, double(N, M) B, uint32(N, M) C) -> (a, b, c, d) {
        a(i) min=! A(i, j)
        b(i) += B(i, j)
        c(i) *=! C(i, j)
        d(i) max= B(i, j)
    }
    """
    check(text, {"N": 2, "M": 77}, reduction="warp")
