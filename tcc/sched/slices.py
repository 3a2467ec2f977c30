"""Reductions of few results: several threads of a block share each of its k-tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tcc.sched.model import extent_of
from tcc.sched.nest import KernelNest, Loop
from tcc.sched.plan import AXES, DimPlan, LoopPlan
from tcc.sched.reuse import Chain
from tcc.sched.wishes import Wishes

FEW_RESULTS = 1 << 17
"""More results than this fill the SMs with a thread for every few of them."""

COUNTS = (4, 8, 16)
COUNTS_OF_ROWS = (4, 8, 16, 32)
MOST_POINTS = 32
"""Results of a thread: where they are few, more of them would only leave fewer threads."""

MOST_THREADS = 64
"""Threads that do not share a tile: there are several times as many."""

SHORTEST = 256
"""Points of a loop from which sharing its tiles pays for joining the sums."""

SHORTEST_OF_ROWS = 16
"""The same for rows that data picks: each is waited for."""

AT_ONCE = 8
"""Rows that a thread fetches at once, in registers."""


def slice_counts(kernel: KernelNest, found: tuple[Chain, ...], wished: Wishes) -> tuple[int, ...]:
    """How many threads may share a k-tile, besides one alone."""
    loops = sum(isinstance(n, Loop) for n in kernel.body)
    free = wished.threads is None and wished.registers is None and wished.unroll is None
    if not free or loops != 1 or len(found) != 1 or wished.shared_depth is not None:
        return ()
    results = prod(extent_of(d.extent) for d in kernel.parallel)
    picks = any(o.gather is not None for o in found[0].operands)
    shortest = SHORTEST_OF_ROWS if picks else SHORTEST
    if results > FEW_RESULTS or extent_of(found[0].loops[0].extent) < shortest:
        return ()
    return COUNTS_OF_ROWS if picks else COUNTS


def together(chain: Chain, count: int) -> tuple[tuple[LoopPlan, ...], ...]:
    """The loops of a chain in one tile, where its threads have few points each: none waits twice.

    `count` threads share the outermost loop; the tiles are those of one thread.
    """
    extents = [d.extent.value if d.extent.is_constant else 0 for d in chain.loops]
    tiles = [-(-extents[0] // count), *extents[1:]]
    if not 0 < prod(tiles) <= AT_ONCE:
        return ()
    return (tuple(LoopPlan(d.name, t) for d, t in zip(chain.loops, tiles, strict=True)),)


def sliced(
    loops: tuple[LoopPlan, ...], chain: Chain, dims: Sequence[DimPlan], count: int
) -> tuple[LoopPlan, ...]:
    """The loops with tiles `count` times as long for the outermost one, shared by as many threads.

    Unchanged where no axis of the block is free.
    """
    used = {d.thread_axis for d in dims}
    axis = next((a for a in reversed(range(len(AXES))) if a not in used), None)
    outermost = chain.loops[0].name
    if axis is None:
        return loops
    return tuple(
        replace(p, tile=p.tile * count, thread_axis=axis, threads=count)
        if p.dim == outermost
        else p
        for p in loops
    )
