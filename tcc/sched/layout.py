"""Where the digits of a dimension go in the grid and the block."""

from __future__ import annotations

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
