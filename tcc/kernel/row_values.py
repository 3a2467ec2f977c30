"""What a thread keeps in registers along its row: vectors of inputs, values between passes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from tcc.affine import Affine, const, var
from tcc.frontend import tir
from tcc.frontend.lazy import unconditional_reads
from tcc.frontend.subscripts import affine_form
from tcc.kernel import ir
from tcc.kernel.context import Lowered
from tcc.kernel.promote import reads, write_subscripts
from tcc.kernel.row_points import Positions
from tcc.kernel.row_stage import RowStages
from tcc.kernel.state import State
from tcc.kernel.values import Reader, Values, cast
from tcc.kernel.vector import divides, widths
from tcc.sched.nest import Instance
from tcc.sched.plan import RowPlan
from tcc.sched.rows import Pass, RowForm
from tcc.sched.scop import Part

Forms = tuple[Affine, ...]


@dataclass(frozen=True)
class Kept:
    """Values of one thread along its row, in registers: an input's, or a written tensor's.

    `whole`: of the whole row; else of one vector, gone after the pass.
    """

    buffer: ir.Buffer
    index: tuple[Affine, ...]
    whole: bool


class RowValues:
    """Where the elements along a row are, for one thread, from pass to pass."""

    def __init__(
        self, state: State, form: RowForm, plan: RowPlan, walk: Positions, stages: RowStages
    ) -> None:
        self._state = state
        self._stages = stages
        self._form = form
        self._plan = plan
        self._walk = walk
        self._kept: dict[tuple[str, Forms], Kept] = {}
        self._picked: dict[tuple[str, tir.Read], Kept] = {}
        self._uses = self._count_uses()
        self._defined = self._defined_first()

    def enter(self, node: Pass) -> tuple[list[ir.Statement], list[ir.Statement]]:
        """Register arrays that a pass declares; vector loads before the lanes of a trip."""
        self._kept = {key: kept for key, kept in self._kept.items() if kept.whole}
        self._picked = {}
        declared: list[ir.Statement] = []
        loads: list[ir.Statement] = []
        for instance in node.instances:
            lowered = self._lowered(instance)
            self._declare_target(instance, declared)
            if lowered.part is not Part.INIT:
                for read in unconditional_reads(lowered.statement.value):
                    self._load_once(instance, read, loads, declared)
                    self._load_picked(instance, read, loads, declared)
        return declared, loads

    def target(self, instance: Instance) -> Kept | None:
        """The registers of what an instance writes along the row; None: it lives in memory."""
        lowered = self._lowered(instance)
        return self._kept.get((lowered.statement.target, write_subscripts(lowered, instance)))

    def at(self, form: Affine) -> Affine:
        """A form over the nest's variables at the current lane."""
        return self._state.points.at(form, self._walk.values)

    def reader(self, instance: Instance) -> Reader:
        """Reads for the values of an instance: registers where there are some, else memory."""
        state = self._state

        def read(node: tir.Read, index: tuple[Affine | ir.Expression, ...]) -> ir.Expression:
            if node.tensor in state.registers:
                return cast(ir.Load(state.registers[node.tensor], ()), node.type)
            forms = _forms(instance, node)
            kept = self._kept.get((node.tensor, forms)) if forms is not None else None
            kept = kept or self._picked.get((instance.statement, node))
            if kept is not None:
                return ir.Load(kept.buffer, kept.index)
            staged = self._stages.load(node, instance, self._walk.values)
            return staged or ir.Load(state.buffer(node.tensor), index)

        return read

    def move(self, target: ir.Buffer, index: Forms, kept: Kept) -> ir.VectorMove | None:
        """The store of a whole vector of registers to memory, where alignment is proved."""
        width = self._width(target, index)
        if width == 1:
            return None
        return ir.VectorMove(
            target, self._at_first_lane(index), kept.buffer, self._at_first_lane(kept.index), width
        )

    def is_last_write(self, instance: Instance) -> bool:
        """Whether no later statement of the kernel writes the instance's tensor again."""
        target = self._lowered(instance).statement.target
        writers = [i for i in self._instances() if self._lowered(i).statement.target == target]
        return writers[-1].statement == instance.statement

    # -- what is kept ----------------------------------------------------------------------

    def _declare_target(self, instance: Instance, declared: list[ir.Statement]) -> None:
        lowered = self._lowered(instance)
        tensor = self._state.context.tensor(lowered.statement.target)
        if tensor.name in self._state.registers or not self._plan.keep or tensor.type.is_half:
            return
        key = tensor.name, write_subscripts(lowered, instance)
        if key not in self._kept and tensor.name in self._defined:
            self._kept[key] = self._array(tensor, declared, whole=True)

    def _load_once(
        self,
        instance: Instance,
        read: tir.Read,
        loads: list[ir.Statement],
        declared: list[ir.Statement],
    ) -> None:
        """Load an input's vector unless its values are in registers already."""
        state, lane = self._state, self._walk.lane
        forms = _forms(instance, read)
        if forms is None or read.tensor in state.registers or state.is_written(read.tensor):
            return
        along = {d.name for d in self._form.loops}
        key = read.tensor, forms
        if key in self._kept or not any(f.variables & along for f in forms):
            return
        tensor, buffer = state.context.tensor(read.tensor), state.buffer(read.tensor)
        index = state.stored(tensor, tuple(self.at(f) for f in forms))
        width = self._width(buffer, index)
        keep = self._plan.keep and self._uses[key] > 1
        if width == 1 and not keep:
            return
        kept = self._array(tensor, declared, whole=keep)
        if width > 1:
            first = self._at_first_lane
            loads.append(ir.VectorMove(kept.buffer, first(kept.index), buffer, first(index), width))
        else:
            fetch = ir.Store(kept.buffer, kept.index, ir.Load(buffer, index))
            loads.append(ir.For(lane, const(0), const(self._plan.vector), 1, True, (fetch,)))
        self._kept[key] = kept

    def _load_picked(
        self,
        instance: Instance,
        read: tir.Read,
        loads: list[ir.Statement],
        declared: list[ir.Statement],
    ) -> None:
        """Load a vector of a row that data picks: the same row for all lanes."""
        state, key = self._state, (instance.statement, read)
        if _forms(instance, read) is not None or key in self._picked:
            return
        last = affine_form(read.subscripts[-1])
        if last is None or state.is_written(read.tensor):
            return
        outer = (e for s in read.subscripts[:-1] for e in tir.walk(s))
        names = {e.name for e in outer if isinstance(e, tir.Index)}
        if any(self._form.loops[-1].name in instance.iterators[n].variables for n in names):
            return
        tensor, buffer = state.context.tensor(read.tensor), state.buffer(read.tensor)
        along = self.at(last.substitute(instance.iterators) - tensor.origin[-1])
        width = self._width(replace(buffer, shape=buffer.shape[-1:]), (along,))
        if width == 1 or not divides(width, buffer.shape[-1]):
            return
        kept = self._array(tensor, declared, whole=False)
        point = {i: self.at(instance.iterators[i]) for i in self._lowered(instance).iterators}
        values = Values(state.context, point, self.reader(instance))
        place = [values.subscript(read, k) for k in range(len(read.subscripts) - 1)]
        first = self._at_first_lane
        at = (*place, *first((along,)))
        loads.append(ir.VectorMove(kept.buffer, first(kept.index), buffer, at, width))
        self._picked[key] = kept

    def _array(self, tensor: tir.Tensor, declared: list[ir.Statement], *, whole: bool) -> Kept:
        """A register array for the thread's part of a row, or for one vector of it."""
        walk, vector = self._walk, self._plan.vector
        name = self._state.names.fresh(f"row_{tensor.name}")
        if whole:
            shape = (const(walk.trips.value * vector),)
            index = (var(walk.outer) * vector + var(walk.lane),)
        else:
            shape = (const(vector),)
            index = (var(walk.lane),)
        buffer = ir.Buffer(name, ir.Space.PRIVATE, tensor.type, shape)
        declared.append(ir.Declare(buffer))
        return Kept(buffer, index, whole)

    def _count_uses(self) -> Counter[tuple[str, Forms]]:
        """In how many passes each element is read."""
        uses: Counter[tuple[str, Forms]] = Counter()
        for node in self._form.nodes:
            seen: dict[tuple[str, Forms], None] = {}
            for instance in node.instances if isinstance(node, Pass) else ():
                for read in reads(self._lowered(instance)):
                    forms = _forms(instance, read)
                    if forms is not None:
                        seen[read.tensor, forms] = None
            uses.update(seen.keys())
        return uses

    def _defined_first(self) -> frozenset[str]:
        """The written tensors that nothing reads before they are written."""
        touched: set[str] = set()
        defined: set[str] = set()
        for instance in self._instances():
            lowered = self._lowered(instance)
            target = lowered.statement.target
            touched |= {r.tensor for r in reads(lowered)}
            if lowered.part is not Part.UPDATE and target not in touched:
                defined.add(target)
            touched.add(target)
        return frozenset(defined)

    # -- shared ----------------------------------------------------------------------------

    def _instances(self) -> list[Instance]:
        nodes = self._form.nodes
        return [i for n in nodes for i in (n.instances if isinstance(n, Pass) else (n,))]

    def _lowered(self, instance: Instance) -> Lowered:
        return self._state.context.statements[instance.statement]

    def _width(self, buffer: ir.Buffer, index: Forms) -> int:
        """Elements of one access along the lanes: all of the vector, or one."""
        vector = self._plan.vector
        if vector == 1 or vector not in widths(buffer.type) or not index:
            return 1
        lane = self._walk.lane
        flat = const(0)
        for at, extent in zip(index, buffer.shape, strict=True):
            flat = flat * extent + at
        rest = flat.without((lane,))
        moves = flat.coefficient(lane) == 1 and lane not in rest.variables
        return vector if moves and divides(vector, rest) else 1

    def _at_first_lane(self, index: Forms) -> Forms:
        return tuple(i.substitute({self._walk.lane: const(0)}) for i in index)


def _forms(instance: Instance, read: tir.Read) -> Forms | None:
    """Logical subscripts over the nest's variables; None for a gather."""
    forms = [affine_form(s) for s in read.subscripts]
    known = [f.substitute(instance.iterators) for f in forms if f is not None]
    return tuple(known) if len(known) == len(forms) else None
