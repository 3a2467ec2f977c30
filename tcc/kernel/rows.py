"""Kernels over rows: passes along the row, exchanges between the threads that share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tcc.affine import Affine, const, var
from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.kernel import ir
from tcc.kernel.exchange import WARP, Group, exchange, needs_barrier
from tcc.kernel.lazy import unconditional_reads
from tcc.kernel.row_points import Positions, positions
from tcc.kernel.state import State
from tcc.kernel.values import Values, cast, combine, identity
from tcc.kernel.vector import divides, widths
from tcc.sched.nest import Instance
from tcc.sched.plan import RowPlan
from tcc.sched.rows import Pass, RowForm, reduces
from tcc.sched.scop import Part

Forms = tuple[Affine, ...]


@dataclass(frozen=True)
class _Kept:
    """Values of one thread along its row, in registers: an input's, or a written tensor's.

    `whole`: of the whole row; else of one vector, gone after the pass.
    """

    buffer: ir.Buffer
    index: tuple[Affine, ...]
    whole: bool


def rows_body(state: State, form: RowForm, plan: RowPlan) -> list[ir.Statement]:
    """The thread body of a kernel over rows.

    Requires: `form` is sound; one register point a thread.
    Establishes: no barrier stands under a condition that depends on the thread; every element is
    written by one thread.
    """
    return _Rows(state, form, plan).body()


class _Rows:
    def __init__(self, state: State, form: RowForm, plan: RowPlan) -> None:
        self._state = state
        self._form = form
        self._plan = plan
        self._along = state.thread_alias(plan.axis, plan.threads)
        self._group = Group(self._along, *state.rows_of_block(plan))
        # Guards of whole rows: around everything where they are the same for all who exchange.
        together = self._group.rows == 1 or plan.threads == WARP
        self._around = plan.axis == 0 and together
        self._walk: Positions = positions(state, form.loops, plan, self._along)
        self._values: dict[str, Affine] = {}
        self._kept: dict[tuple[str, Forms], _Kept] = {}
        self._guards: list[Affine] = []
        self._uses = self._count_uses()

    # -- the whole row ---------------------------------------------------------------------

    def body(self) -> list[ir.Statement]:
        """Names, loads of whole-row values, the nodes, stores of whole-row values."""
        state = self._state
        lets = state.points.bind()
        first = next(iter(self._form.nodes))
        instance = first.instances[0] if isinstance(first, Pass) else first
        wanted = [i for i, a in instance.iterators.items() if self._is_of_row(a)]
        self._guards = [*state.points.tile_guards(), *state.points.guards(instance, wanted)]
        make = self._inside_row
        body = [*lets, *(state.points.inside(self._guards, make) if self._around else make())]
        again = state.frame.looped and needs_barrier(self._plan)
        return [*body, ir.Barrier()] if again else body

    def _inside_row(self) -> list[ir.Statement]:
        state = self._state
        result: list[ir.Statement] = [ir.Declare(b) for b in state.registers.values()]
        for promotion in state.promotions:
            if promotion.load:
                result += self._guarded([self._row_transfer(promotion.tensor, load=True)])
        said = ""
        for node in self._form.nodes:
            first = node.instances[0] if isinstance(node, Pass) else node
            text = state.context.statements[first.statement].statement.text
            if text != said:
                result.append(ir.Comment(text))
                said = text
            result += (
                self._pass(node)
                if isinstance(node, Pass)
                else self._guarded([self._row_statement(node)])
            )
        leader = -var(self._along)
        for promotion in state.promotions:
            if promotion.store:
                store = self._row_transfer(promotion.tensor, load=False)
                tests = [leader, *self._pending()]
                result.append(ir.If(tuple(tests), (store,)))
        return result

    def _is_of_row(self, at: Affine) -> bool:
        return not at.variables & {d.name for d in self._form.loops}

    def _pending(self) -> list[Affine]:
        """The row's guards, where the whole body is not inside them."""
        return [] if self._around else self._guards

    def _guarded(self, body: list[ir.Statement]) -> list[ir.Statement]:
        pending = self._pending()
        return [ir.If(tuple(pending), tuple(body))] if pending else body

    def _row_transfer(self, name: str, *, load: bool) -> ir.Statement:
        state = self._state
        promotion = next(p for p in state.promotions if p.tensor == name)
        register, buffer = state.registers[name], state.buffer(name)
        at = tuple(state.points.at(s) for s in promotion.subscripts)
        index = state.stored(state.context.tensor(name), at)
        if load:
            return ir.Store(register, (), cast(ir.Load(buffer, index), register.type))
        return ir.Store(buffer, index, cast(ir.Load(register, ()), buffer.type))

    def _row_statement(self, instance: Instance) -> ir.Statement:
        """A statement of the whole row: every thread computes it."""
        lowered = self._state.context.statements[instance.statement]
        register = self._state.registers[lowered.statement.target]
        return ir.Store(register, (), self._new_value(instance, register))

    def _new_value(self, instance: Instance, target: ir.Buffer) -> ir.Expression:
        lowered = self._state.context.statements[instance.statement]
        statement = lowered.statement
        if lowered.part is Part.INIT:
            return cast(identity(statement.operator, target.type), target.type)
        value = self._evaluate(instance)
        if lowered.part is Part.UPDATE:
            old = cast(ir.Load(target, ()), value.type)
            value = combine(statement.operator, old, value)
        return cast(value, target.type)

    # -- one pass --------------------------------------------------------------------------

    def _pass(self, node: Pass) -> list[ir.Statement]:
        state, walk = self._state, self._walk
        self._values = dict(walk.values)
        self._kept = {key: kept for key, kept in self._kept.items() if kept.whole}
        before: list[ir.Statement] = []
        after: list[ir.Statement] = []
        partial: dict[str, ir.Buffer] = {}
        for instance in node.instances:
            statement = state.context.statements[instance.statement].statement
            if reduces(instance, statement):
                register = state.register(statement.target, scalar=True)
                partial[instance.statement] = register
                start = identity(statement.operator, register.type)
                before += [ir.Declare(register), ir.Store(register, (), start)]
                after += self._joined(statement, register)
        with state.points.known(*walk.scopes):
            loads, declared = self._loads(node)
            body, stores = self._at_lane(node, partial)
        before += declared
        lane: tuple[ir.Statement, ...] = tuple(body)
        vector = self._plan.vector
        inner = ir.For(walk.lane, const(0), const(vector), 1, True, lane)
        trip: list[ir.Statement] = [*walk.lets, *loads, inner, *stores]
        tests = list(self._pending())
        if not walk.whole:
            tests.append(walk.length - 1 - walk.start)
        if tests:
            trip = [ir.If(tuple(tests), tuple(trip))]
        unroll = self._plan.keep
        loop = ir.For(walk.outer, const(0), walk.trips, 1, unroll, tuple(trip))
        return [*before, loop, *after]

    def _joined(self, statement: tir.Statement, register: ir.Buffer) -> list[ir.Statement]:
        """The exchange between threads, then the row's own register."""
        state = self._state
        own = state.registers[statement.target]
        total = combine(statement.operator, ir.Load(own, ()), ir.Load(register, ()))
        return [
            *exchange(state, statement.operator, register, self._plan, self._group),
            ir.Store(own, (), total),
        ]

    def _at_lane(
        self, node: Pass, partial: dict[str, ir.Buffer]
    ) -> tuple[list[ir.Statement], list[ir.Statement]]:
        """The instances at one lane, and the stores of whole vectors after all lanes."""
        state = self._state
        body: list[ir.Statement] = []
        stores: list[ir.Statement] = []
        for instance in node.instances:
            statement = state.context.statements[instance.statement].statement
            register = partial.get(instance.statement)
            if register is not None:
                value = combine(statement.operator, ir.Load(register, ()), self._evaluate(instance))
                body.append(ir.Store(register, (), value))
            elif statement.target in state.registers:
                own = state.registers[statement.target]
                body.append(ir.Store(own, (), self._new_value(instance, own)))
            else:
                body += self._point_statement(instance, stores)
        return body, stores

    def _point_statement(
        self, instance: Instance, stores: list[ir.Statement]
    ) -> list[ir.Statement]:
        """A statement with one element a position: to registers, and to memory if asked."""
        state = self._state
        lowered = state.context.statements[instance.statement]
        tensor = state.context.tensor(lowered.statement.target)
        forms = tuple(instance.iterators[i] for i in lowered.statement.indices)
        index = state.stored(tensor, tuple(self._at(f) for f in forms))
        kept = self._kept_target(tensor, forms, index)
        if kept is None:
            buffer = state.buffer(tensor.name)
            value = self._point_value(instance, ir.Load(buffer, index))
            return [ir.Store(buffer, index, cast(value, buffer.type))]
        value = self._point_value(instance, ir.Load(kept.buffer, kept.index))
        result: list[ir.Statement] = [
            ir.Store(kept.buffer, kept.index, cast(value, kept.buffer.type))
        ]
        if state.is_stored(tensor.name) and self._is_last_write(instance, tensor.name):
            buffer = state.buffer(tensor.name)
            width = self._width(buffer, index)
            if width > 1:
                move = ir.VectorMove(
                    buffer,
                    _at_zero(index, self._walk.lane),
                    kept.buffer,
                    _at_zero(kept.index, self._walk.lane),
                    width,
                )
                stores.append(move)
            else:
                result.append(ir.Store(buffer, index, ir.Load(kept.buffer, kept.index)))
        return result

    def _point_value(self, instance: Instance, old: ir.Expression) -> ir.Expression:
        lowered = self._state.context.statements[instance.statement]
        statement = lowered.statement
        if lowered.part is Part.INIT:
            return identity(
                statement.operator, self._state.context.tensor(statement.target).type.compute
            )
        value = self._evaluate(instance)
        if lowered.part is Part.UPDATE:
            value = combine(statement.operator, cast(old, value.type), value)
        return value

    # -- values kept along the row ---------------------------------------------------------

    def _kept_target(self, tensor: tir.Tensor, forms: Forms, index: Forms) -> _Kept | None:
        """The registers of a written tensor; None: it lives in memory."""
        key = tensor.name, forms
        if tensor.type.is_half or not self._plan.keep:
            return None
        if key not in self._kept:
            return None
        return self._kept[key]

    def _loads(self, node: Pass) -> tuple[list[ir.Statement], list[ir.Statement]]:
        """Vector loads before the lanes of a trip; register arrays that the pass declares."""
        loads: list[ir.Statement] = []
        declared: list[ir.Statement] = []
        for instance in node.instances:
            lowered = self._state.context.statements[instance.statement]
            self._declare_target(instance, declared)
            if lowered.part is Part.INIT:
                continue
            for read in unconditional_reads(lowered.statement.value):
                self._load_once(instance, read, loads, declared)
        return loads, declared

    def _declare_target(self, instance: Instance, declared: list[ir.Statement]) -> None:
        state = self._state
        statement = state.context.statements[instance.statement].statement
        tensor = state.context.tensor(statement.target)
        if tensor.name in state.registers or not self._plan.keep or tensor.type.is_half:
            return
        key = tensor.name, tuple(instance.iterators[i] for i in statement.indices)
        if key in self._kept:
            return
        if self._needs_memory_first(tensor.name, instance):
            return
        self._kept[key] = self._array(tensor, declared)

    def _needs_memory_first(self, tensor: str, instance: Instance) -> bool:
        """Whether the first statement that touches a written tensor reads it from memory."""
        lowered = self._state.context.statements[instance.statement]
        reads = [r.tensor for r in tir.walk(lowered.statement.value) if isinstance(r, tir.Read)]
        return lowered.part is Part.UPDATE or tensor in reads

    def _load_once(
        self,
        instance: Instance,
        read: tir.Read,
        loads: list[ir.Statement],
        declared: list[ir.Statement],
    ) -> None:
        """Load an input's vector unless its values are in registers already."""
        state = self._state
        forms = self._forms(instance, read)
        if forms is None or read.tensor in state.registers or state.is_written(read.tensor):
            return
        if all(self._is_of_row(f) for f in forms):
            return
        tensor = state.context.tensor(read.tensor)
        buffer = state.buffer(read.tensor)
        index = state.stored(tensor, tuple(self._at(f) for f in forms))
        width = self._width(buffer, index)
        keep = self._plan.keep and self._uses[read.tensor, forms] > 1
        key = read.tensor, forms
        if key in self._kept or (width == 1 and not keep):
            return
        kept = self._array(tensor, declared, whole=keep)
        lane = self._walk.lane
        if width > 1:
            loads.append(
                ir.VectorMove(
                    kept.buffer, _at_zero(kept.index, lane), buffer, _at_zero(index, lane), width
                )
            )
        else:
            fetch = ir.Store(kept.buffer, kept.index, ir.Load(buffer, index))
            loads.append(ir.For(lane, const(0), const(self._plan.vector), 1, True, (fetch,)))
        self._kept[key] = kept

    def _array(
        self, tensor: tir.Tensor, declared: list[ir.Statement], *, whole: bool = True
    ) -> _Kept:
        """A register array for the thread's part of a row, or for one vector of it."""
        walk, vector = self._walk, self._plan.vector
        name = self._state.names.fresh(f"row_{tensor.name}")
        whole = whole and self._plan.keep
        if whole:
            shape = (const(walk.trips.value * vector),)
            index = (var(walk.outer) * vector + var(walk.lane),)
        else:
            shape = (const(vector),)
            index = (var(walk.lane),)
        buffer = ir.Buffer(name, ir.Space.PRIVATE, tensor.type, shape)
        declared.append(ir.Declare(buffer))
        return _Kept(buffer, index, whole)

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

    # -- reading ---------------------------------------------------------------------------

    def _count_uses(self) -> dict[tuple[str, Forms], int]:
        """In how many passes each element of an input is read."""
        uses: dict[tuple[str, Forms], int] = {}
        for node in self._form.nodes:
            if not isinstance(node, Pass):
                continue
            seen: dict[tuple[str, Forms], None] = {}
            for instance in node.instances:
                lowered = self._state.context.statements[instance.statement]
                for read in tir.walk(lowered.statement.value):
                    forms = self._forms(instance, read) if isinstance(read, tir.Read) else None
                    if isinstance(read, tir.Read) and forms is not None:
                        seen[read.tensor, forms] = None
            for key in seen:
                uses[key] = uses.get(key, 0) + 1
        return uses

    def _forms(self, instance: Instance, read: tir.Read) -> Forms | None:
        forms = [affine_form(s) for s in read.subscripts]
        known = [f.substitute(instance.iterators) for f in forms if f is not None]
        return tuple(known) if len(known) == len(forms) else None

    def _at(self, form: Affine) -> Affine:
        return self._state.points.at(form, self._values)

    def _evaluate(self, instance: Instance) -> ir.Expression:
        lowered = self._state.context.statements[instance.statement]
        point = {i: self._at(instance.iterators[i]) for i in lowered.iterators}
        read = self._reader(instance)
        return Values(self._state.context, point, read).value(lowered.statement.value)

    def _reader(
        self, instance: Instance
    ) -> Callable[[tir.Read, tuple[Affine | ir.Expression, ...]], ir.Expression]:
        state = self._state

        def read(node: tir.Read, index: tuple[Affine | ir.Expression, ...]) -> ir.Expression:
            if node.tensor in state.registers:
                return cast(ir.Load(state.registers[node.tensor], ()), node.type)
            forms = self._forms(instance, node)
            kept = self._kept.get((node.tensor, forms)) if forms is not None else None
            if kept is not None:
                return ir.Load(kept.buffer, kept.index)
            return ir.Load(state.buffer(node.tensor), index)

        return read

    def _is_last_write(self, instance: Instance, tensor: str) -> bool:
        """Whether no later statement of the kernel writes the tensor again."""
        writers = [
            i.statement
            for node in self._form.nodes
            for i in (node.instances if isinstance(node, Pass) else (node,))
            if self._state.context.statements[i.statement].statement.target == tensor
        ]
        return writers[-1] == instance.statement


def _at_zero(index: tuple[Affine, ...], lane: str) -> tuple[Affine, ...]:
    return tuple(i.substitute({lane: const(0)}) for i in index)
