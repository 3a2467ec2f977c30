"""Tiles that are too large for the registers of a thread, taken in turns by the same block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import ceil, prod

from tcc.frontend import tir
from tcc.sched.nest import KernelNest, instances
from tcc.sched.plan import DimPlan
from tcc.sched.reuse import source_of

MOST_RESULTS = 64
"""Values that a thread computes at a time, each statement's own ones counted."""


def within_registers(
    kernel: KernelNest, dims: tuple[DimPlan, ...], program: tir.Program
) -> tuple[DimPlan, ...]:
    """The digits with fewer registers, outermost dimensions cut first."""
    targets = len({source_of(i.statement, program).target for i in instances(kernel.body)})
    most = max(1, MOST_RESULTS // targets)
    smaller = {d.dim: d for d in dims}
    for plan in dims:
        total = prod(d.registers for d in smaller.values())
        if total <= most:
            break
        smaller[plan.dim] = _with_registers(plan, max(1, most * plan.registers // total))
    return in_turns(kernel, dims, smaller)


def in_turns(
    kernel: KernelNest, dims: tuple[DimPlan, ...], smaller: Mapping[str, DimPlan]
) -> tuple[DimPlan, ...]:
    """The digits with smaller tiles, by dimension; the grid keeps the number of blocks it had."""
    extents = {d.name: d.extent for d in kernel.parallel}
    shared_axes = Counter(d.grid_axis for d in dims)
    result: list[DimPlan] = []
    for plan in dims:
        new, extent = smaller[plan.dim], extents[plan.dim]
        alone = plan.grid_axis is not None and shared_axes[plan.grid_axis] == 1
        if new.tile < plan.tile and alone and extent.is_constant:
            blocks = ceil(extent.value / plan.tile)
            new = replace(new, blocks=min(blocks, plan.blocks or blocks))
        result.append(new)
    return tuple(result)


def _with_registers(plan: DimPlan, most: int) -> DimPlan:
    """The digits with at most `most` registers, a divisor of what there was if one is near."""
    inner = max(i for i in range(1, min(plan.inner, most) + 1) if plan.inner % i == 0)
    outer = min(plan.outer, max(1, most // inner))
    even = max(o for o in range(1, outer + 1) if plan.outer % o == 0)
    outer = even if 2 * even >= outer else outer
    tile = min(plan.tile, plan.threads * outer * inner)
    return replace(plan, tile=tile, outer=outer, inner=inner)
