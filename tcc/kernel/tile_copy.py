"""Copies of a box of global memory to shared memory, by all threads of a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tcc.affine import Affine, const, minimum, var
from tcc.kernel import ir
from tcc.kernel.copy_shape import copy_shape
from tcc.kernel.prove import Scope
from tcc.kernel.state import State
from tcc.kernel.tile_box import Numbers, Tile
from tcc.scalar import ScalarType

REGISTER_STAGES = 2
"""Up to two stages go through registers, more by asynchronous copies."""

ASYNC_BYTES = (4, 8, 16)
"""What one asynchronous copy can move."""


class TileCopy:
    """The two halves of a copy: global memory to registers, registers to shared memory.

    Positions past the end of a dimension that stays the same from k-tile to k-tile belong to points
    of the padded domain, whose results nobody keeps. They fetch the last elements of the dimension:
    that costs less than a test and a zero for each.
    Where the threads do not walk whole rows, the places of a thread's elements are computed once,
    before the k-tiles: divisions by row lengths cost more than the copy.
    """

    def __init__(self, state: State, tile: Tile, thread: Affine, threads: int) -> None:
        self._state = state
        self._tile = tile
        self._thread = thread
        self._shape = shape = copy_shape(state, tile, threads)
        self.width = shape.width
        names = state.names
        self._round = state.round
        rounds = const(shape.rounds)
        kept = (rounds, const(self.width)) if self.width > 1 else (rounds,)
        name = names.fresh(f"next_{tile.tensor}")
        self.register = ir.Buffer(name, ir.Space.PRIVATE, tile.source.type, kept)
        self._clamped = self._past_the_end()
        self._rolled = state.plan.rolled_copies and tile.stages == 1
        irregular = not shape.regular and not tile.source.wide
        self._hoisted = irregular and not self._rolled and tile.through is None
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
        start = self._tile.origin(self._tile.probe)
        steps = (at - o for at, o in zip(self._fetched(start), start, strict=True))
        source = ir.Int(_flat(tuple(steps), self._tile.source.shape))
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
        else:
            tests = [*self._in_box(), *tests]
        fetch = self._fetch(number)
        if tests:
            # Lanes beyond the box are never stored: only real positions need a zero.
            fetch = ir.If(tuple(tests), (fetch,), self._zeros() if conditions else ())
        return [self._every_round([fetch])]

    def store(self, stage: Affine) -> list[ir.Statement]:
        """Put this thread's part into the shared array."""
        return [self._every_round(self._where_in_box(self._puts(stage)))]

    def copy(self, number: Numbers) -> list[ir.Statement]:
        """Copy this thread's part straight to the only shared array, in a loop."""
        conditions = self._conditions(number)
        body = [_plain(c) for c in self._copies(number, const(0))]
        if conditions:
            body = [ir.If(tuple(conditions), tuple(body), self._shared_zeros(const(0)))]
        return [self._every_round(self._where_in_box(body))]

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
        return [self._every_round(self._where_in_box(body))]

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
            *outer, last = self._fetched(origin)
            if tile.through is not None:
                return tile.through.buffer, tile.through.place(number, (*outer, last + lane))
            return tile.source, (*outer, last + lane)
        total = const(1)
        for extent in tile.source.shape:
            total = total * extent
        flat = replace(tile.source, shape=(total,))
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
        rounds = const(self._shape.rounds)
        return ir.For(self._round, const(0), rounds, 1, unroll, tuple(body))

    # -- positions and conditions ----------------------------------------------------------

    def _in_box(self) -> list[Affine]:
        """The conditions under which a thread has an element in a round, unless all have."""
        shape = self._shape
        tests = [const(shape.used - 1) - self._thread] if shape.idle else []
        if shape.rounds * shape.used > shape.vectors:
            tests.append(const(shape.vectors - 1) - self._linear())
        return tests

    def _where_in_box(self, body: list[ir.Statement]) -> list[ir.Statement]:
        tests = self._in_box()
        return [ir.If(tuple(tests), tuple(body))] if tests else body

    def _linear(self) -> Affine:
        return self._thread + var(self._round) * self._shape.used

    def _position(self) -> tuple[Affine, ...]:
        """Position inside the box, in elements."""
        return self._shape.position(self._linear())

    def _fetched(self, origin: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """Subscripts of what is fetched for `_position` of a box.

        64-bit offsets need a row that is seen not to be negative; otherwise the start of the box
        stays outside, where fewer instructions depend on the thread.
        """
        source = self._tile.source
        steps = [1] * (len(origin) - 1) + [self.width]
        found: list[Affine] = []
        for dim, (at, step, start) in enumerate(zip(self._position(), steps, origin, strict=True)):
            last = source.shape[dim] - step
            if dim not in self._clamped:
                found.append(start + at)
            elif source.wide:
                found.append(minimum(start + at, last))
            else:
                found.append(start + minimum(at, last - start))
        return tuple(found)

    def _past_the_end(self) -> frozenset[int]:
        """The dimensions that do not move with the k-tiles and in which the box may end outside."""
        tile = self._tile
        moving = {n for p in tile.probe for n in p.variables}
        origin = tile.origin(tile.probe)
        scopes, inside = self._free()
        return frozenset(
            dim
            for dim, (start, at, extent) in enumerate(
                zip(origin, inside, tile.source.shape, strict=True)
            )
            if not start.variables & moving
            and self._state.points.unproved_in([extent - 1 - start - at], scopes)
        )

    def _free(self) -> tuple[list[Scope], tuple[Affine, ...]]:
        """A position with a variable for each dimension, the last in vectors, and their scopes."""
        names = self._free_names()
        steps = [1] * (len(names) - 1) + [self.width]
        scopes = [
            Scope(name, const(0), const(extent // step))
            for name, extent, step in zip(names, self._tile.extents, steps, strict=True)
        ]
        return scopes, tuple(var(n) * step for n, step in zip(names, steps, strict=True))

    def _free_names(self) -> list[str]:
        return [f"coordinate {d}" for d in range(len(self._tile.extents))]

    def _conditions(self, number: Numbers) -> list[Affine]:
        """What keeps a position inside the tensor and the reduction, unless it always does.

        Proved for free coordinates of the box, since interval arithmetic does not see that the
        quotients and remainders of a thread number stay inside.
        """
        tile = self._tile
        scopes, inside = self._free()
        index = tuple(o + p for o, p in zip(tile.origin(number), inside, strict=True))
        conditions = tile.limits(number, inside)
        for dim, (at, extent) in enumerate(zip(index, tile.source.shape, strict=True)):
            conditions += [at] if dim in self._clamped else [at, extent - 1 - at]
        wanted = self._state.points.unproved_in(conditions, scopes)
        *outer, last = self._position()
        coordinates = (*outer, last // self.width)
        values = dict(zip(self._free_names(), coordinates, strict=True))
        return [c.substitute(values) for c in wanted]

    def _fixed_conditions(self) -> list[Affine]:
        """The conditions that no k-tile number takes part in, with the box's own end."""
        probe = self._tile.probe
        moving = {n for p in probe for n in p.variables}
        fixed = [c for c in self._conditions(probe) if not c.variables & moving]
        return [*self._in_box(), *fixed]

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
