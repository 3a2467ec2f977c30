"""The plan of kernels over rows: how many threads share one, and in which direction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from tcc.affine import const
from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.sched.budget import needs
from tcc.sched.gathers import picks_rows
from tcc.sched.layout import capped, laid
from tcc.sched.model import extent_of
from tcc.sched.nest import Instance, KernelNest
from tcc.sched.plan import DimPlan, KernelPlan, RowPlan, Staging
from tcc.sched.reuse import chains
from tcc.sched.row_stage import index_tensors, row_stages, stage_bytes
from tcc.sched.rows import Pass, RowForm, row_form, statement_of
from tcc.sched.wishes import Sharing, Wishes
from tcc.target import Target

WARP = 32
SHORTEST = 32
PER_THREAD = 8
LEAST_BUSY = 3 / 4
"""Of the threads of a row: twice as many that are idle for the most part take part in exchanges."""
MOST_KEPT = 36
"""Values of a row in the registers of a thread, where more threads can have fewer."""
OWN_REGISTERS = 28
"""Of a thread, besides the values of its row: addresses and sums."""
EXTRA_REGISTERS = 0.35
"""For each value of its row: what the unrolled passes read besides, which is fetched early."""
REGISTERS = 64 * 1024
MOST_REGISTERS = 255
MOST_THREADS = 1024
BLOCK = 128
COLUMN_THREADS = 8
MOST_STAGED_BYTES = 16 * 1024
"""Of index tensors in shared memory, so that several blocks fit an SM."""


def row_plan(
    kernel: KernelNest, program: tir.Program, target: Target, wished: Wishes
) -> KernelPlan | None:
    """The plan of a kernel over rows; None where one thread a point or a micro-tile is better.

    Threads share a row when neighbouring positions of a row are neighbours in memory, or when
    there are too few rows to fill the GPU with one thread each; and where that is wished.
    """
    if wished.sharing is Sharing.THREAD:
        return None
    form = row_form(kernel, program)
    if form is None:
        return None
    length = prod(extent_of(d.extent) for d in form.loops)
    points = prod(extent_of(d.extent) for d in kernel.parallel)
    if wished.sharing is not None:
        return _asked(kernel, form, target, wished)
    if length < SHORTEST or _is_better_tiled(kernel, program, wished):
        return None
    if _runs_along(kernel, form, program) or not kernel.parallel:
        threads = _thread_count(length, points, form, target)
        plan = _along(kernel, form, *_kept(form, threads, target, wished), wished)
        warps = _along(kernel, form, WARP, keeps(form, WARP, wished), wished)
        return plan if _fits(kernel, program, plan, wished) else warps
    enough = points >= target.sms * target.max_threads_per_sm // 2
    if enough or picks_rows(chains(kernel, program)):
        return None
    plan = _across(kernel, form, program, wished)
    return plan if _fits(kernel, program, plan, wished) else None


def _fits(kernel: KernelNest, program: tir.Program, plan: KernelPlan, wished: Wishes) -> bool:
    """Whether there is shared memory for what threads exchange; those of one warp need none."""
    return needs(kernel, (), program, plan).shared_bytes <= wished.shared_bytes


def row_threads(wanted: int, target: Target) -> int:
    """The threads that share a row where `wanted` are asked for: a power of two, to exchange."""
    return 1 << min(wanted, target.max_threads_per_block).bit_length() - 1


def vector_of(form: RowForm, wished: Wishes) -> int:
    """Consecutive positions of a row that one thread takes at once."""
    last = form.loops[-1].extent
    widths = [w for w in (4, 2, 1) if w <= wished.widest]
    return next(w for w in widths if w == 1 or (last.is_constant and last.value % w == 0))


def keeps(form: RowForm, threads: int, wished: Wishes, most: int = MOST_KEPT) -> bool:
    """Whether a thread's part of the row is known and fits in registers without spills."""
    if wished.private is False or not all(d.extent.is_constant for d in form.loops):
        return False
    length = prod(d.extent.value for d in form.loops)
    registers = min(REGISTERS // threads, MOST_REGISTERS)
    room = int((registers - OWN_REGISTERS) / (1 + EXTRA_REGISTERS))
    return -(-length // threads) <= min(most, room)


def _asked(kernel: KernelNest, form: RowForm, target: Target, wished: Wishes) -> KernelPlan:
    threads = WARP
    if wished.sharing is Sharing.BLOCK:
        threads = row_threads((wished.threads or (2 * BLOCK,))[0], target)
    threads = max(2, threads)
    return _along(kernel, form, threads, keeps(form, threads, wished), wished)


def _thread_count(length: int, points: int, form: RowForm, target: Target) -> int:
    threads = WARP
    last = form.loops[-1].extent
    vector = 4 if last.is_constant and last.value % 4 == 0 else 1
    wanted = max(PER_THREAD if points >= target.sms else 1, vector)
    while threads < _most(points, target) and 2 * threads * wanted * LEAST_BUSY <= length:
        threads *= 2
    return threads


def _kept(form: RowForm, threads: int, target: Target, wished: Wishes) -> tuple[int, bool]:
    """More threads where that lets several passes keep the row in registers; whether they do."""
    several = sum(isinstance(node, Pass) for node in form.nodes) > 1
    counts = [threads]
    while several and 2 * counts[-1] <= target.max_threads_per_block:
        counts.append(2 * counts[-1])
    fitting = [n for n in counts if keeps(form, n, wished)]
    long = [n for n in counts if several and keeps(form, n, wished, MOST_REGISTERS)]
    chosen = (*fitting[:1], *long[-1:])
    return (chosen[0], True) if chosen else (threads, False)


def _along(
    kernel: KernelNest, form: RowForm, threads: int, keep: bool, wished: Wishes
) -> KernelPlan:
    """Neighbouring threads take neighbouring positions of a row."""
    rows = max(1, BLOCK // threads) if threads == WARP else 1
    dims = kernel.parallel
    plans = [_row_dim(laid(dims, d, 1, 1, 1), rows if d is dims[-1] else 1) for d in dims]
    row = RowPlan(threads, vector_of(form, wished), 0, keep)
    return KernelPlan(kernel.name, capped(plans, wished.blocks), row=row)


def _row_dim(plan: DimPlan, rows: int) -> DimPlan:
    if rows == 1:
        return plan
    return DimPlan(plan.dim, rows, grid_axis=plan.grid_axis, thread_axis=1, threads=rows)


def _across(kernel: KernelNest, form: RowForm, program: tir.Program, wished: Wishes) -> KernelPlan:
    """Neighbouring threads take neighbouring rows; a few share each row."""
    dims = kernel.parallel
    threads = WARP
    while threads < min(extent_of(dims[-1].extent), BLOCK):
        threads *= 2
    plans = [
        DimPlan(d.name, threads, grid_axis=0, thread_axis=0, threads=threads)
        if d is dims[-1]
        else laid(dims, d, 1, 1, 1)
        for d in dims
    ]
    row = RowPlan(COLUMN_THREADS, 1, 1, keep=False)
    plan = KernelPlan(kernel.name, capped(plans, wished.blocks), row=row)
    return replace(plan, staging=_staged_indices(kernel, form, program, plan, wished))


def _staged_indices(
    kernel: KernelNest, form: RowForm, program: tir.Program, plan: KernelPlan, wished: Wishes
) -> tuple[tuple[str, Staging], ...]:
    """The index tensors of gathers in shared memory: all threads across the rows need them."""
    chosen: dict[str, Staging] = {}
    left = min(wished.shared_bytes, MOST_STAGED_BYTES)
    indices = index_tensors(kernel, program)
    for stage in row_stages(kernel, program):
        size = stage_bytes(stage, program.tensors[stage.tensor].type, plan, form)
        fits = stage.tensor in indices and wished.shared is not False and size <= left
        plain = Staging.SHARED if fits else Staging.GLOBAL
        asked = wished.stage(stage.tensor, plain, boxed=True)
        if asked is Staging.SHARED:
            chosen[stage.tensor] = asked
            left -= size
    return tuple(sorted(chosen.items()))


def _most(points: int, target: Target) -> int:
    """Threads a row beyond which there are enough rows anyway: they fill all SMs."""
    needed = max(1, target.sms * target.max_threads_per_sm // points)
    return min(MOST_THREADS, max(BLOCK * 2, 1 << needed.bit_length() - 1))


def _is_better_tiled(kernel: KernelNest, program: tir.Program, wished: Wishes) -> bool:
    """Whether a micro-tile pays, or is asked for."""
    operands = [o for c in chains(kernel, program) for o in c.operands]
    if wished.registers or wished.threads or any(wished.shared_only(o.tensor) for o in operands):
        return True
    moving = [d.name for d in kernel.parallel if extent_of(d.extent) > 1]
    return any(o.forms and not all(o.uses(d) for d in moving) for o in operands)


def _runs_along(kernel: KernelNest, form: RowForm, program: tir.Program) -> bool:
    """Whether reads walk memory with the last loop, and none with the last parallel dimension.

    Rows that a gather picks are walked by the dimension; the index of the gather, by the loop.
    """
    walks = {n for read in _reads(form, program) for n in read}
    across = kernel.parallel[-1].name if kernel.parallel else None
    return form.loops[-1].name in walks and across not in walks


def _reads(form: RowForm, program: tir.Program) -> Iterator[set[str]]:
    """For every read that changes along a row, the dimensions that move its last subscript by 1."""
    loops = {d.name for d in form.loops}
    for node in form.nodes:
        for instance in node.instances if isinstance(node, Pass) else ():
            for read in tir.walk(statement_of(instance, program).value):
                if isinstance(read, tir.Read) and loops & _moved_by(read, instance):
                    at = affine_form(read.subscripts[-1])
                    here = at.substitute(instance.iterators) if at is not None else const(0)
                    yield {n for n in here.variables if here.coefficient(n) == 1}


def _moved_by(read: tir.Read, instance: Instance) -> set[str]:
    """The dimensions that the place of a read depends on."""
    used = {e.name for s in read.subscripts for e in tir.walk(s) if isinstance(e, tir.Index)}
    return {d for n in used for d in instance.iterators[n].variables}
