"""Reductions of one input in one kernel: when, and that they stay apart where they must."""

from __future__ import annotations

import re

import pytest

from tests.kernel.running import check, compiled, data

THREE = """
def f(float(N) X) -> (Sum, Least, Most) {
    Sum +=! X(n)
    Least min=! X(n)
    Most max=! X(n)
}
"""


def test_results_of_one_vector_read_it_once() -> None:
    kernel = compiled(THREE, {"N": 1 << 20})
    assert len(kernel.launches) == 2
    first = kernel.cuda_source.partition("f_kernel0(")[2].partition("f_kernel1(")[0]
    assert len(re.findall(r"\bX\[", first)) == 1
    assert first.count("__syncthreads();") == 1
    assert len(compiled(THREE).launches) == 2, "with an open size, too"


@pytest.mark.parametrize("length", [1, 37, 4096])
def test_what_they_compute(length: int) -> None:
    kernel = check(THREE, {"N": length}, split=3)
    kernel.run(data(kernel.compilation.program, {"N": length}), check=True)


def test_rows_of_one_matrix() -> None:
    text = """
    def f(float(N, K) X) -> (S, Q) {
        S(i) +=! X(i, k)
        Q(j) +=! X(j, l) * X(j, l) where j in 0:N
    }
    """
    sizes = {"N": 40, "K": 256}
    kernel = check(text, sizes)
    assert len(kernel.launches) == 1
    kernel.run(data(kernel.compilation.program, sizes), check=True)


@pytest.mark.parametrize(
    "second",
    [
        "Q(i) +=! Y(i, k)",  # another input
        "Q(i) +=! X(i, k) * S(0)",  # a result of the other one, at another point
        "Q(i) +=! X(i, k) where k in 1:K",  # another range
        "Q(k) +=! X(i, k)",  # columns
    ],
)
def test_they_stay_apart(second: str) -> None:
    text = f"def f(float(N, K) X, float(N, K) Y) -> (S, Q) {{ S(i) +=! X(i, k)\n {second} }}"
    kernel = check(text, {"N": 7, "K": 64})
    assert len(kernel.launches) == 2


def test_a_given_strategy_decides() -> None:
    given = {"outer_schedule_fusion_strategy": "min"}
    assert len(compiled(THREE, {"N": 1 << 20}, **given).launches) == 4


def test_second_steps_wait_for_parts_that_need_their_result_only() -> None:
    text = "def f(float(N) X) -> (S, Q) { S +=! X(n)\n Q +=! X(n) * S\n }"
    kernel = check(text, {"N": 64}, split=4)
    assert len(kernel.launches) == 4
