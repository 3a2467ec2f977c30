"""The model that ranks the structured set: what it must not lose sight of."""

from __future__ import annotations

from math import ceil, prod

import pytest

from tcc.api import request_of
from tcc.driver import compile_program
from tcc.options import Options
from tcc.sched.plan import KernelPlan
from tcc.source import Source
from tests.sched.programs import GEMM

NT = "def f(float(M, K) A, float(N, K) B) -> (C) { C(i, j) +=! A(i, k) * B(j, k) }"


def default(text: str, sizes: dict[str, int], target: str) -> KernelPlan:
    asked = request_of(Source("f.tc", text), None, sizes, Options(), target)
    plan = compile_program(asked).plan
    assert plan is not None
    return plan.kernels[0]


def blocks(plan: KernelPlan, sizes: tuple[int, ...]) -> int:
    return prod(ceil(n / d.tile) for n, d in zip(sizes, plan.dims, strict=True))


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_small_problems_are_spread_over_the_sms(target: str) -> None:
    """A warp that is alone waits at every k-point, but one with more points is not faster."""
    plan = default(NT, {"M": 128, "N": 256, "K": 32}, target)
    assert blocks(plan, (128, 256)) >= 64


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_large_products_get_large_micro_tiles(target: str) -> None:
    plan = default(GEMM, {"M": 1024, "N": 1024, "K": 1024}, target)
    assert [d.registers for d in plan.dims] == [8, 8]


@pytest.mark.parametrize(("length", "threads"), [(2304, 512), (2048, 512), (4096, 1024), (96, 32)])
def test_most_threads_of_a_row_have_a_part_of_it(length: int, threads: int) -> None:
    """Those that are idle would take part in exchanges: of 1024, 576 have a vector of 2304."""
    plan = default(
        "def f(float(N, K) A) -> (S) { S(n) +=! A(n, k) }", {"N": 128, "K": length}, "sm_90"
    )
    assert plan.row is not None
    assert plan.row.threads == threads
