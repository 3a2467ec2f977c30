"""Tile sizes, threads and blocks in the original's way, as a Plan."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.sched.layout import capped, laid
from tcc.sched.loops import UNROLLED_LIMIT, unrolled, whole_beyond
from tcc.sched.nest import Dim, KernelNest, Nest
from tcc.sched.plan import AXES, DimPlan, KernelPlan, LoopPlan, Plan, RowPlan, Staging
from tcc.sched.reuse import Chain, chains
from tcc.sched.row_plan import keeps, row_threads, vector_of
from tcc.sched.rows import RowForm, row_form
from tcc.sched.stage import stage
from tcc.sched.waves import in_turns, within_registers
from tcc.sched.wishes import Sharing, Wishes
from tcc.target import Target

WARP = 32


def single_thread(nest: Nest) -> Plan:
    """One thread walks everything."""
    return Plan(
        tuple(
            KernelPlan(k.name, tuple(DimPlan(d.name, 1) for d in k.parallel)) for k in nest.kernels
        )
    )


def tiled(kernel: KernelNest, program: tir.Program, target: Target, wished: Wishes) -> KernelPlan:
    """The plan of a kernel cut by the wished tile sizes.

    Tile sizes go to the parallel loops from the outside, then to the reduction loops; blocks x,
    y, z to the same parallel loops; threads x, y, z to the parallel loops from the inside. 0 or a
    missing size leaves a loop untiled: a block walks it. So it is with the loops of several
    reductions one after the other, unless all are to be cut. Nothing exceeds a known extent. Tiles
    with more results than a thread has registers for are taken in turns by the same block.

    Requires: tile sizes and threads are wished.
    """
    rows = _over_rows(kernel, program, target, wished)
    if rows is not None:
        return rows
    found = chains(kernel, program)
    dims = within_registers(kernel, _dims(kernel, wished, 0), program)
    plan = KernelPlan(kernel.name, dims, pipeline=wished.pipeline or 1)
    plan = replace(plan, loops=_loops(kernel, found, plan, wished))
    staging = stage(kernel, found, program, plan, wished)
    operands = {o.tensor for c in found for o in c.operands}
    plain = all(s is Staging.GLOBAL for t, s in staging if t in operands)
    unroll = wished.unroll is not None and any(p.unroll and p.tile > 1 for p in plan.loops)
    if plain and not unroll:
        windows = tuple((t, s) for t, s in staging if t not in operands)
        return replace(plan, loops=(), pipeline=1, staging=windows)
    shared = any(s is Staging.SHARED for _, s in staging)
    return replace(plan, staging=staging, pipeline=plan.pipeline if shared else 1)


def _dims(kernel: KernelNest, wished: Wishes, taken: int) -> tuple[DimPlan, ...]:
    """Digits of the parallel loops; the first `taken` thread axes are used otherwise."""
    count = len(kernel.parallel)
    plans: list[DimPlan] = []
    for k, dim in enumerate(kernel.parallel):
        place = count - 1 - k
        size = _tile_size(wished, k)
        plan = _dim(dim, size, _threads(dim, wished, k, place + taken), wished.digits(k))
        axis = place + taken if plan.threads > 1 or _has_axis(wished, place + taken) else None
        grid = (k if k < len(AXES) else None) if size else None
        if wished.blocks is None and size:
            grid = laid(kernel.parallel, dim, 1, 1, 1).grid_axis
        plans.append(replace(plan, thread_axis=axis, grid_axis=grid))
    return capped(_in_grid(plans, wished), wished.blocks)


def _tile_size(wished: Wishes, position: int) -> int:
    sizes = wished.tile or ()
    return sizes[position] if position < len(sizes) else 0


def _has_axis(wished: Wishes, place: int) -> bool:
    return wished.threads is not None and place < len(wished.threads)


def _in_grid(plans: list[DimPlan], wished: Wishes) -> list[DimPlan]:
    """Without a bound for its axis a dimension has one block."""
    if wished.blocks is None:
        return plans
    count = len(wished.blocks)
    return [
        replace(p, grid_axis=None) if p.grid_axis is not None and p.grid_axis >= count else p
        for p in plans
    ]


def _threads(dim: Dim, wished: Wishes, position: int, place: int) -> int:
    """The wished threads; or those that leave the wished values to each."""
    if wished.threads is not None or place >= len(AXES):
        return wished.threads_at(place) or 1
    outer, inner = wished.digits(position) or (1, 1)
    size = _tile_size(wished, position)
    extent = known_extent(dim.extent)
    size = size if extent is None else min(size, extent)
    return max(1, -(-size // (outer * inner)))


def _dim(dim: Dim, size: int, threads: int, digits: tuple[int, int] | None) -> DimPlan:
    outer, inner = digits or (1, 1)
    tile = size or threads * outer * inner
    extent = known_extent(dim.extent)
    if extent is not None:
        tile = min(tile, extent)
    threads = min(threads, tile)
    if digits is None:
        outer = -(-tile // threads)
    elif outer * inner * threads < tile:
        tile = outer * inner * threads
    return DimPlan(dim.name, tile, threads=threads, outer=outer, inner=inner)


def _loops(
    kernel: KernelNest, found: tuple[Chain, ...], plan: KernelPlan, wished: Wishes
) -> tuple[LoopPlan, ...]:
    """Tiles of the reduction loops; untiled ones are one tile where their extent is known."""
    points = prod(d.registers for d in plan.dims)
    cut = wished.cut_all or not found[1:]
    result: dict[str, LoopPlan] = {}
    for chain in found:
        loops: list[LoopPlan] = []
        for k, dim in enumerate(chain.loops):
            extent = known_extent(dim.extent)
            size = _tile_size(wished, len(kernel.parallel) + k) if cut else 0
            size = size or extent or 1
            loops.append(LoopPlan(dim.name, size if extent is None else min(size, extent)))
        whole = whole_beyond(chain, tuple(loops), kernel.parallel, wished)
        limit = UNROLLED_LIMIT if wished.unroll is None else wished.unroll
        limited = unrolled(whole, points * len(chain.updates), limit)
        result |= {p.dim: p for p in limited}
    return tuple(result.values())


def _over_rows(
    kernel: KernelNest, program: tir.Program, target: Target, wished: Wishes
) -> KernelPlan | None:
    """Threads along x share each row, those along y and z have rows of their own."""
    if wished.sharing in (None, Sharing.THREAD):
        return None
    form = row_form(kernel, program)
    if form is None:
        return None
    asked = (wished.threads or (WARP,))[0]
    threads = WARP if wished.sharing is Sharing.WARP else row_threads(asked, target)
    if threads == 1 or (wished.library and not _has_points(kernel, form, threads, wished)):
        return None
    plain = _dims(kernel, replace(wished, registers=None), 1)
    dims = in_turns(kernel, plain, {d.dim: replace(d, tile=d.threads, outer=1) for d in plain})
    row = RowPlan(threads, vector_of(form, wished), 0, keeps(form, threads, wished))
    return KernelPlan(kernel.name, dims, row=row)


def _has_points(kernel: KernelNest, form: RowForm, threads: int, wished: Wishes) -> bool:
    """Whether a tile of the reduction has a point for every thread, as the original wants it."""
    total = 1
    for k, dim in enumerate(form.loops):
        size = _tile_size(wished, len(kernel.parallel) + k)
        extent = known_extent(dim.extent)
        if not size and extent is None:
            return True
        total *= min(size or extent or 1, extent or size)
    return total >= threads


def known_extent(extent: Affine) -> int | None:
    """The extent where no size is open."""
    return extent.value if extent.is_constant else None
