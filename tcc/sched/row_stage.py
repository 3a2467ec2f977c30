"""What the threads across the rows of a block share: the index tensors of gathers.

In a kernel whose neighbouring threads take neighbouring rows, a tensor that does not move with the
rows is read by all of them: `I(b, l)` of `LUT(I(b, l), d)`. The block copies it to shared memory
once, then looks up the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, prod

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.scalar import ScalarType
from tcc.sched.nest import Dim, Instance, KernelNest, instances
from tcc.sched.plan import KernelPlan
from tcc.sched.reuse import box, source_of
from tcc.sched.rows import RowForm, row_form
from tcc.sched.windows import reads_of

ACCESS_BYTES = 16


@dataclass(frozen=True)
class RowStage:
    """A tensor at storage subscripts over parallel dimensions, the loops of a row, and sizes."""

    tensor: str
    forms: tuple[Affine, ...]

    def extents(self, plan: KernelPlan, loops: tuple[Dim, ...]) -> tuple[tuple[int, int], ...]:
        """The interval of each subscript in a block, relative to its first row and position."""
        spans = {d.dim: d.covered for d in plan.dims} | {d.name: d.extent.value for d in loops}
        return box(self.forms, spans)


def row_stages(kernel: KernelNest, program: tir.Program) -> tuple[RowStage, ...]:
    """The reads that neighbouring rows share, each once; none where a row has no known length."""
    form = row_form(kernel, program)
    if form is None or not kernel.parallel or not all(d.extent.is_constant for d in form.loops):
        return ()
    written = {source_of(i.statement, program).target for i in instances(kernel.body)}
    found: dict[RowStage, None] = {}
    for instance, read in _reads(form, program):
        stage = stage_of(read, instance, kernel, form, program)
        if stage is not None and read.tensor not in written:
            found[stage] = None
    return tuple(found)


def stage_of(
    read: tir.Read, instance: Instance, kernel: KernelNest, form: RowForm, program: tir.Program
) -> RowStage | None:
    """A read that moves along the rows and not from one row to its neighbour."""
    dims = {d.name for d in (*kernel.parallel, *form.loops)}
    across = kernel.parallel[-1].name
    forms: list[Affine] = []
    for subscript, origin in zip(read.subscripts, program.tensors[read.tensor].origin, strict=True):
        known = affine_form(subscript)
        if known is None:
            return None
        stored = known.substitute(instance.iterators) - origin
        if stored.without(dims).variables & dims or not stored.variables <= {*dims, *program.sizes}:
            return None
        forms.append(stored)
    along = {d.name for d in form.loops}
    used = frozenset().union(*(f.variables for f in forms))
    return RowStage(read.tensor, tuple(forms)) if used & along and across not in used else None


def stage_bytes(stage: RowStage, type: ScalarType, plan: KernelPlan, form: RowForm) -> int:
    """Bytes of a stage in shared memory."""
    extents = [high - low + 1 for low, high in stage.extents(plan, form.loops)]
    unit = max(1, ACCESS_BYTES // type.bytes)
    extents[-1] = ceil(extents[-1] / unit) * unit
    return ceil(prod(extents) * type.bytes / ACCESS_BYTES) * ACCESS_BYTES


def index_tensors(kernel: KernelNest, program: tir.Program) -> frozenset[str]:
    """The tensors that are read inside of subscripts."""
    found: set[str] = set()
    for instance in instances(kernel.body):
        for read in reads_of(instance, program):
            inside = (e for s in read.subscripts for e in tir.walk(s))
            found |= {e.tensor for e in inside if isinstance(e, tir.Read)}
    return frozenset(found)


def _reads(form: RowForm, program: tir.Program) -> Iterator[tuple[Instance, tir.Read]]:
    for node in form.nodes:
        for instance in node.instances if not isinstance(node, Instance) else ():
            for read in reads_of(instance, program):
                yield instance, read
