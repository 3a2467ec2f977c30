"""Cells of a grid joined to rectangles, as SVG path data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tcc.tune.lanes import Lanes as Array

LEAST, MOST, STRETCH, FINE = 2.0, 24.0, 3.0, 4.0


@dataclass(frozen=True)
class Rectangle:
    """Whole cells: the column and row of the first, and how many."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Cell:
    """The size of a cell in pixels, and where the first one is."""

    width: float
    height: float
    left: float = 0.0
    top: float = 0.0

    @classmethod
    def fitting(cls, rows: int, columns: int, width: float, height: float) -> Cell:
        """Cells that fill a space as far as they stay between LEAST and MOST and not too narrow."""
        across = min(MOST, max(LEAST, width / columns))
        down = min(MOST, max(LEAST, height / rows))
        return cls(min(across, STRETCH * down), min(down, STRETCH * across))

    @property
    def fineness(self) -> str | None:
        """A class for pictures whose cells are too small for lines between them."""
        return "fine" if min(self.width, self.height) < FINE else None

    def at(self, left: float, top: float) -> Cell:
        """The same cells, the first one elsewhere."""
        return replace(self, left=left, top=top)


def regions(grid: Array) -> dict[int, list[Rectangle]]:
    """The rectangles of every value in a grid of rows and columns, values in ascending order."""
    found: dict[int, list[Rectangle]] = {}
    open_: dict[tuple[int, int, int], Rectangle] = {}
    for y, row in enumerate(grid):
        following: dict[tuple[int, int, int], Rectangle] = {}
        for x, width, value in _runs(row):
            above = open_.pop((x, width, value), Rectangle(x, y, width, 0))
            following[x, width, value] = Rectangle(x, above.y, width, above.height + 1)
        _close(open_, found)
        open_ = following
    _close(open_, found)
    return {value: found[value] for value in sorted(found)}


def region_of(cells: Sequence[tuple[int, int]]) -> list[Rectangle]:
    """The rectangles of a set of (column, row) cells."""
    columns = np.array([c for c, _ in cells])
    rows = np.array([r for _, r in cells])
    left, top = columns.min(), rows.min()
    grid = np.zeros((rows.max() - top + 1, columns.max() - left + 1), np.int64)
    grid[rows - top, columns - left] = 1
    found = regions(grid)[1]
    return [Rectangle(int(r.x + left), int(r.y + top), r.width, r.height) for r in found]


def path(rectangles: Iterable[Rectangle], cell: Cell) -> str:
    """Path data: the outlines of rectangles of cells."""
    return "".join(
        f"M{_short(cell.left + r.x * cell.width)} {_short(cell.top + r.y * cell.height)}"
        f"h{_short(r.width * cell.width)}v{_short(r.height * cell.height)}"
        f"h{_short(-r.width * cell.width)}z"
        for r in rectangles
    )


def _runs(row: Array) -> list[tuple[int, int, int]]:
    """Start, length and value of each run of equal values."""
    starts = np.flatnonzero(np.concatenate(([True], row[1:] != row[:-1])))
    ends = np.append(starts[1:], len(row))
    return [(int(s), int(e - s), int(row[s])) for s, e in zip(starts, ends, strict=True)]


def _close(open_: dict[tuple[int, int, int], Rectangle], found: dict[int, list[Rectangle]]) -> None:
    for (_, _, value), rectangle in open_.items():
        found.setdefault(value, []).append(rectangle)


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
