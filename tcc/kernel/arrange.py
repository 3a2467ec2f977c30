"""The arrangement of an operand's box in shared memory, from who stores to it and who reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

from tcc.affine import const
from tcc.kernel.bank import Access, Arrangement, Place, arrange, in_warps
from tcc.kernel.copy_shape import CopyShape, copy_shape, crossed
from tcc.kernel.state import State
from tcc.kernel.steps import Steps
from tcc.kernel.tile_box import Tile, merged
from tcc.kernel.vector import widths
from tcc.sched.budget import may_pad
from tcc.sched.plan import DimPlan, LoopPlan
from tcc.sched.reuse import Operand, box


def arranged(state: State, steps: Steps, operand: Operand, tile: Tile) -> Tile:
    """The tile with rows and gaps that keep lanes in different banks, and room for them.

    Requires: the rows of `tile` have no padding.
    """
    if not tile.rows:
        return _with(tile, Arrangement(1))
    *outer, columns = tile.rows
    unit = max(widths(tile.source.type), default=1)
    plain = replace(tile, rows=(*outer, -(-columns // unit) * unit))
    if not may_pad(operand, tile.order, state.plan):
        return _with(plain, Arrangement(plain.rows[-1]))
    return _Boxes(state, steps, operand, plain, unit).best()


class _Boxes:
    """The arrangements of one tile. A copy whose rows are those of the tensor has no conflicts."""

    def __init__(self, state: State, steps: Steps, operand: Operand, tile: Tile, unit: int) -> None:
        self._tile = tile
        self._size = tile.source.type.bytes
        self._unit = unit
        self._plan = state.plan
        self._straight = tile.order[-1] == len(tile.extents) - 1
        self._whole = tile if self._straight else merged(tile)
        self._copy = copy_shape(state, self._whole, prod(self._plan.block))
        folds = _folds(steps, operand, tile) and not self._straight
        self._group = self._copy.width if folds else 1
        self._reads = self._loads(steps, operand)

    def best(self) -> Tile:
        """The arrangement and the walk of the copy with the fewest conflicts."""
        plain, conflicts = self._arranged(self._copy)
        across = None if self._straight else self._whole.order[-1]
        other = None if across is None else crossed(self._copy, across, self._size)
        if not conflicts or other is None:
            return plain
        found, fewer = self._arranged(other)
        return replace(found, crossed=True) if fewer < conflicts else plain

    def _arranged(self, copy: CopyShape) -> tuple[Tile, int]:
        """The best arrangement for one way to copy, and the passes that conflicts add."""
        accesses = (self._reads,) if self._straight else (self._stores(copy), self._reads)
        *outer, columns = self._tile.rows
        at = arrange(prod(outer), columns, self._unit, self._size, self._group, accesses)
        conflicts = sum(a.passes(at, self._size) - a.least(self._size) for a in accesses)
        return _with(self._tile, at), conflicts

    def _stores(self, copy: CopyShape) -> Access:
        """The first round of a copy: the elements of a vector go one by one."""
        active = range(min(copy.used, copy.vectors))
        places = [_place(self._whole, copy.position(n)) for n in active]
        return self._access(places, 1, copy.rounds * copy.width)

    def _loads(self, steps: Steps, operand: Operand) -> Access:
        """The first fragment that the threads read, at the first point of a k-tile."""
        tile, plan = self._tile, self._plan
        first = _place(tile, tuple(-low for low, _ in box(operand.forms, steps.spans)))
        axes = [self._axis(axis, operand) for axis in (2, 1, 0)]
        places = [
            (first[0] + a + b + c, first[1] + d + e + f)
            for (a, d), (b, e), (c, f) in product(*axes)
        ]
        mine = [d for d in plan.dims if operand.uses(d.dim)]
        width = self._width(steps, operand)
        points = prod(s.points for s in steps.all) * prod(d.registers for d in mine)
        return self._access(places, width, max(1, points // width))

    def _width(self, steps: Steps, operand: Operand) -> int:
        """Elements that a thread reads at once: of an inner digit, or of points one by one.

        Compilers make vectors of the latter.
        """
        form = operand.forms[self._tile.order[-1]]
        walks = [d.inner for d in self._plan.dims if form.coefficient(d.dim) == 1 and d.inner > 1]
        walks += [s.points for s in steps.all if form.coefficient(s.dim.name) == 1 and s.unroll]
        along = walks[0] if walks else 1
        return next((w for w in widths(self._tile.source.type) if along % w == 0), 1)

    def _axis(self, axis: int, operand: Operand) -> list[Place]:
        """How far each thread number of an axis is from the first."""
        every: tuple[DimPlan | LoopPlan, ...] = (*self._plan.dims, *self._plan.loops)
        steps: list[list[Place]] = []
        for part in (p for p in every if p.thread_axis == axis):
            inner = part.inner if isinstance(part, DimPlan) else 1
            row, column = _place(self._tile, tuple(f.coefficient(part.dim) for f in operand.forms))
            steps.append([(n * inner * row, n * inner * column) for n in range(part.threads)])
        return [(sum(r for r, _ in way), sum(c for _, c in way)) for way in product(*steps)]

    def _access(self, places: Sequence[Place], width: int, times: int) -> Access:
        return Access(in_warps(places, self._group, self._unit), width, times)


def _with(tile: Tile, at: Arrangement) -> Tile:
    *outer, _ = tile.rows or (1,)
    total = const(at.elements(prod(outer)))
    shape = (const(tile.stages), total) if tile.stages > 1 else (total,)
    rows = (*outer, at.pitch) if tile.rows else ()
    shared = replace(tile.shared, shape=shape)
    return replace(tile, shared=shared, rows=rows, group=at.group, gap=at.gap)


def _place(tile: Tile, position: tuple[int, ...]) -> Place:
    """Row and column of a position, or of a step between two."""
    row = 0
    for dim, extent in zip(tile.order[:-1], tile.rows[:-1], strict=True):
        row = row * extent + position[dim]
    return row, position[tile.order[-1]]


def _folds(steps: Steps, operand: Operand, tile: Tile) -> bool:
    """Whether a thread's row is a constant for each point, but for what no loop changes.

    Then no quotient of it is computed in a loop.
    """
    rows = [operand.forms[d] for d in tile.order[:-1]]
    rolled = (s.dim.name for s in steps.all if not s.unroll and s.points > 1)
    return not any(f.coefficient(n) for f in rows for n in rolled)
