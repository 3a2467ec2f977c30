"""How far to fuse by default: whole rows where threads can share one, else what stays parallel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tcc.errors import InternalError
from tcc.frontend import tir
from tcc.sched.dependences import Dependences
from tcc.sched.fix import fix_sizes
from tcc.sched.fusion import Fusion
from tcc.sched.legality import check_kernels
from tcc.sched.nest import KernelNest, Nest, instances
from tcc.sched.place import place
from tcc.sched.row_plan import row_plan
from tcc.sched.schedule import Scheduled, compute_schedule
from tcc.sched.scop import Scop
from tcc.sched.siblings import join_siblings
from tcc.sched.structure import numbered, structure
from tcc.sched.wishes import Wishes
from tcc.target import Target


def fuse_rows(
    scop: Scop,
    dependences: Dependences,
    nest: Nest,
    program: tir.Program,
    sizes: Mapping[str, int],
    target: Target,
    wished: Wishes,
) -> Nest:
    """Replace kernels of a nest by maximally fused ones where those work row by row.

    Softmax becomes one kernel that reads its input once instead of four; so do several reductions
    of one input.
    Requires: `nest` is legal; `program` has the known sizes substituted.
    Establishes: the result is legal (checked by isl).
    """
    if not nest.kernels[1:]:
        return nest

    def is_row(kernel: KernelNest) -> bool:
        (known,) = fix_sizes(replace(nest, kernels=(kernel,)), sizes).kernels
        return row_plan(known, program, target, wished) is not None

    fused = _maximal(scop, dependences, nest, is_row)
    kernels = join_siblings(fused.kernels, program, is_row)
    joined = replace(fused, kernels=numbered(scop.program.name, kernels))
    return joined if joined != fused and _is_legal(dependences, joined) else fused


def _maximal(
    scop: Scop, dependences: Dependences, nest: Nest, is_row: Callable[[KernelNest], bool]
) -> Nest:
    """The nest with maximally fused kernels where those work row by row."""
    scheduled: Scheduled = compute_schedule(scop, dependences, Fusion.MAX)
    if scheduled.fell_back:
        missed = (f"while looking for rows: {note}" for note in scheduled.notes)
        return replace(nest, notes=(*nest.notes, *missed))
    fused = structure(scop, scheduled.tree)
    kernels: list[KernelNest] = []
    for kernel in fused.kernels:
        mine = statements(kernel)
        parts = [k for k in nest.kernels if statements(k) <= mine]
        if frozenset().union(*(statements(k) for k in parts)) != mine:
            return nest
        kernels += [kernel] if len(parts) > 1 and is_row(kernel) else parts
    combined = replace(nest, kernels=numbered(scop.program.name, kernels))
    return combined if _is_legal(dependences, combined) else nest


def statements(kernel: KernelNest) -> frozenset[str]:
    """The names of the statements that a kernel runs."""
    return frozenset(i.statement for i in instances(kernel.body))


def _is_legal(dependences: Dependences, nest: Nest) -> bool:
    try:
        check_kernels(dependences, place(nest))
    except InternalError:
        return False
    return True
