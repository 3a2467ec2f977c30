"""The default plan of kernels over rows: how many threads share one, and in which direction."""

from __future__ import annotations

from math import prod

from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.sched.layout import laid
from tcc.sched.model import extent_of
from tcc.sched.nest import KernelNest
from tcc.sched.plan import DimPlan, KernelPlan, RowPlan
from tcc.sched.reuse import chains
from tcc.sched.rows import Pass, RowForm, row_form, statement_of
from tcc.target import Target

WARP = 32
SHORTEST = 32
PER_THREAD = 8
MOST_KEPT = 32
MOST_THREADS = 1024
BLOCK = 128
COLUMN_THREADS = 8


def row_plan(kernel: KernelNest, program: tir.Program, target: Target) -> KernelPlan | None:
    """The plan of a kernel over rows; None where one thread a point or a micro-tile is better.

    Threads share a row when neighbouring positions of a row are neighbours in memory, or when
    there are too few rows to fill the GPU with one thread each.
    """
    form = row_form(kernel, program)
    if form is None or _has_reuse(kernel, program):
        return None
    length = prod(extent_of(d.extent) for d in form.loops)
    points = prod(extent_of(d.extent) for d in kernel.parallel)
    if length < SHORTEST:
        return None
    if _runs_along(form, program) or not kernel.parallel:
        return _along(kernel, form, length, points, target)
    if points >= target.sms * target.max_threads_per_sm // 2:
        return None
    return _across(kernel)


def _along(
    kernel: KernelNest, form: RowForm, length: int, points: int, target: Target
) -> KernelPlan:
    """Neighbouring threads take neighbouring positions of a row."""
    threads = WARP
    wanted = PER_THREAD if points >= target.sms else 1
    last = form.loops[-1].extent
    vector = 4 if last.is_constant and last.value % 4 == 0 else 1
    wanted = max(wanted, vector)
    while threads < _most(points, target) and threads * wanted < length:
        threads *= 2
    known = all(d.extent.is_constant for d in form.loops)
    keep = known and -(-length // threads) <= MOST_KEPT
    rows = max(1, BLOCK // threads) if threads == WARP else 1
    dims = kernel.parallel
    plans = tuple(_row_dim(laid(dims, d, 1, 1, 1), rows if d is dims[-1] else 1) for d in dims)
    return KernelPlan(kernel.name, plans, row=RowPlan(threads, vector, 0, keep))


def _row_dim(plan: DimPlan, rows: int) -> DimPlan:
    if rows == 1:
        return plan
    return DimPlan(plan.dim, rows, grid_axis=plan.grid_axis, thread_axis=1, threads=rows)


def _across(kernel: KernelNest) -> KernelPlan:
    """Neighbouring threads take neighbouring rows; a few share each row."""
    dims = kernel.parallel
    plans = tuple(
        DimPlan(d.name, WARP, grid_axis=0, thread_axis=0, threads=WARP)
        if d is dims[-1]
        else laid(dims, d, 1, 1, 1)
        for d in dims
    )
    return KernelPlan(kernel.name, plans, row=RowPlan(COLUMN_THREADS, 1, 1, keep=False))


def _most(points: int, target: Target) -> int:
    """Threads a row beyond which there are enough rows anyway."""
    if points >= target.sms * 4:
        return BLOCK * 2
    return MOST_THREADS


def _has_reuse(kernel: KernelNest, program: tir.Program) -> bool:
    """Whether rows share an operand of a reduction, so that a micro-tile pays."""
    moving = [d.name for d in kernel.parallel if extent_of(d.extent) > 1]
    return any(
        o.forms and not all(o.uses(d) for d in moving)
        for c in chains(kernel, program)
        for o in c.operands
    )


def _runs_along(form: RowForm, program: tir.Program) -> bool:
    """Whether some read walks memory with the last loop."""
    last = form.loops[-1].name
    for node in form.nodes:
        for instance in node.instances if isinstance(node, Pass) else ():
            for read in tir.walk(statement_of(instance, program).value):
                if isinstance(read, tir.Read) and read.subscripts:
                    at = affine_form(read.subscripts[-1])
                    if at is not None and at.substitute(instance.iterators).coefficient(last) == 1:
                        return True
    return False
