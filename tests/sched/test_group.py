"""The option `kernels`: kernels of the user's choice, and those that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tcc.errors import CompileError
from tests.agreement import assert_agrees, run_both_orders
from tests.case_files import random_array
from tests.sched.programs import SOFTMAX

CHAIN = """
def f(float(N, M) A, float(M) b) -> (C, D, E) {
    C(n, m) = A(n, m) + b(m)
    D(n, m) = C(n, m) * 2.0
    E(n) +=! D(n, m) * C(n, m)
}
"""
SIZES = {"N": 20, "M": 33}


def compiled(program: str, kernels: list[list[str]], sizes: dict[str, int] = SIZES) -> Kernel:
    return tcc_compile(program, sizes=sizes, options={"mapping": {"kernels": kernels}})


def check(kernel: Kernel, sizes: dict[str, int] = SIZES) -> None:
    program = kernel.compilation.program
    rng = np.random.default_rng(0)
    arrays = {
        name: random_array(t.type, tuple(e.evaluate(sizes) for e in t.shape), rng)
        for name, t in program.tensors.items()
        if name in program.inputs
    }
    assert_agrees(program, arrays, sizes, run_both_orders(kernel, arrays))


@pytest.mark.parametrize(
    "kernels", [[["C"], ["D"], ["E"]], [["C", "D"], ["E"]], [["C"], ["D", "E"]], [["C", "D", "E"]]]
)
def test_every_grouping_in_order(kernels: list[list[str]]) -> None:
    kernel = compiled(CHAIN, kernels)
    assert len(kernel.launches) == len(kernels)
    check(kernel)


def test_statements_that_write_one_tensor_stay_together() -> None:
    program = """
    def f(float(N, M) A) -> (S, T) {
        S(n) +=! A(n, m)
        S(n) = S(n) * 0.5
        T(n) = S(n) + 1.0
    }
    """
    kernel = compiled(program, [["S"], ["T"]])
    assert len(kernel.launches) == 2
    check(kernel)


def test_parts_of_a_reduction_keep_a_kernel_of_their_own() -> None:
    program = "def f(float(N) A) -> (S, B) { S +=! A(n) B(n) = A(n) - S }"
    sizes = {"N": 20000}
    kernel = compiled(program, [["S"], ["B"]], sizes)
    assert len(kernel.launches) == 3
    check(kernel, sizes)


def test_a_kernel_over_rows_can_be_cut() -> None:
    sizes = {"M": 30, "N": 50}
    kernel = compiled(SOFTMAX, [["mx", "E"], ["sm", "Y"]], sizes)
    assert len(kernel.launches) == 2
    check(kernel, sizes)


@pytest.mark.parametrize(
    ("program", "kernels", "found"),
    [
        (CHAIN, [["D"], ["C", "E"]], ['E0526 ["D"]']),
        (CHAIN, [["C", "E"], ["D"]], ['E0526 ["C", "E"]']),
        (CHAIN, [["C"], ["D"]], ['E0526 [["C"], ["D"]]']),
        (CHAIN, [["C", "X"], ["D", "E", "A"]], ['E0522 "X"', 'E0522 "A"']),
        (CHAIN, [["C"], ["D", "C"], ["E"]], ['E0526 "C"']),
        (
            "def f(float(N, M) A) -> (S, T) { S(n) +=! A(n, m) T(m) +=! A(n, m) * S(n) }",
            [["S", "T"]],
            ['E0526 ["S", "T"]'],
        ),
    ],
)
def test_impossible(program: str, kernels: list[list[str]], found: list[str]) -> None:
    with pytest.raises(CompileError) as problem:
        compiled(program, kernels)
    assert [f"{d.code} {d.primary.span.text}" for d in problem.value.diagnostics] == found
