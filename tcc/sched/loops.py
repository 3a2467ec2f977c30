"""Wishes about the loops of a reduction: how deep the copies stand, how far they are unrolled."""

from __future__ import annotations

from dataclasses import replace

from tcc.sched.nest import Dim
from tcc.sched.plan import LoopPlan
from tcc.sched.reuse import Chain
from tcc.sched.wishes import Wishes

UNROLLED_LIMIT = 1280
"""Instances in the body of an unrolled loop, where the options do not say."""


def whole_beyond(
    chain: Chain, loops: tuple[LoopPlan, ...], dims: tuple[Dim, ...], wished: Wishes
) -> tuple[LoopPlan, ...]:
    """Loops below the depth that copies to shared memory are wished at become one tile.

    The depth counts loops over tiles, parallel ones first. Loops of open extent keep their tiles.
    """
    if wished.shared_depth is None:
        return loops
    outside = max(0, wished.shared_depth - len(dims))
    extents = {d.name: d.extent for d in chain.loops}
    return tuple(
        replace(p, tile=extents[p.dim].value, unroll=False)
        if k >= outside and extents[p.dim].is_constant
        else p
        for k, p in enumerate(loops)
    )


def unrolled(loops: tuple[LoopPlan, ...], points: int, limit: int) -> tuple[LoopPlan, ...]:
    """Loops over the points of a tile unrolled from the inside, up to `limit` instances.

    `points` is the number of instances at one point of all loops.
    """
    result: list[LoopPlan] = []
    count = points
    for plan in reversed(loops):
        count *= plan.points
        result.append(replace(plan, unroll=count <= limit))
    return tuple(reversed(result))
