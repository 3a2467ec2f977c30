"""The tests' own executor of kernel IR finds what it is there to find."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from tcc.affine import var
from tcc.kernel import ir
from tcc.sched.plan import DimPlan, KernelPlan, LoopPlan, Staging
from tests.kernel.mapped import Mapped

MATMUL = "def f(int32(M, K) A, int32(K, N) B) -> (C) { C(i, j) +=! A(i, k) * B(k, j) }"
PLAN = KernelPlan(
    "f_kernel",
    (DimPlan("i", 4, 0, 1, 1, 2, 2), DimPlan("j", 4, 1, None, 0, 4)),
    (LoopPlan("k", 3),),
    (("A", Staging.SHARED), ("B", Staging.SHARED)),
    2,
)


def without(body: tuple[ir.Statement, ...], numbers: count[int], wanted: int) -> list[ir.Statement]:
    """The body without one of its barriers."""
    kept: list[ir.Statement] = []
    for statement in body:
        if isinstance(statement, ir.Barrier) and next(numbers) == wanted:
            continue
        if isinstance(statement, ir.For):
            inside = without(statement.body, numbers, wanted)
            kept.append(replace(statement, body=tuple(inside)))
        else:
            kept.append(statement)
    return kept


def test_no_barrier_is_needless() -> None:
    mapped = Mapped(MATMUL, {"M": 7, "K": 8, "N": 6})
    mapped.check(PLAN)
    (kernel,) = mapped.kernels(PLAN)
    barriers = sum(isinstance(s, ir.Barrier) for s in ir.walk(kernel.body))
    assert barriers == 2
    for number in range(barriers):
        body = tuple(without(kernel.body, count(), number))
        with pytest.raises(AssertionError, match=r"another thread|two threads|no value"):
            mapped.execute(replace(kernel, body=body))


def test_barriers_under_conditions_of_threads_show() -> None:
    mapped = Mapped(MATMUL, {"M": 7, "K": 8, "N": 6})
    (kernel,) = mapped.kernels(PLAN)
    name = next(n for n, source in kernel.aliases if source == "threadIdx.x")
    first = -var(name)
    body = (ir.If((first,), (ir.Barrier(),)), *kernel.body)
    with pytest.raises(AssertionError, match="barrier that some threads do not reach"):
        mapped.execute(replace(kernel, body=body))
