"""Where the digits of a dimension go in the grid and the block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tcc.sched.nest import Dim
from tcc.sched.plan import DimPlan


def laid(dims: tuple[Dim, ...], dim: Dim, threads: int, outer: int, inner: int) -> DimPlan:
    """Digits of a dimension: grid x for the last, y for the one before, z for the others.

    Threads lie along x and y only: a block has at most 64 along z.
    """
    place = len(dims) - 1 - dims.index(dim)
    return DimPlan(
        dim.name,
        threads * outer * inner,
        grid_axis=min(place, 2),
        thread_axis=min(place, 1) if threads > 1 else None,
        threads=threads,
        outer=outer,
        inner=inner,
    )


def capped(plans: Sequence[DimPlan], blocks: tuple[int, ...] | None) -> tuple[DimPlan, ...]:
    """The plans with a bounded grid; axes without a bound get one block, which walks all tiles.

    The first dimension on an axis holds the bound of all.
    """
    if blocks is None:
        return tuple(plans)
    result: list[DimPlan] = []
    seen: set[int] = set()
    for plan in plans:
        axis = plan.grid_axis
        if axis is not None and axis not in seen:
            seen.add(axis)
            result.append(replace(plan, blocks=blocks[axis] if axis < len(blocks) else 1))
        else:
            result.append(plan)
    return tuple(result)
