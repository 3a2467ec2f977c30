"""How the threads of a block walk a box that they copy together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeVar

from tcc.affine import Affine, const, var
from tcc.kernel.state import State
from tcc.kernel.tile_box import Tile
from tcc.kernel.vector import divides, rows_aligned

Number = TypeVar("Number", int, Affine)


LINE_VECTORS, LINES = 8, 4
"""What a warp copies at once where it goes across: vectors of a line of memory, and lines."""
LINE_BYTES = 128


@dataclass(frozen=True)
class CopyShape:
    """A box of `extents`, in vectors of `width` elements along its last dimension.

    In each of `rounds`, `used` threads copy one vector each, neighbours neighbouring vectors. With
    `across`, a dimension, a warp takes LINE_VECTORS vectors at LINES positions of it.
    """

    extents: tuple[int, ...]
    width: int
    threads: int
    across: int | None = None

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The extents of the digits of a vector's number, the fastest last."""
        *outer, last = self.extents
        if self.across is None:
            return (*outer, last // self.width)
        outer[self.across] //= LINES
        return (*outer, last // self.width // LINE_VECTORS, LINES, LINE_VECTORS)

    @property
    def vectors(self) -> int:
        """The number of vectors."""
        return prod(self.shape)

    @cached_property
    def idle(self) -> int:
        """Threads that are left out, so that the others step from round to round by whole rows.

        None where the copy would take more rounds for it.
        """
        inner = self._inner
        if inner > self.threads:
            return 0
        used = self.threads // inner * inner
        more = -(-self.vectors // used) > -(-self.vectors // self.threads)
        return 0 if more else self.threads - used

    @property
    def used(self) -> int:
        """Threads that copy."""
        return self.threads - self.idle

    @property
    def rounds(self) -> int:
        """Vectors of a thread."""
        return -(-self.vectors // self.used)

    @property
    def regular(self) -> bool:
        """Whether the threads walk whole rows."""
        return self.used % self._inner == 0

    def position(self, vector: Number) -> tuple[Number, ...]:
        """Position of a vector inside the box, in elements."""
        shape, walked = self.shape, self._walked
        left, found = vector, []
        for dim in reversed(range(len(shape))):
            found.append(left if dim == walked else left % shape[dim])
            left = left // shape[dim] if dim > walked else left * 0
        *outer, last = reversed(found)
        if self.across is not None:
            outer, line = outer[:-1], outer[-1]
            last = outer.pop() * LINE_VECTORS + last
            outer[self.across] = outer[self.across] * LINES + line
        return (*outer, last * self.width)

    @cached_property
    def _walked(self) -> int:
        """The outermost digit that has more than one value; the rounds walk it."""
        return next((k for k, extent in enumerate(self.shape) if extent > 1), 0)

    @property
    def _inner(self) -> int:
        """Vectors at one value of the outermost digit."""
        return prod(self.shape[self._walked + 1 :])


def copy_shape(state: State, tile: Tile, threads: int) -> CopyShape:
    """The widest vectors for which alignment is proved."""
    shape = CopyShape(tile.extents, _width(state, tile), threads)
    return replace(shape, across=tile.order[-1]) if tile.crossed else shape


def crossed(shape: CopyShape, across: int, element_bytes: int) -> CopyShape | None:
    """The same copy with warps that take several lines, where that costs nothing.

    None where a line is one vector short, or threads would no longer walk whole rows.
    """
    *outer, last = shape.extents
    lines = outer[across] % LINES == 0 and last % (LINE_VECTORS * shape.width) == 0
    if not lines or shape.width * element_bytes * LINE_VECTORS != LINE_BYTES:
        return None
    found = replace(shape, across=across)
    return found if found.regular and found.rounds == shape.rounds else None


def _width(state: State, tile: Tile) -> int:
    probe = tile.probe
    origin = tile.origin(probe)
    if not tile.extents or (tile.through is not None and not tile.through.runs_along):
        return 1
    for width in state.widths(tile.source.type):
        aligned = divides(width, origin[-1]) and tile.extents[-1] % width == 0
        whole = rows_aligned(width, tile.source.shape) and divides(width, tile.source.shape[-1])
        even = all(divides(width, limit + 1) for limit in _limits_of_last(tile))
        even = even and tile.rows[-1] % width == 0
        if aligned and whole and even:
            return width
    return 1


def _limits_of_last(tile: Tile) -> list[Affine]:
    """The limits that the last coordinate takes part in, at its start: they cut vectors."""
    lane = "last coordinate"  # no size has a space in its name
    *outer, _ = (const(0) for _ in tile.extents)
    limits = tile.limits(tile.probe, (*outer, var(lane)))
    return [limit.without((lane,)) for limit in limits if lane in limit.variables]
