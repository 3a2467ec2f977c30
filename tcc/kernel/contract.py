"""Tiled reductions: k-tiles, operands in shared memory or registers, a register micro-tile.

load tile 0; for each k-tile { fetch the next; for each k-point { fragments; multiply-add } }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from tcc.affine import Affine, ceil_div, const, minimum, var
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.bank import choose_padding
from tcc.kernel.digits import Digits
from tcc.kernel.prove import Scope
from tcc.kernel.state import State
from tcc.kernel.tile_copy import Numbers, Tile, TileCopy, merged
from tcc.kernel.values import Values, combine
from tcc.kernel.vector import divides, widths
from tcc.scalar import ScalarType
from tcc.sched.nest import Dim
from tcc.sched.plan import Staging
from tcc.sched.reuse import Chain, Operand, box


DOUBLE = 2
"""Stages of a double buffer through registers; more are asynchronous copies."""


@dataclass(frozen=True)
class _Step:
    """One reduction loop cut into k-tiles: value = low + tile * number + point."""

    dim: Dim
    tile: int
    tiles: Affine
    point: str
    ragged: bool


def contract(state: State, chain: Chain) -> list[ir.Statement]:
    """The statements of one chain.

    Requires: every target of the chain is in registers; parallel digits fill their tiles.
    Establishes: between the last read and the next write of a shared buffer there is one barrier,
    and no barrier stands under a condition that depends on the thread.
    """
    return _Contraction(state, chain).statements()


class _Contraction:
    def __init__(self, state: State, chain: Chain) -> None:
        self._state = state
        self._chain = chain
        tiles = {p.dim: p.tile for p in state.plan.loops}
        self._steps = [self._step(d, tiles.get(d.name, 1)) for d in chain.loops]
        self._moving = [s for s in self._steps if s.tiles != const(1)]
        self._linear = all(s.tiles.is_constant for s in self._moving[1:])
        self._count = const(1)
        for step in self._moving if self._linear else ():
            self._count = self._count * step.tiles
        deep = self._linear and self._count != const(1)
        self._stages = state.plan.pipeline if deep else 1
        self._spans = {d.dim.name: d.plan.tile for d in state.frame.digits}
        self._spans |= {s.dim.name: s.tile for s in self._steps}
        self._threads = state.plan.block[0] * state.plan.block[1] * state.plan.block[2]
        self._shared = {o: self._tile(o) for o in chain.operands if self._is_shared(o)}
        self._copies = [
            TileCopy(state, merged(t), self._thread(), self._threads)
            for t in dict.fromkeys(self._shared.values())
        ]

    # -- the loops -------------------------------------------------------------------------

    def statements(self) -> list[ir.Statement]:
        """Prologue, k-tile loop."""
        declared: list[ir.Statement] = [
            ir.Declare(t.shared) for t in dict.fromkeys(self._shared.values())
        ]
        declared += [s for c in self._copies for s in c.prologue()]
        if not self._copies:
            return self._tile_loops(lambda n: self._points(n, const(0)))
        if self._stages > DOUBLE:
            return declared + self._asynchronous()
        if self._stages == DOUBLE:
            return declared + self._double_buffered()
        return declared + self._single_buffered()

    def _single_buffered(self) -> list[ir.Statement]:
        def body(numbers: Numbers) -> list[ir.Statement]:
            return [
                *self._load(numbers),
                ir.Barrier(),
                *self._store(const(0)),
                ir.Barrier(),
                *self._points(numbers, const(0)),
            ]

        return self._tile_loops(body)

    def _double_buffered(self) -> list[ir.Statement]:
        """The last iteration fetches its own tile again: cheaper than a branch in every one."""
        name = self._loop_name()
        number = var(name)
        first = self._numbers(const(0))
        with self._state.points.known(Scope(name, const(0), self._count)):
            following = minimum(number + 1, self._count - 1)
            body = (
                *self._load(self._numbers(following)),
                *self._points(self._numbers(number), number % 2),
                *self._store((number + 1) % 2),
                ir.Barrier(),
            )
        loop = ir.For(name, const(0), self._count, 1, False, body)
        return [*self._load(first), *self._store(const(0)), ir.Barrier(), loop]

    def _asynchronous(self) -> list[ir.Statement]:
        """Copies run `stages - 1` k-tiles ahead; a barrier follows the wait for the oldest.

        The same barrier stands between the last read of a stage and the next copy into it.
        """
        ahead = self._stages - 1
        name = self._loop_name()
        number, last = var(name), self._count - 1
        start: list[ir.Statement] = []
        for early in range(ahead):
            at = self._numbers(minimum(const(early), last))
            start += [*self._copy_async(at, const(early)), ir.AsyncCommit()]
        with self._state.points.known(Scope(name, const(0), self._count)):
            following = self._numbers(minimum(number + ahead, last))
            body = (
                ir.AsyncWait(ahead - 1),
                ir.Barrier(),
                *self._copy_async(following, (number + ahead) % self._stages),
                ir.AsyncCommit(),
                *self._points(self._numbers(number), number % self._stages),
            )
        loop = ir.For(name, const(0), self._count, 1, False, body)
        return [*start, loop, ir.AsyncWait(0), ir.Barrier()]

    def _copy_async(self, numbers: Numbers, stage: Affine) -> list[ir.Statement]:
        return [s for c in self._copies for s in c.fetch_async(numbers, stage)]

    def _loop_name(self) -> str:
        single = len(self._moving) == 1
        return self._state.names.fresh(f"{self._moving[0].dim.name}_t" if single else "tile")

    def _tile_loops(self, make: Callable[[Numbers], list[ir.Statement]]) -> list[ir.Statement]:
        """One loop for every reduction loop with more than one k-tile."""
        names = {s: self._state.names.fresh(f"{s.dim.name}_t") for s in self._moving}
        scopes = [Scope(names[s], const(0), s.tiles) for s in self._moving]
        with self._state.points.known(*scopes):
            body = make(tuple(var(names[s]) if s in names else const(0) for s in self._steps))
        for step in reversed(self._moving):
            body = [ir.For(names[step], const(0), step.tiles, 1, False, tuple(body))]
        return body

    def _numbers(self, number: Affine) -> Numbers:
        """The k-tile number of every loop, from one number over all of them."""
        numbers: dict[_Step, Affine] = {}
        for step in reversed(self._moving):
            outermost = step is self._moving[0]
            numbers[step] = number if outermost else number % step.tiles.value
            number = number if outermost else number // step.tiles.value
        return tuple(numbers.get(s, const(0)) for s in self._steps)

    def _load(self, numbers: Numbers) -> list[ir.Statement]:
        return [s for c in self._copies for s in c.load(numbers)]

    def _store(self, stage: Affine) -> list[ir.Statement]:
        return [s for c in self._copies for s in c.store(stage)]

    # -- k-points --------------------------------------------------------------------------

    def _points(self, number: Numbers, stage: Affine) -> list[ir.Statement]:
        """All points of one k-tile: fragments, then multiply-adds over the micro-tile."""
        state = self._state
        scopes = [Scope(s.point, const(0), const(s.tile)) for s in self._steps]
        with state.points.known(*scopes):
            body: list[ir.Statement] = []
            fragments: dict[Operand, tuple[ir.Buffer, tuple[Affine, ...]]] = {}
            for operand in self._chain.operands:
                register, index, load = self._fragment(operand, number, stage)
                fragments[operand] = (register, index)
                body += [ir.Declare(register), *load]
            for update in self._chain.updates:
                body += self._update(update.statement, number, fragments)
            guards = [s.dim.high - 1 - self._value(s, number) for s in self._steps if s.ragged]
            if guards and not self._vanishes():
                wanted = state.points.unproved([state.context.size(g) for g in guards])
                body = [ir.If(tuple(wanted), tuple(body))] if wanted else body
        for step in reversed(self._steps):
            body = [ir.For(step.point, const(0), const(step.tile), 1, True, tuple(body))]
        return body

    def _update(
        self,
        name: str,
        number: Numbers,
        fragments: Mapping[Operand, tuple[ir.Buffer, tuple[Affine, ...]]],
    ) -> list[ir.Statement]:
        state = self._state
        statement = state.context.statements[name].statement
        update = next(u for u in self._chain.updates if u.statement == name)
        by_read = {o.read: fragments[o] for o in self._chain.operands}
        point = {i: self._at(a, number) for i, a in update.iterators.items()}

        def read(node: tir.Read, index: tuple[Affine | ir.Expression, ...]) -> ir.Expression:
            key = next((o for o in self._chain.operands if o.read is node or o.read == node), None)
            if key is None:
                raise AssertionError(f"no fragment for {node.tensor}")
            buffer, at = by_read[key.read]
            return ir.Load(buffer, at)

        register = state.registers[statement.target]
        index = state.points.register_index
        value = Values(state.context, point, read).value(statement.value)
        total = combine(statement.operator, ir.Load(register, index), value)
        body: tuple[ir.Statement, ...] = (ir.Store(register, index, total),)
        for digit in reversed(state.frame.digits):
            body = _over(digit, body)
        return list(body)

    # -- operands --------------------------------------------------------------------------

    def _is_shared(self, operand: Operand) -> bool:
        return self._state.plan.stage(operand.tensor) is Staging.SHARED

    def _fragment(
        self, operand: Operand, number: Numbers, stage: Affine
    ) -> tuple[ir.Buffer, tuple[Affine, ...], list[ir.Statement]]:
        """A register array for the elements one thread needs at one k-point, and its load."""
        state = self._state
        digits = [
            d for d in state.frame.digits if d.register_extent > 1 and operand.uses(d.dim.name)
        ]
        shape = tuple(const(d.register_extent) for d in digits)
        buffer = state.buffer(operand.tensor)
        register = ir.Buffer(
            state.names.fresh(f"{operand.tensor.lower()}_"), ir.Space.PRIVATE, buffer.type, shape
        )
        index = tuple(d.register_index for d in digits)
        tile = self._shared.get(operand)
        if tile is None:
            source, place = buffer, tuple(self._at(f, number) for f in operand.forms)
            conditions = self._inside(operand, place, number)
        else:
            source, place = tile.shared, tile.place(stage, self._local(operand, tile))
            conditions = []
        load = self._fragment_load(register, index, source, place, digits, conditions)
        return register, index, load

    def _fragment_load(
        self,
        register: ir.Buffer,
        index: tuple[Affine, ...],
        source: ir.Buffer,
        place: tuple[Affine, ...],
        digits: list[Digits],
        conditions: list[Affine],
    ) -> list[ir.Statement]:
        digit, width = _vector_digit(source, place, digits, conditions)
        if digit is None or digit.inner is None:
            move: ir.Statement = ir.Store(register, index, ir.Load(source, place))
        else:
            move = ir.VectorMove(register, index, source, place, width)
        wanted = self._state.points.unproved(conditions)
        if wanted:
            zeros = self._zeros(register, index, digit, width)
            body: tuple[ir.Statement, ...] = (ir.If(tuple(wanted), (move,), zeros),)
        else:
            body = (move,)
        for each in reversed(digits):
            body = _over(each, body, step=width if each is digit else 1)
        return list(body)

    def _zeros(
        self, register: ir.Buffer, index: tuple[Affine, ...], digit: Digits | None, width: int
    ) -> tuple[ir.Statement, ...]:
        zero = ir.Const(0, register.type)
        if digit is None or digit.inner is None:
            return (ir.Store(register, index, zero),)
        return tuple(
            ir.Store(
                register,
                tuple(i.substitute({digit.inner: var(digit.inner) + k}) for i in index),
                zero,
            )
            for k in range(width)
        )

    def _inside(self, operand: Operand, place: tuple[Affine, ...], number: Numbers) -> list[Affine]:
        """Conditions for a read straight from memory at a padded point."""
        shape = self._state.buffer(operand.tensor).shape
        conditions: list[Affine] = []
        for at, extent in zip(place, shape, strict=True):
            conditions += [at, extent - 1 - at]
        for step in self._steps:
            if step.ragged and operand.uses(step.dim.name):
                limit = step.dim.high - 1 - self._value(step, number)
                conditions.append(self._state.context.size(limit))
        return conditions

    def _tile(self, operand: Operand) -> Tile:
        """The shared tile of an operand; operands of one tensor at one offset share it."""
        state = self._state
        source = state.buffer(operand.tensor)
        intervals = box(operand.forms, self._spans)
        extents = tuple(high - low + 1 for low, high in intervals)
        lows = tuple(low for low, _ in intervals)
        order = self._layout(operand, source, extents)
        rows = self._rows(source, extents, order)
        stages = self._stages
        shared = self._shared_buffer(operand, source, rows, stages)

        def origin(number: Numbers) -> tuple[Affine, ...]:
            return tuple(
                self._origin(f, number) + low for f, low in zip(operand.forms, lows, strict=True)
            )

        def limits(number: Numbers, position: tuple[Affine, ...]) -> list[Affine]:
            return self._tail_limits(operand, number, position, lows)

        probe = tuple(
            var(f"number {k}") if s in self._moving else const(0) for k, s in enumerate(self._steps)
        )
        return Tile(
            operand.tensor, source, shared, extents, order, rows, stages, probe, origin, limits
        )

    def _layout(
        self, operand: Operand, source: ir.Buffer, extents: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Tensor dimensions, slowest first: the one a thread reads in vectors comes last."""
        count = len(extents)
        inner = {d.dim.name: d for d in self._state.frame.digits if d.inner is not None}
        for dim in reversed(range(count)):
            vectors = [
                n
                for n in inner
                if operand.forms[dim].coefficient(n) == 1
                and not any(f.coefficient(n) for k, f in enumerate(operand.forms) if k != dim)
            ]
            if vectors:
                return (*(k for k in range(count) if k != dim), dim)
        return tuple(range(count))

    def _rows(
        self, source: ir.Buffer, extents: tuple[int, ...], order: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Row lengths of the shared array, the last one padded."""
        rows = [extents[d] for d in order]
        transposed = order[-1] != len(extents) - 1
        rows[-1] = choose_padding(rows[-1], transposed=transposed, unit=widths(source.type))
        return tuple(rows)

    def _shared_buffer(
        self, operand: Operand, source: ir.Buffer, rows: tuple[int, ...], stages: int
    ) -> ir.Buffer:
        total = prod(rows)
        shape = (const(stages), const(total)) if stages > 1 else (const(total),)
        name = self._state.names.fresh(f"shared_{operand.tensor}")
        return ir.Buffer(name, ir.Space.SHARED, source.type, shape)

    def _tail_limits(
        self,
        operand: Operand,
        number: Numbers,
        position: tuple[Affine, ...],
        lows: tuple[int, ...],
    ) -> list[Affine]:
        """For ragged reductions: the reduction index of a position stays in its range."""
        found: list[Affine] = []
        for step in self._steps:
            dim = _plain_dimension(operand, step.dim.name, self._spans) if step.ragged else None
            if dim is not None:
                first = self._start(step, number) + lows[dim]
                found.append(self._state.context.size(step.dim.high - 1 - first) - position[dim])
        return found

    def _vanishes(self) -> bool:
        """Whether a padded reduction point adds zero: sums of products of zero-filled operands."""
        ragged = [s.dim.name for s in self._steps if s.ragged]
        for update in self._chain.updates:
            statement = self._state.context.statements[update.statement].statement
            if statement.operator != "+" or not _is_product(statement.value):
                return False
        return all(
            _plain_dimension(o, name, self._spans) is not None
            for o in self._chain.operands
            for name in ragged
        )

    # -- values ----------------------------------------------------------------------------

    def _step(self, dim: Dim, tile: int) -> _Step:
        tiles = ceil_div(self._state.context.size(dim.extent), tile)
        ragged = not divides(tile, dim.extent)
        return _Step(dim, tile, tiles, self._state.names.fresh(dim.name), ragged)

    def _thread(self) -> Affine:
        """Linear thread number inside the block."""
        total, below = const(0), 1
        for axis, extent in enumerate(self._state.plan.block):
            source = f"threadIdx.{'xyz'[axis]}"
            alias = next((n for n, s in self._state.frame.aliases if s == source), None)
            if alias is not None:
                total = total + var(alias) * below
            below *= extent
        return total

    def _start(self, step: _Step, number: Numbers) -> Affine:
        return step.dim.low + number[self._steps.index(step)] * step.tile

    def _value(self, step: _Step, number: Numbers) -> Affine:
        return self._start(step, number) + var(step.point)

    def _at(self, form: Affine, number: Numbers) -> Affine:
        """A form over the nest's dimensions at the current point."""
        values = {s.dim.name: self._value(s, number) for s in self._steps}
        return self._state.points.at(form.substitute(values))

    def _origin(self, form: Affine, number: Numbers) -> Affine:
        """A form at the first point of the block's tile and of a k-tile."""
        values = {s.dim.name: self._start(s, number) for s in self._steps}
        values |= {
            d.dim.name: d.dim.low + d.tile_var * d.plan.tile for d in self._state.frame.digits
        }
        return self._state.context.size(form.substitute(values))

    def _local(self, operand: Operand, tile: Tile) -> tuple[Affine, ...]:
        """Position of the current point inside the shared box."""
        locals_ = {d.dim.name: d.local for d in self._state.frame.digits}
        locals_ |= {s.dim.name: var(s.point) for s in self._steps}
        intervals = box(operand.forms, self._spans)
        result: list[Affine] = []
        for form, (low, _) in zip(operand.forms, intervals, strict=True):
            position = const(-low)
            for dim, local in locals_.items():
                position = position + local * form.coefficient(dim)
            result.append(position)
        return tuple(result)


def _over(
    digit: Digits, body: tuple[ir.Statement, ...], *, step: int = 1
) -> tuple[ir.Statement, ...]:
    """Loops over the register digits of one dimension; the inner one in vectors of `step`."""
    if digit.inner is not None:
        body = (ir.For(digit.inner, const(0), const(digit.plan.inner), step, True, body),)
    if digit.outer is not None:
        body = (ir.For(digit.outer, const(0), const(digit.plan.outer), 1, True, body),)
    return body


def _vector_digit(
    source: ir.Buffer,
    place: tuple[Affine, ...],
    digits: list[Digits],
    conditions: list[Affine],
) -> tuple[Digits | None, int]:
    """The last register digit that moves the last subscript by one, and the vector width."""
    for digit in reversed(digits):
        if digit is not digits[-1] or digit.inner is None or not place:
            continue
        name = digit.inner
        rest = place[-1].without((name,))
        moves = place[-1].coefficient(name) == 1 and name not in rest.variables
        alone = not any(name in p.variables for p in place[:-1])
        if not moves or not alone:
            continue
        for width in widths(source.type):
            even = digit.plan.inner % width == 0 and divides(width, rest)
            rows = len(place) < 2 or divides(width, source.shape[-1])
            uniform = all(
                divides(width, c.without((name,)) + (1 if c.coefficient(name) < 0 else 0))
                for c in conditions
                if name in c.variables
            )
            if even and rows and uniform:
                return digit, width
    return None, 1


def _plain_dimension(operand: Operand, name: str, spans: Mapping[str, int]) -> int | None:
    """The tensor dimension whose subscript is the reduction index alone (plus a constant)."""
    for dim, form in enumerate(operand.forms):
        others = [n for n in spans if n != name and form.coefficient(n)]
        if form.coefficient(name) == 1 and not others:
            return dim
    return None


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
