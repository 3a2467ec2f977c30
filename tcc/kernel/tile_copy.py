"""Copies of a box of global memory to shared memory, by all threads of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tcc.affine import Affine, const, var
from tcc.kernel import ir
from tcc.kernel.prove import Scope
from tcc.kernel.state import State
from tcc.kernel.vector import divides, rows_aligned, widths


Numbers: TypeAlias = tuple[Affine, ...]
"""The k-tile number of every reduction loop of a chain."""


@dataclass(frozen=True)
class Tile:
    """A box of a tensor in shared memory.

    `origin` maps the k-tile numbers of the reduction loops to the storage subscripts of the first
    element; `limits` are further conditions (`>= 0`) on a position, for the tail of a reduction.
    `rank` is the number of reduction loops. `order` lists the
    tensor dimensions, slowest first, as they are laid out; `stages` copies exist.
    """

    tensor: str
    source: ir.Buffer
    shared: ir.Buffer
    extents: tuple[int, ...]
    order: tuple[int, ...]
    stages: int
    rank: int
    origin: Callable[[Numbers], tuple[Affine, ...]]
    limits: Callable[[Numbers, tuple[Affine, ...]], list[Affine]]

    def place(self, stage: Affine, position: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """Subscripts of the shared array for a position inside the box."""
        inner = tuple(position[d] for d in self.order)
        return (stage, *inner) if self.stages > 1 else inner

    @property
    def elements(self) -> int:
        """Number of elements of the box."""
        total = 1
        for extent in self.extents:
            total *= extent
        return total


class TileCopy:
    """The two halves of a copy: global memory to registers, registers to shared memory."""

    def __init__(self, state: State, tile: Tile, thread: Affine, threads: int) -> None:
        self._state = state
        self._tile = tile
        self._thread = thread
        self._threads = threads
        self.width = self._width()
        self._vectors = tile.elements // self.width
        self._rounds = -(-self._vectors // threads)
        name = state.names.fresh(f"next_{tile.tensor}")
        shape = (const(self._rounds), const(self.width)) if self.width > 1 else (const(self._rounds),)
        self.register = ir.Buffer(name, ir.Space.PRIVATE, tile.source.type, shape)
        self._round = state.names.fresh("r")

    def load(self, number: Numbers) -> list[ir.Statement]:
        """Fetch this thread's part of a k-tile into registers; zero outside the tensor."""
        tile, width = self._tile, self.width
        position = self._position()
        index = tuple(o + p for o, p in zip(tile.origin(number), position, strict=True))
        here = (var(self._round), const(0)) if width > 1 else (var(self._round),)
        if width > 1:
            fetch: ir.Statement = ir.VectorMove(self.register, here, tile.source, index, width)
        else:
            fetch = ir.Store(self.register, here, ir.Load(tile.source, index))
        wanted = self._conditions(number, position)
        if wanted:
            return self._all_rounds([ir.If(tuple(wanted), (fetch,), self._zeros(here))])
        return self._all_rounds([fetch])

    def store(self, stage: Affine) -> list[ir.Statement]:
        """Put this thread's part into the shared array."""
        tile, width = self._tile, self.width
        position = self._position()
        last = len(tile.extents) - 1
        if width > 1 and tile.order[-1] == last:
            move = ir.VectorMove(
                tile.shared, tile.place(stage, position), self.register, (var(self._round), const(0)), width
            )
            return self._all_rounds([move])
        moves: list[ir.Statement] = []
        for lane in range(width):
            moved = (*position[:last], position[last] + lane)
            here = (var(self._round), const(lane)) if width > 1 else (var(self._round),)
            moves.append(
                ir.Store(tile.shared, tile.place(stage, moved), ir.Load(self.register, here))
            )
        return self._all_rounds(moves)

    def _zeros(self, here: tuple[Affine, ...]) -> tuple[ir.Statement, ...]:
        zero = ir.Const(0, self.register.type)
        if self.width == 1:
            return (ir.Store(self.register, here, zero),)
        return tuple(
            ir.Store(self.register, (here[0], const(lane)), zero) for lane in range(self.width)
        )

    def _all_rounds(self, body: list[ir.Statement]) -> list[ir.Statement]:
        if self._rounds * self._threads > self._vectors:
            bound = const(self._vectors - 1) - self._linear()
            body = [ir.If((bound,), tuple(body))]
        return [ir.For(self._round, const(0), const(self._rounds), 1, True, tuple(body))]

    def _linear(self) -> Affine:
        return self._thread + var(self._round) * self._threads

    def _position(self) -> tuple[Affine, ...]:
        """Position inside the box; the last tensor dimension fastest, in vectors."""
        extents = [*self._tile.extents]
        extents[-1] //= self.width
        left = self._linear()
        position: list[Affine] = []
        for number, extent in enumerate(reversed(extents)):
            outermost = number == len(extents) - 1
            position.append(left if outermost else left % extent)
            left = left // extent
        position[0] = position[0] * self.width
        return tuple(reversed(position))

    def _conditions(self, number: Numbers, position: tuple[Affine, ...]) -> list[Affine]:
        """What keeps a position inside the tensor and the reduction, unless it always does.

        Proved for free coordinates of the box, since interval arithmetic does not see that the
        quotients and remainders of a thread number stay inside.
        """
        free = [f"coordinate {d}" for d in range(len(position))]
        steps = [1] * (len(position) - 1) + [self.width]
        scopes = [
            Scope(name, const(0), const(extent // step))
            for name, extent, step in zip(free, self._tile.extents, steps, strict=True)
        ]
        inside = tuple(var(name) * step for name, step in zip(free, steps, strict=True))
        index = tuple(o + p for o, p in zip(self._tile.origin(number), inside, strict=True))
        conditions = self._in_tensor(index) + self._tile.limits(number, inside)
        values = dict(zip(free[:-1], position[:-1], strict=True))
        last = {free[-1]: self._linear_last()}
        wanted = self._state.points.unproved_in(conditions, scopes)
        return [c.substitute(values | last) for c in wanted]

    def _linear_last(self) -> Affine:
        """The vector number along the last dimension."""
        extents = self._tile.extents
        number = self._linear()
        return number if len(extents) == 1 else number % (extents[-1] // self.width)

    def _in_tensor(self, index: tuple[Affine, ...]) -> list[Affine]:
        """Positions are bounded by the box, so only the box's ends need a test."""
        conditions: list[Affine] = []
        for at, extent in zip(index, self._tile.source.shape, strict=True):
            conditions += [at, extent - 1 - at]
        return conditions

    def _width(self) -> int:
        tile = self._tile
        probe = tuple(var(f"number {k}") for k in range(tile.rank))
        origin = tile.origin(probe)
        for width in widths(tile.source.type):
            aligned = divides(width, origin[-1]) and tile.extents[-1] % width == 0
            whole = rows_aligned(width, tile.source.shape) and divides(width, tile.source.shape[-1])
            limits = tile.limits(probe, tuple(const(0) for _ in tile.extents))
            even = all(divides(width, limit + 1) for limit in limits)
            if aligned and whole and even:
                return width
        return 1
