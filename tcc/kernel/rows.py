"""Kernels over rows: passes along the row, exchanges between the threads that share it."""

from __future__ import annotations

from tcc.affine import Affine, const, var
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.context import Lowered
from tcc.kernel.exchange import WARP, Group, exchange, needs_barrier
from tcc.kernel.promote import Promotion, write_subscripts
from tcc.kernel.row_points import Positions, positions
from tcc.kernel.row_stage import RowStages
from tcc.kernel.row_values import RowValues
from tcc.kernel.state import State
from tcc.kernel.values import Values, cast, combine, start
from tcc.sched.nest import Instance
from tcc.sched.plan import RowPlan
from tcc.sched.rows import Pass, RowForm, RowNode, reduces
from tcc.sched.scop import Part


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
        self._stages = RowStages(state, form)
        self._kept = RowValues(state, form, plan, self._walk, self._stages)
        self._guards: list[Affine] = []

    # -- the whole row ---------------------------------------------------------------------

    def body(self) -> list[ir.Statement]:
        """Names, loads of whole-row values, the nodes, stores of whole-row values."""
        state = self._state
        lets = state.points.bind()
        instance = _first(self._form.nodes[0])
        along = {d.name for d in self._form.loops}
        of_row = [i for i, at in instance.iterators.items() if not at.variables & along]
        self._guards = [*state.points.tile_guards(), *state.points.guards(instance, of_row)]
        make = self._inside_row
        copies = self._stages.copies()
        inside = state.points.inside(self._guards, make) if self._around else make()
        again = state.frame.looped and (copies or needs_barrier(self._plan))
        return [*lets, *copies, *inside, *([ir.Barrier()] if again else [])]

    def _inside_row(self) -> list[ir.Statement]:
        state = self._state
        result: list[ir.Statement] = [ir.Declare(b) for b in state.registers.values()]
        for promotion in state.promotions:
            if promotion.load:
                result += self._guarded([self._load(promotion)])
        said = ""
        for node in self._form.nodes:
            text = self._lowered(_first(node)).statement.text
            if text != said:
                result.append(ir.Comment(text))
                said = text
            if isinstance(node, Pass):
                result += self._pass(node)
            elif self._lowered(node).statement.atomic:
                tests = (-var(self._along), *self._pending())
                result.append(ir.If(tests, (self._atomic(node),)))
            else:
                result += self._guarded([self._row_statement(node)])
        leader = -var(self._along)
        both = any(p.load and p.store for p in state.promotions)
        if both and self._plan.threads > 1 and not needs_barrier(self._plan):
            result.append(ir.Barrier(warp=True))  # all have read what the leader overwrites
        for promotion in state.promotions:
            if promotion.store:
                tests = (leader, *self._pending())
                result.append(ir.If(tests, (self._store(promotion),)))
        return result

    def _pending(self) -> list[Affine]:
        """The row's guards, where the whole body is not inside them."""
        return [] if self._around else self._guards

    def _guarded(self, body: list[ir.Statement]) -> list[ir.Statement]:
        pending = self._pending()
        return [ir.If(tuple(pending), tuple(body))] if pending else body

    def _load(self, promotion: Promotion) -> ir.Statement:
        register = self._state.registers[promotion.tensor]
        load = ir.Load(self._state.buffer(promotion.tensor), self._place(promotion))
        return ir.Store(register, (), cast(load, register.type))

    def _store(self, promotion: Promotion) -> ir.Statement:
        buffer = self._state.buffer(promotion.tensor)
        value = ir.Load(self._state.registers[promotion.tensor], ())
        return ir.Store(buffer, self._place(promotion), cast(value, buffer.type))

    def _place(self, promotion: Promotion) -> tuple[Affine, ...]:
        state = self._state
        at = tuple(state.points.at(s) for s in promotion.subscripts)
        return state.stored(state.context.tensor(promotion.tensor), at)

    def _row_statement(self, instance: Instance) -> ir.Statement:
        """A statement of the whole row: every thread computes it."""
        register = self._state.registers[self._lowered(instance).statement.target]
        value = self._new_value(instance, ir.Load(register, ()))
        return ir.Store(register, (), cast(value, register.type))

    def _atomic(self, instance: Instance) -> ir.Statement:
        """What one thread of the row combines into an element of several rows."""
        statement = self._lowered(instance).statement
        index = self._state.written_at(instance, self._state.context.tensor(statement.target))
        buffer = self._state.buffer(statement.target)
        return ir.Atomic(buffer, index, statement.operator, self._value(instance))

    # -- one pass --------------------------------------------------------------------------

    def _pass(self, node: Pass) -> list[ir.Statement]:
        state, walk = self._state, self._walk
        before: list[ir.Statement] = []
        partial: dict[str, ir.Buffer] = {}
        reduced: list[tuple[tir.Statement, ir.Buffer]] = []
        for instance in node.instances:
            statement = self._lowered(instance).statement
            if reduces(instance, statement):
                register = state.register(statement.target, scalar=True, prefix="partial")
                partial[instance.statement] = register
                first = start(statement, register.type)
                before += [ir.Declare(register), ir.Store(register, (), first)]
                reduced.append((statement, register))
        with state.points.known(*walk.scopes):
            declared, loads = self._kept.enter(node)
            body, stores = self._at_lane(node, partial)
        inner = ir.For(walk.lane, const(0), const(self._plan.vector), 1, True, tuple(body))
        trips = self._trips([*walk.lets, *loads, inner, *stores])
        return [*before, *declared, trips, *self._joined(reduced)]

    def _trips(self, trip: list[ir.Statement]) -> ir.Statement:
        """The loop over the thread's positions, a vector at a time."""
        walk = self._walk
        tests = list(self._pending())
        if not walk.whole:
            tests.append(walk.length - 1 - walk.start)
        if tests:
            trip = [ir.If(tuple(tests), tuple(trip))]
        return ir.For(walk.outer, const(0), walk.trips, 1, self._plan.keep, tuple(trip))

    def _joined(self, reduced: list[tuple[tir.Statement, ir.Buffer]]) -> list[ir.Statement]:
        """The exchange between threads, then the row's own registers."""
        totals: list[ir.Statement] = []
        for statement, register in reduced:
            own = self._state.registers[statement.target]
            total = combine(statement.operator, ir.Load(own, ()), ir.Load(register, ()))
            totals.append(ir.Store(own, (), total))
        partial = [(s.operator, register) for s, register in reduced]
        return [*exchange(self._state, partial, self._plan, self._group), *totals]

    def _at_lane(
        self, node: Pass, partial: dict[str, ir.Buffer]
    ) -> tuple[list[ir.Statement], list[ir.Statement]]:
        """The instances at one lane, and the stores of whole vectors after all lanes."""
        body: list[ir.Statement] = []
        stores: list[ir.Statement] = []
        for instance in node.instances:
            statement = self._lowered(instance).statement
            register = partial.get(instance.statement)
            if register is not None:
                value = combine(statement.operator, ir.Load(register, ()), self._value(instance))
                body.append(ir.Store(register, (), value))
            elif statement.target in self._state.registers:
                body.append(self._row_statement(instance))
            else:
                body += self._point_statement(instance, stores)
        return body, stores

    def _point_statement(
        self, instance: Instance, stores: list[ir.Statement]
    ) -> list[ir.Statement]:
        """A statement with one element a position: to registers, and to memory if asked."""
        state, lowered = self._state, self._lowered(instance)
        tensor = state.context.tensor(lowered.statement.target)
        logical = tuple(self._kept.at(f) for f in write_subscripts(lowered, instance))
        index = state.stored(tensor, logical)
        kept = self._kept.target(instance)
        if kept is None:
            buffer = state.buffer(tensor.name)
            value = self._new_value(instance, ir.Load(buffer, index))
            return [ir.Store(buffer, index, cast(value, buffer.type))]
        here = ir.Load(kept.buffer, kept.index)
        value = cast(self._new_value(instance, here), kept.buffer.type)
        result: list[ir.Statement] = [ir.Store(kept.buffer, kept.index, value)]
        if state.is_stored(tensor.name) and self._kept.is_last_write(instance):
            buffer = state.buffer(tensor.name)
            move = self._kept.move(buffer, index, kept)
            if move is None:
                result.append(ir.Store(buffer, index, here))
            else:
                stores.append(move)
        return result

    # -- values ----------------------------------------------------------------------------

    def _new_value(self, instance: Instance, old: ir.Load) -> ir.Expression:
        """What an instance stores where `old` is the element before."""
        lowered = self._lowered(instance)
        operator = lowered.statement.operator
        if lowered.part is Part.INIT:
            return start(lowered.statement, old.type.compute)
        value = self._value(instance)
        if lowered.part is Part.UPDATE:
            value = combine(operator, cast(old, value.type), value)
        return value

    def _value(self, instance: Instance) -> ir.Expression:
        """The right side of an instance."""
        lowered = self._lowered(instance)
        point = {i: self._kept.at(instance.iterators[i]) for i in lowered.iterators}
        values = Values(self._state.context, point, self._kept.reader(instance))
        return values.value(lowered.statement.value)

    def _lowered(self, instance: Instance) -> Lowered:
        return self._state.context.statements[instance.statement]


def _first(node: RowNode) -> Instance:
    return node.instances[0] if isinstance(node, Pass) else node
