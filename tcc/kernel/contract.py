"""Tiled reductions: k-tiles, operands in shared memory or registers, a register micro-tile.

load tile 0; for each k-tile { fetch the next; for each k-point { fragments; multiply-add } }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from tcc.affine import Affine, const, minimum, var
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.fetch import fetch
from tcc.kernel.fragment import Fragment, load_directly, load_fragment, over_registers
from tcc.kernel.gathered import Place, gathered_place, level, through
from tcc.kernel.prove import Scope
from tcc.kernel.slices import Slices
from tcc.kernel.staged import shared_tile
from tcc.kernel.state import State
from tcc.kernel.steps import Steps, plain_dimension
from tcc.kernel.tile_box import Numbers, Tile, merged
from tcc.kernel.tile_copy import TileCopy
from tcc.kernel.values import Reader, Values, combine
from tcc.kernel.write_back import write_back
from tcc.sched.nest import Instance
from tcc.sched.plan import AXES, Staging
from tcc.sched.reuse import Chain, Operand, copied_in_turn, is_index

DOUBLE = 2
"""Stages of a double buffer through registers; more are asynchronous copies."""


def contract(state: State, chain: Chain) -> list[ir.Statement]:
    """The statements of one chain.

    Requires: every target of the chain is in registers.
    Establishes: between the last read and the next write of a shared buffer there is one barrier,
    and no barrier stands under a condition that depends on the thread. Where threads share the
    points of a tile, the first of them has the results.
    """
    around, made = Slices(state, chain), _Contraction(state, chain)
    return [*around.before(), *made.to_memory(), *made.statements(), *around.after()]


class _Contraction:
    def __init__(self, state: State, chain: Chain) -> None:
        self._state = state
        self._chain = chain
        self._steps = Steps(state, chain)
        self._operands = {read: o for o in chain.operands for read in o.reads}
        deep = self._steps.linear and self._steps.count != const(1)
        asked = [o for o in chain.operands if state.plan.stage(o.tensor) is Staging.SHARED]
        shared = [o for o in asked if o.forms]  # an element alone is read from memory
        waits = copied_in_turn(chain, {o.tensor for o in shared})
        self._stages = state.plan.pipeline if deep and not waits else 1
        self._tiles: dict[Operand, Tile] = {}
        for operand in shared:
            way = None
            if operand.gather is not None:
                way = through(state, chain, operand.gather, self._tiles)
            self._tiles[operand] = shared_tile(state, self._steps, operand, self._stages, way)
        self._copied = self._used_by_copies()
        self._phases = self._phases_of_copies()
        self._copies = [c for phase in self._phases for c in phase]
        self._outside = min(state.loops_outside, len(self._steps.moving))
        lowered = (state.context.statements[u.statement] for u in chain.updates)
        targets = {each.statement.target for each in lowered}
        self._results = [p for p in state.promotions if p.tensor in targets]

    def _used_by_copies(self) -> frozenset[Operand]:
        """The indices that only copies of rows to shared memory use."""
        chain = self._chain
        others = [o.gather for o in chain.operands if o not in self._tiles and o.gather is not None]
        inside = frozenset().union(*(g.indices for g in others))
        found = (o for o in chain.operands if is_index(o, chain))
        return frozenset(o for o in found if not inside.intersection(o.reads))

    def _phases_of_copies(self) -> list[list[TileCopy]]:
        """The copies; those of a later phase look up their places in what those before copy."""
        state = self._state
        shared = frozenset(self._tiles)
        phases: dict[int, list[TileCopy]] = {}
        for operand, tile in self._tiles.items():
            thread = state.thread_number(range(len(AXES)))
            copy = TileCopy(state, merged(tile), thread, prod(state.plan.block))
            phases.setdefault(level(operand, shared), []).append(copy)
        return [phases[k] for k in sorted(phases)]

    # -- results in memory -----------------------------------------------------------------

    def to_memory(self) -> list[ir.Statement]:
        """What was accumulated so far, where the loops over k-tiles fetch it."""
        if not self._outside:
            return []
        return [s for p in self._results for s in write_back(self._state, p)]

    def _between_memory(self, body: list[ir.Statement]) -> list[ir.Statement]:
        """From memory to registers and back around the statements of some k-tiles."""
        fetched = [s for p in self._results for s in fetch(self._state, p)]
        return [*fetched, *body, *self.to_memory()]

    # -- the loops -------------------------------------------------------------------------

    def statements(self) -> list[ir.Statement]:
        """Declarations, prologue, k-tile loop."""
        declared: list[ir.Statement] = [ir.Declare(t.shared) for t in self._tiles.values()]
        declared += [s for c in self._copies for s in c.prologue()]
        if not self._copies:
            return self._tile_loops(lambda n: self._points(n, const(0)))
        if self._stages > DOUBLE:
            return declared + self._asynchronous()
        if self._stages == DOUBLE:
            return declared + self._double_buffered()
        return declared + self._single_buffered()

    def _single_buffered(self) -> list[ir.Statement]:
        # Where nothing was read before, copies need not wait.
        repeats = self._steps.moving or self._state.frame.looped
        again: list[ir.Statement] = [ir.Barrier()] if repeats and self._reads_first() else []

        def body(numbers: Numbers) -> list[ir.Statement]:
            first, *later = self._phases
            result = self._phase(first, numbers, again)
            for phase in later:
                result += self._phase(phase, numbers, [])
            return [*result, *self._points(numbers, const(0))]

        return self._tile_loops(body)

    def _reads_first(self) -> bool:
        """Whether points read what the first phase copies; later phases end in a barrier anyway."""
        shared = frozenset(self._tiles)
        first = (o for o in self._tiles if level(o, shared) == 0)
        return len(self._phases) == 1 or any(o not in self._copied for o in first)

    def _phase(
        self, copies: list[TileCopy], numbers: Numbers, again: list[ir.Statement]
    ) -> list[ir.Statement]:
        """Copies that need not wait for each other; `again` goes before the first write."""
        if self._state.plan.rolled_copies:
            return [*again, *(s for c in copies for s in c.copy(numbers)), ir.Barrier()]
        loads = [s for c in copies for s in c.load(numbers)]
        return [*loads, *again, *(s for c in copies for s in c.store(const(0))), ir.Barrier()]

    def _double_buffered(self) -> list[ir.Statement]:
        """The last iteration fetches its own tile again: cheaper than a branch in every one."""
        name = self._steps.loop_name()
        number = var(name)
        first = self._steps.numbers(const(0))
        with self._state.points.known(Scope(name, const(0), self._steps.count)):
            following = minimum(number + 1, self._steps.count - 1)
            body = (
                *self._load(self._steps.numbers(following)),
                *self._flat_points(number, number % 2),
                *self._store((number + 1) % 2),
                ir.Barrier(),
            )
        loop = ir.For(name, const(0), self._steps.count, 1, False, body)
        return [*self._load(first), *self._store(const(0)), ir.Barrier(), loop]

    def _asynchronous(self) -> list[ir.Statement]:
        """Copies run `stages - 1` k-tiles ahead; a barrier follows the wait for the oldest.

        The same barrier stands between the last read of a stage and the next copy into it.
        """
        ahead = self._stages - 1
        name = self._steps.loop_name()
        number, last = var(name), self._steps.count - 1
        start: list[ir.Statement] = []
        for early in range(ahead):
            at = self._steps.numbers(minimum(const(early), last))
            start += [*self._copy_async(at, const(early)), ir.AsyncCommit()]
        with self._state.points.known(Scope(name, const(0), self._steps.count)):
            following = self._steps.numbers(minimum(number + ahead, last))
            body = (
                ir.AsyncWait(ahead - 1),
                ir.Barrier(),
                *self._copy_async(following, (number + ahead) % self._stages),
                ir.AsyncCommit(),
                *self._flat_points(number, number % self._stages),
            )
        loop = ir.For(name, const(0), self._steps.count, 1, False, body)
        return [*start, loop, ir.AsyncWait(0), ir.Barrier()]

    def _tile_loops(self, make: Callable[[Numbers], list[ir.Statement]]) -> list[ir.Statement]:
        """One loop for every reduction loop with more than one k-tile."""
        names = {s: self._state.names.fresh(f"{s.dim.name}_t") for s in self._steps.moving}
        scopes = [Scope(names[s], const(0), s.tiles) for s in self._steps.moving]
        with self._state.points.known(*scopes):
            body = make(tuple(var(names[s]) if s in names else const(0) for s in self._steps.all))
        for number, step in reversed(list(enumerate(self._steps.moving, 1))):
            body = self._between_memory(body) if number == self._outside else body
            body = [ir.For(names[step], const(0), step.tiles, 1, False, tuple(body))]
        return body

    def _flat_points(self, number: Affine, stage: Affine) -> list[ir.Statement]:
        """The points of one k-tile of all in one loop."""
        points = self._points(self._steps.numbers(number), stage)
        return self._between_memory(points) if self._outside else points

    def _load(self, numbers: Numbers) -> list[ir.Statement]:
        return [s for c in self._copies for s in c.load(numbers)]

    def _store(self, stage: Affine) -> list[ir.Statement]:
        return [s for c in self._copies for s in c.store(stage)]

    def _copy_async(self, numbers: Numbers, stage: Affine) -> list[ir.Statement]:
        return [s for c in self._copies for s in c.fetch_async(numbers, stage)]

    # -- k-points --------------------------------------------------------------------------

    def _points(self, number: Numbers, stage: Affine) -> list[ir.Statement]:
        """All points of one k-tile: fragments, then multiply-adds over the micro-tile."""
        state, steps = self._state, self._steps
        with state.names.scope(), state.points.known(*steps.scopes):
            body: list[ir.Statement] = []
            fragments: dict[Operand, Fragment] = {}
            for operand in self._chain.operands:
                if state.plan.stage(operand.tensor) is Staging.GLOBAL or operand in self._copied:
                    continue
                tile, gathered = self._tiles.get(operand), None
                if operand.gather is not None and tile is None:
                    read = self._reader(operand.gather.statement, number, fragments)
                    gathered = gathered_place(
                        state, steps, self._chain, operand.gather, number, read
                    )
                fragments[operand], load = load_fragment(
                    state, steps, operand, tile, number, stage, gathered
                )
                body += load
            for update in self._chain.updates:
                body += self._update(update, number, fragments)
            guards = [] if self._vanishes() else state.points.unproved(steps.past_end(number))
            body = [ir.If(tuple(guards), tuple(body))] if guards else body
        for step in reversed(steps.all):
            body = [ir.For(step.point, const(0), const(step.points), 1, step.unroll, tuple(body))]
        return body

    def _update(
        self, update: Instance, number: Numbers, fragments: Mapping[Operand, Fragment]
    ) -> list[ir.Statement]:
        state = self._state
        statement = state.context.statements[update.statement].statement
        point = {i: self._steps.at(a, number) for i, a in update.iterators.items()}
        read = self._reader(update.statement, number, fragments)
        register, index = state.registers[statement.target], state.points.register_index
        value = Values(state.context, point, read).value(statement.value)
        total = combine(statement.operator, ir.Load(register, index), value)
        body: tuple[ir.Statement, ...] = (ir.Store(register, index, total),)
        for digit in reversed(state.frame.digits):
            body = over_registers(digit, body)
        return list(body)

    def _reader(
        self, statement: str, number: Numbers, fragments: Mapping[Operand, Fragment]
    ) -> Reader:
        """Reads of a statement: fragments where there are some, else memory."""

        def read(node: tir.Read, index: Place) -> ir.Expression:
            operand = self._operands[statement, node]
            fragment = fragments.get(operand)
            if fragment is None:
                return load_directly(self._state, self._steps, operand, number, index)
            return ir.Load(fragment.register, fragment.index)

        return read

    def _vanishes(self) -> bool:
        """Whether a padded reduction point adds zero: sums of products of zero-filled operands."""
        ragged = [s.dim.name for s in self._steps.all if s.ragged]
        for update in self._chain.updates:
            statement = self._state.context.statements[update.statement].statement
            if statement.operator != "+" or not _is_product(statement.value):
                return False
        return all(
            plain_dimension(o, name, self._steps.spans) is not None
            for o in self._chain.operands
            for name in ragged
        )


def _is_product(value: tir.Expression) -> bool:
    """A product of reads (and casts of them): zero when any factor is zero and none is infinite."""
    match value:
        case tir.Read():
            return True
        case tir.Cast(operand, to):
            return to.is_float and _is_product(operand)
        case tir.Binary("*", left, right, type):
            return type.is_float and _is_product(left) and _is_product(right)
        case _:
            return False
