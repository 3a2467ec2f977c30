"""Boxes of a tensor in shared memory: where they begin, how their elements lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tcc.affine import Affine, const
from tcc.kernel import ir

Numbers: TypeAlias = tuple[Affine, ...]
"""The k-tile number of every reduction loop of a chain."""


@dataclass(frozen=True)
class Through:
    """How a box of the dense tensor of a gather is fetched from the tensor that it reads.

    `place` maps the k-tile numbers and a position in the dense tensor to subscripts of `buffer`;
    `runs_along` tells whether neighbours in the last dimension are neighbours in memory.
    """

    buffer: ir.Buffer
    place: Callable[[Numbers, tuple[Affine, ...]], tuple[Affine | ir.Expression, ...]]
    runs_along: bool


@dataclass(frozen=True)
class Tile:
    """A box of a tensor in shared memory.

    `origin` maps the k-tile numbers of the reduction loops to the storage subscripts of the first
    element; `limits` are further conditions (`>= 0`) on a position, for the tail of a reduction.
    `probe` has a variable for every k-tile number that moves and 0 elsewhere. `order` lists the
    tensor dimensions, slowest first, as they are laid out, in rows of `rows` elements; after every
    `group` positions of all dimensions but the last, `gap` elements are left out. `stages` copies
    exist. `crossed`: each warp copies parts of several rows of the tensor. Where `through` is
    given, `source` is the dense tensor that a gather stands for.
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
    group: int = 1
    gap: int = 0
    crossed: bool = False
    through: Through | None = None

    def place(self, stage: Affine, position: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """Subscripts of the shared array for a position inside the box."""
        offset = self.offset(position)
        return (stage, offset) if self.stages > 1 else (offset,)

    def offset(self, position: tuple[Affine, ...]) -> Affine:
        """Element number of a position inside one stage."""
        row, total = const(0), const(0)
        for dim, extent in zip(self.order, self.rows, strict=True):
            row, total = total, total * extent + position[dim]
        return total + row // self.group * self.gap if self.gap else total

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
    layout separates or pads them, and those of a gather do.
    """
    if tile.through is not None:
        return tile
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
