"""Threads that share the points of a k-tile: each sums up its own, then the first gets all sums."""

from __future__ import annotations

from math import prod

from tcc.affine import Affine, const, var
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.fragment import over_registers
from tcc.kernel.state import State
from tcc.kernel.values import combine, start
from tcc.sched.nest import Instance, instances
from tcc.sched.plan import AXES
from tcc.sched.reuse import Chain, chain
from tcc.sched.scop import Part


def sliced_node(state: State) -> int | None:
    """The position in the kernel's body of the loop whose tiles threads share.

    None where no loop is shared, or where it cannot be done: what stands before the loop must
    leave its results in registers, since all threads compute it.
    """
    shared = state.plan.sliced
    if shared is None:
        return None
    statements = state.context.statements
    for position, node in enumerate(state.nest.body):
        if isinstance(node, Instance):
            if statements[node.statement].statement.target not in state.registers:
                return None
            continue
        found = chain(state.nest, state.context.program, node)
        if found is None or shared.dim not in {d.name for d in found.loops}:
            return None
        targets = {statements[u.statement].statement.target for u in found.updates}
        return position if targets <= state.registers.keys() else None
    return None


class Slices:
    """What surrounds the k-tiles of a chain whose points several threads share."""

    def __init__(self, state: State, chain: Chain) -> None:
        self._state = state
        shared = state.plan.sliced
        names = {d.name for d in chain.loops}
        self._count = shared.threads if shared is not None and shared.dim in names else 1
        self._axis = shared.thread_axis if shared is not None else None
        statements = (state.context.statements[u.statement].statement for u in chain.updates)
        self._updates = {s.target: s for s in statements}

    def before(self) -> list[ir.Statement]:
        """All threads but the first start from nothing."""
        if self._count == 1 or self._starts_from_nothing():
            return []
        body = [
            each
            for statement in self._updates.values()
            for each in self._everywhere(self._reset(statement))
        ]
        return [ir.If((self._state.slice - 1,), tuple(body))]

    def after(self) -> list[ir.Statement]:
        """The sums of all threads through shared memory to the first one, in a fixed order."""
        if self._count == 1:
            return []
        declared: list[ir.Statement] = []
        publish: list[ir.Statement] = []
        fold: list[ir.Statement] = []
        for target, statement in self._updates.items():
            sums = self._sums(target)
            register = self._state.registers[target]
            index = self._state.points.register_index
            mine, other = ir.Load(register, index), self._state.names.fresh("s")
            declared.append(ir.Declare(sums))
            publish += self._everywhere(ir.Store(sums, self._place(self._state.slice - 1), mine))
            theirs = ir.Load(sums, self._place(var(other)))
            add = self._everywhere(
                ir.Store(register, index, combine(statement.operator, mine, theirs))
            )
            fold.append(ir.For(other, const(0), const(self._count - 1), 1, False, tuple(add)))
        again: list[ir.Statement] = [ir.Barrier()] if self._state.frame.looped else []
        others = ir.If((self._state.slice - 1,), tuple(publish))
        first = ir.If((-self._state.slice,), tuple(fold))
        return [*declared, *again, others, ir.Barrier(), first]

    def _starts_from_nothing(self) -> bool:
        """Whether only the targets' own initialisations stand before the loop."""
        state = self._state
        left = set(self._updates)
        for instance in instances(state.nest.body):
            lowered = state.context.statements[instance.statement]
            if lowered.statement.target in self._updates and lowered.part is not Part.INIT:
                break
            left.discard(lowered.statement.target)
        return not left

    def _reset(self, statement: tir.Statement) -> ir.Statement:
        register = self._state.registers[statement.target]
        return ir.Store(
            register, self._state.points.register_index, start(statement, register.type)
        )

    def _sums(self, target: str) -> ir.Buffer:
        """What every thread but the first has, neighbouring threads side by side."""
        state = self._state
        register = state.registers[target]
        shape = (const(self._count - 1), *register.shape, const(self._threads))
        name = state.names.fresh(f"sums_{target}")
        return ir.Buffer(name, ir.Space.SHARED, register.type, shape)

    def _place(self, number: Affine) -> tuple[Affine, ...]:
        state = self._state
        others = [a for a in range(len(AXES)) if a != self._axis]
        return (number, *state.points.register_index, state.thread_number(others))

    @property
    def _threads(self) -> int:
        return prod(n for a, n in enumerate(self._state.plan.block) if a != self._axis)

    def _everywhere(self, statement: ir.Statement) -> list[ir.Statement]:
        body: tuple[ir.Statement, ...] = (statement,)
        for digit in reversed(self._state.frame.digits):
            body = over_registers(digit, body)
        return list(body)
