"""Copies of a box of global memory to shared memory, by all threads of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tcc.affine import Affine, const, var
from tcc.kernel import ir
from tcc.kernel.prove import Scope
from tcc.kernel.state import State
from tcc.kernel.vector import divides, rows_aligned
from tcc.scalar import ScalarType

REGISTER_STAGES = 2
"""Up to two stages go through registers, more by asynchronous copies."""

ASYNC_BYTES = (4, 8, 16)
"""What one asynchronous copy can move."""

Numbers: TypeAlias = tuple[Affine, ...]
"""The k-tile number of every reduction loop of a chain."""


@dataclass(frozen=True)
class Tile:
    """A box of a tensor in shared memory.

    `origin` maps the k-tile numbers of the reduction loops to the storage subscripts of the first
    element; `limits` are further conditions (`>= 0`) on a position, for the tail of a reduction.
    `probe` has a variable for every k-tile number that moves and 0 elsewhere. `order` lists the tensor dimensions, slowest first, as
    they are laid out, in rows of `rows` elements; `stages` copies exist.
    """

    tensor: str
    source: ir.Buffer
    shared: ir.Buffer
    extents: tuple[int, ...]
    order: tuple[int, ...]
    rows: tuple[int, ...]
    stages: int
    probe: Numbers
    origin: Callable[[Numbers], tuple[Affine, ...]]
    limits: Callable[[Numbers, tuple[Affine, ...]], list[Affine]]

    def place(self, stage: Affine, position: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """Subscripts of the shared array for a position inside the box."""
        offset = self.offset(position)
        return (stage, offset) if self.stages > 1 else (offset,)

    def offset(self, position: tuple[Affine, ...]) -> Affine:
        """Element number of a position inside one stage."""
        total = const(0)
        for dim, row in zip(self.order, self.rows, strict=True):
            total = total * row + position[dim]
        return total

    @property
    def elements(self) -> int:
        """Number of elements of the box."""
        total = 1
        for extent in self.extents:
            total *= extent
        return total


def merged(tile: Tile) -> Tile:
    """The tile with neighbouring dimensions as one where it covers whole rows of the tensor.

    Longer rows mean wider loads and fewer divisions. Dimensions stay apart where the shared
    layout separates or pads them.
    """
    for dim in range(len(tile.extents) - 1, 0, -1):
        place = tile.order.index(dim)
        whole = tile.source.shape[dim] == const(tile.extents[dim])
        neighbours = place > 0 and tile.order[place - 1] == dim - 1
        start = tile.origin(tile.probe)[dim] == const(0)
        if whole and neighbours and start and tile.rows[place] == tile.extents[dim]:
            return merged(_merge(tile, dim))
    return tile


def _merge(tile: Tile, dim: int) -> Tile:
    """Dimension `dim` joined to the one before it."""
    extent = tile.extents[dim]
    place = tile.order.index(dim)
    rows = [*tile.rows[: place - 1], tile.rows[place - 1] * extent, *tile.rows[place + 1 :]]
    shape = tile.source.shape
    source = replace(
        tile.source, shape=(*shape[: dim - 1], shape[dim - 1] * extent, *shape[dim + 1 :])
    )

    def origin(numbers: Numbers) -> tuple[Affine, ...]:
        at = tile.origin(numbers)
        return (*at[: dim - 1], at[dim - 1] * extent, *at[dim + 1 :])

    def limits(numbers: Numbers, position: tuple[Affine, ...]) -> list[Affine]:
        outer, inner = position[dim - 1] // extent, position[dim - 1] % extent
        return tile.limits(numbers, (*position[: dim - 1], outer, inner, *position[dim:]))

    return replace(
        tile,
        source=source,
        extents=(
            *tile.extents[: dim - 1],
            tile.extents[dim - 1] * extent,
            *tile.extents[dim + 1 :],
        ),
        order=tuple(d - (d >= dim) for d in tile.order if d != dim),
        rows=tuple(rows),
        origin=origin,
        limits=limits,
    )


class TileCopy:
    """The two halves of a copy: global memory to registers, registers to shared memory.

    Where the threads do not walk whole rows, the places of a thread's elements are computed once,
    before the k-tiles: divisions by row lengths cost more than the copy.
    """

    def __init__(self, state: State, tile: Tile, thread: Affine, threads: int) -> None:
        self._state = state
        self._tile = tile
        self._thread = thread
        self._threads = threads
        self.width = self._width()
        self._vectors = tile.elements // self.width
        self._rounds = -(-self._vectors // threads)
        names = state.names
        self._round = names.fresh("r")
        rounds = const(self._rounds)
        shape = (rounds, const(self.width)) if self.width > 1 else (rounds,)
        name = names.fresh(f"next_{tile.tensor}")
        self.register = ir.Buffer(name, ir.Space.PRIVATE, tile.source.type, shape)
        inner = tile.elements // tile.extents[0] // self.width
        self._rolled = state.plan.rolled_copies and tile.stages == 1
        irregular = threads % max(1, inner) != 0 and not tile.source.wide
        self._hoisted = irregular and not self._rolled
        self._source = self._ints("source", rounds)
        self._target = self._ints("target", rounds)
        inside = names.fresh(f"inside_{tile.tensor}")
        self._inside = ir.Buffer(inside, ir.Space.PRIVATE, ScalarType.BOOL, (rounds,))
        self._tested = self._hoisted and bool(self._fixed_conditions())

    def prologue(self) -> list[ir.Statement]:
        """Declarations, and what does not change from k-tile to k-tile."""
        staged = self._tile.stages <= REGISTER_STAGES and not self._rolled
        result: list[ir.Statement] = [ir.Declare(self.register)] if staged else []
        if not self._hoisted:
            return result
        position, here = self._position(), (var(self._round),)
        source = ir.Int(_flat(position, self._tile.source.shape))
        body: list[ir.Statement] = [
            ir.Store(self._source, here, source),
            ir.Store(self._target, here, ir.Int(self._tile.offset(position))),
        ]
        result += [ir.Declare(self._source), ir.Declare(self._target)]
        if self._tested:
            result.append(ir.Declare(self._inside))
            body.append(ir.Store(self._inside, here, all_of(self._fixed_conditions())))
        return [*result, self._every_round(body)]

    def load(self, number: Numbers) -> list[ir.Statement]:
        """Fetch this thread's part of a k-tile into registers; zero outside the tensor."""
        conditions = self._conditions(number)
        tests: list[Affine | ir.Expression] = list(conditions)
        if self._hoisted:
            # The first k-tiles have constant numbers, so what moves is what is not fixed.
            fixed = self._fixed_conditions()
            tests = [c for c in conditions if c not in fixed]
            if self._tested:
                tests.insert(0, ir.Load(self._inside, (var(self._round),)))
        elif self._partial():
            tests.insert(0, self._in_box())
        fetch = self._fetch(number)
        if tests:
            # Lanes beyond the box are never stored: only real positions need a zero.
            fetch = ir.If(tuple(tests), (fetch,), self._zeros() if conditions else ())
        return [self._every_round([fetch])]

    def store(self, stage: Affine) -> list[ir.Statement]:
        """Put this thread's part into the shared array."""
        moves = self._puts(stage)
        if self._partial():
            moves = [ir.If((self._in_box(),), tuple(moves))]
        return [self._every_round(moves)]

    def copy(self, number: Numbers) -> list[ir.Statement]:
        """Copy this thread's part straight to the only shared array, in a loop."""
        conditions = self._conditions(number)
        body = [_plain(c) for c in self._copies(number, const(0))]
        if conditions:
            body = [ir.If(tuple(conditions), tuple(body), self._shared_zeros(const(0)))]
        if self._partial():
            body = [ir.If((self._in_box(),), tuple(body))]
        return [self._every_round(body)]

    def fetch_async(self, number: Numbers, stage: Affine) -> list[ir.Statement]:
        """Copy this thread's part straight to the shared array, without waiting for it."""
        conditions = self._conditions(number)
        tests: list[Affine | ir.Expression] = list(conditions)
        copies = self._copies(number, stage)
        size = copies[0].width * self._tile.source.type.bytes
        body: list[ir.Statement] = [*copies]
        if size not in ASYNC_BYTES:
            # The barrier of every k-tile makes plain stores visible as well.
            body = [_plain(c) for c in copies]
        if tests:
            zeros = self._shared_zeros(stage) if conditions else ()
            body = [ir.If(tuple(tests), tuple(body), zeros)]
        if self._partial():
            body = [ir.If((self._in_box(),), tuple(body))]
        return [self._every_round(body)]

    # -- one round -------------------------------------------------------------------------

    def _fetch(self, number: Numbers) -> ir.Statement:
        source, index = self._source_at(number, 0)
        if self.width == 1:
            return ir.Store(self.register, self._lane(0), ir.Load(source, index))
        return ir.VectorMove(self.register, self._lane(0), source, index, self.width)

    def _puts(self, stage: Affine) -> list[ir.Statement]:
        tile, position = self._tile, self._position()
        last = len(tile.extents) - 1
        straight = tile.order[-1] == last
        if self.width > 1 and straight:
            place = self._place(stage, position, 0)
            return [ir.VectorMove(tile.shared, place, self.register, self._lane(0), self.width)]
        return [
            ir.Store(
                tile.shared,
                self._place(stage, position, lane),
                ir.Load(self.register, self._lane(lane)),
            )
            for lane in range(self.width)
        ]

    def _copies(self, number: Numbers, stage: Affine) -> list[ir.AsyncCopy]:
        """One copy of the whole vector, or of each lane where the layout transposes."""
        tile, position = self._tile, self._position()
        last = len(tile.extents) - 1
        whole = tile.order[-1] == last
        lanes = (0,) if whole else range(self.width)
        return [
            ir.AsyncCopy(
                tile.shared,
                self._place(stage, position, lane),
                *self._source_at(number, lane),
                self.width if whole else 1,
            )
            for lane in lanes
        ]

    def _source_at(
        self, number: Numbers, lane: int
    ) -> tuple[ir.Buffer, tuple[Affine | ir.Expression, ...]]:
        """Where one lane of this thread's vector is in global memory."""
        tile, origin = self._tile, self._tile.origin(number)
        if not self._hoisted:
            *outer, last = (o + p for o, p in zip(origin, self._position(), strict=True))
            return tile.source, (*outer, last + lane)
        flat = replace(tile.source, shape=(const(1),))
        base = ir.Int(_flat(origin, tile.source.shape) + lane)
        step = ir.Load(self._source, (var(self._round),))
        return flat, (ir.Binary("+", base, step, ScalarType.INT32),)

    def _shared_zeros(self, stage: Affine) -> tuple[ir.Statement, ...]:
        zero = ir.Const(0, self._tile.shared.type)
        return tuple(
            ir.Store(self._tile.shared, self._place(stage, self._position(), lane), zero)
            for lane in range(self.width)
        )

    def _place(
        self, stage: Affine, position: tuple[Affine, ...], lane: int
    ) -> tuple[Affine | ir.Expression, ...]:
        """Subscripts of the shared array for one lane of this thread's vector."""
        last = len(self._tile.extents) - 1
        moved = (*position[:last], position[last] + lane)
        if not self._hoisted:
            return self._tile.place(stage, moved)
        step = self._tile.offset(moved) - self._tile.offset(position)
        base = ir.Load(self._target, (var(self._round),))
        offset: ir.Expression = base
        if step != const(0):
            offset = ir.Binary("+", base, ir.Int(step), ScalarType.INT32)
        return (stage, offset) if self._tile.stages > 1 else (offset,)

    def _lane(self, lane: int) -> tuple[Affine, ...]:
        return (var(self._round), const(lane)) if self.width > 1 else (var(self._round),)

    def _zeros(self) -> tuple[ir.Statement, ...]:
        zero = ir.Const(0, self.register.type)
        return tuple(ir.Store(self.register, self._lane(lane), zero) for lane in range(self.width))

    def _every_round(self, body: list[ir.Statement]) -> ir.Statement:
        unroll = not self._rolled
        return ir.For(self._round, const(0), const(self._rounds), 1, unroll, tuple(body))

    # -- positions and conditions ----------------------------------------------------------

    def _partial(self) -> bool:
        return self._rounds * self._threads > self._vectors

    def _in_box(self) -> Affine:
        return const(self._vectors - 1) - self._linear()

    def _linear(self) -> Affine:
        return self._thread + var(self._round) * self._threads

    def _coordinates(self) -> tuple[Affine, ...]:
        """Position inside the box, the last dimension in vectors."""
        extents = [*self._tile.extents]
        extents[-1] //= self.width
        left = self._linear()
        found: list[Affine] = []
        for number, extent in enumerate(reversed(extents)):
            found.append(left if number == len(extents) - 1 else left % extent)
            left = left // extent
        return tuple(reversed(found))

    def _position(self) -> tuple[Affine, ...]:
        """Position inside the box, in elements."""
        *outer, last = self._coordinates()
        return (*outer, last * self.width)

    def _conditions(self, number: Numbers) -> list[Affine]:
        """What keeps a position inside the tensor and the reduction, unless it always does.

        Proved for free coordinates of the box, since interval arithmetic does not see that the
        quotients and remainders of a thread number stay inside.
        """
        tile = self._tile
        free = [f"coordinate {d}" for d in range(len(tile.extents))]
        steps = [1] * (len(free) - 1) + [self.width]
        scopes = [
            Scope(name, const(0), const(extent // step))
            for name, extent, step in zip(free, tile.extents, steps, strict=True)
        ]
        inside = tuple(var(name) * step for name, step in zip(free, steps, strict=True))
        index = tuple(o + p for o, p in zip(tile.origin(number), inside, strict=True))
        conditions = tile.limits(number, inside)
        for at, extent in zip(index, tile.source.shape, strict=True):
            conditions += [at, extent - 1 - at]
        wanted = self._state.points.unproved_in(conditions, scopes)
        values = dict(zip(free, self._coordinates(), strict=True))
        return [c.substitute(values) for c in wanted]

    def _fixed_conditions(self) -> list[Affine]:
        """The conditions that no k-tile number takes part in, with the box's own end."""
        probe = self._tile.probe
        moving = {n for p in probe for n in p.variables}
        fixed = [c for c in self._conditions(probe) if not c.variables & moving]
        return [self._in_box(), *fixed] if self._partial() else fixed

    def _width(self) -> int:
        tile = self._tile
        probe = tile.probe
        origin = tile.origin(probe)
        if not tile.extents:
            return 1
        for width in self._state.widths(tile.source.type):
            aligned = divides(width, origin[-1]) and tile.extents[-1] % width == 0
            whole = rows_aligned(width, tile.source.shape) and divides(width, tile.source.shape[-1])
            limits = tile.limits(probe, tuple(const(0) for _ in tile.extents))
            even = all(divides(width, limit + 1) for limit in limits)
            even = even and tile.rows[-1] % width == 0
            if aligned and whole and even:
                return width
        return 1

    def _ints(self, wanted: str, rounds: Affine) -> ir.Buffer:
        name = self._state.names.fresh(f"{wanted}_{self._tile.tensor}")
        return ir.Buffer(name, ir.Space.PRIVATE, ScalarType.INT32, (rounds,))


def _flat(index: Sequence[Affine], shape: Sequence[Affine]) -> Affine:
    """The row-major offset of an index."""
    total = const(0)
    for at, extent in zip(index, shape, strict=True):
        total = total * extent + at
    return total


def all_of(conditions: list[Affine]) -> ir.Expression:
    """Whether every condition is `>= 0`."""
    tests = [
        ir.Binary(">=", ir.Int(c), ir.Const(0, ScalarType.INT32), ScalarType.BOOL)
        for c in conditions
    ]
    result: ir.Expression = tests[0]
    for test in tests[1:]:
        result = ir.Binary("&&", result, test, ScalarType.BOOL)
    return result


def _plain(copy: ir.AsyncCopy) -> ir.Statement:
    """The same copy through a register."""
    if copy.width == 1:
        load = ir.Load(copy.source, copy.source_index)
        return ir.Store(copy.target, copy.target_index, load)
    return ir.VectorMove(copy.target, copy.target_index, copy.source, copy.source_index, copy.width)
