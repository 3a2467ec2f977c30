"""Picture of the iteration space: cut into blocks, a block into threads, a thread's registers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import prod

import numpy as np
from markupsafe import Markup

from tcc.explain.colours import thread_colour
from tcc.explain.markup import element, joined, rect, svg, table, words
from tcc.explain.panel import TITLE, Panel, title, zoom
from tcc.explain.picture_grid import picture_grid
from tcc.explain.quantity import count
from tcc.explain.regions import Cell, path, regions
from tcc.explain.space import Axis, Space
from tcc.sched.plan import AXES
from tcc.tune.lanes import Lanes as Array

WIDTH = 1040.0
BLOCK_LEFT, THREAD_LEFT = 400.0, 800.0
TALLEST = 250.0
MOST_CELLS = 160
FOLDED = 64
NO_THREAD = -1
READABLE = 9.0
"""Pixels that a line of text needs."""


def picture_space(space: Space, pinned: int) -> Markup:
    """Three panels: the whole space, one block, one thread of it."""
    cells = _Cells(space)
    grid = picture_grid(space)
    block = _block(cells, space, pinned)
    thread = _thread(space, cells, pinned)
    wedges = zoom(grid, block) + zoom(block, thread)
    height = max(p.bottom for p in (grid, block, thread)) + 8
    drawn = (grid.drawn, block.drawn, thread.drawn)
    label = "the iteration space cut into blocks, threads and registers"
    return svg(WIDTH, height, wedges, *drawn, label=label)


def table_space(space: Space) -> Markup:
    """The digits of every dimension."""
    head = (
        "dimension",
        "extent",
        "blocks",
        "tile",
        "outer registers",
        "threads",
        "inner registers",
    )
    rows = [
        (
            axis.name,
            str(axis.extent),
            f"{axis.blocks} ({axis.grid})" if axis.grid else str(axis.blocks),
            str(axis.tile),
            str(axis.outer),
            str(axis.threads)
            if axis.thread_axis is None
            else f"{axis.threads} (thread.{AXES[axis.thread_axis]})",
            str(axis.inner),
        )
        for axis in space.axes
    ]
    rows += [(d.name, str(d.extent), "", f"{d.tile} (k-tile)", "", "", "") for d in space.depth]
    return table(head, rows, "numbers")


# -- one block -----------------------------------------------------------------------------------


class _Cells:
    """The positions of a tile as rows and columns of threads."""

    def __init__(self, space: Space) -> None:
        axes = space.axes or (Axis("", 1, 1, 1, 1, 1, None, ""),)
        self.across = axes[-1]
        self.down = [a for a in axes[:-1] if min(a.tile, a.extent) > 1]
        self._space = space

    @property
    def axes(self) -> list[Axis]:
        """The dimensions that are drawn, the one across last."""
        return [*self.down, self.across]

    def drawn(self) -> tuple[Array, bool]:
        """Thread numbers, long single rows folded and large ones cut; and whether it is all."""
        extents = [min(a.tile, a.extent) for a in self.axes]
        places = dict(zip((a.name for a in self.axes), np.indices(extents), strict=True))
        grid = np.broadcast_to(self._space.threads(places), extents).reshape(-1, extents[-1])
        if grid.shape[0] == 1 and grid.shape[1] > FOLDED:
            short = -grid.size % FOLDED
            padded = np.pad(grid.ravel(), (0, short), constant_values=NO_THREAD)
            grid = padded.reshape(-1, FOLDED)
        cut = grid[:MOST_CELLS, :MOST_CELLS]
        return cut, cut.size == grid.size


def _block(cells: _Cells, space: Space, pinned: int) -> Panel:
    grid, whole = cells.drawn()
    rows, columns = grid.shape
    cell = Cell.fitting(rows, columns, 300.0, TALLEST).at(BLOCK_LEFT, TITLE)
    threads = prod(space.block)
    extents = " x ".join(f"{a.name} {min(a.tile, a.extent)}" for a in cells.axes)
    parts = [title(BLOCK_LEFT, "one block", f"{count(threads, 'thread')}, tile {extents}")]
    found = regions(grid)
    tile = (
        element(
            "path",
            d=path(rectangles, cell),
            fill=thread_colour(thread, threads),
            class_="t",
            data_t=thread,
        )
        for thread, rectangles in found.items()
        if thread != NO_THREAD
    )
    parts.append(element("g", *tile, class_=cell.fineness))
    bottom = TITLE + rows * cell.height
    if not whole:
        text = "its first rows and columns"
        parts.append(words(BLOCK_LEFT, bottom + 15, text, class_="small"))
    right = BLOCK_LEFT + columns * cell.width
    mine = found.get(pinned, found[min(found)])[-1]
    top = TITLE + mine.y * cell.height
    edge = BLOCK_LEFT + (mine.x + mine.width) * cell.width
    focus = edge, top, top + mine.height * cell.height
    return Panel(joined(parts), BLOCK_LEFT, right, TITLE, bottom, focus)


# -- one thread ----------------------------------------------------------------------------------


def _thread(space: Space, cells: _Cells, pinned: int) -> Panel:
    digits = space.digits(pinned)
    own = {axis.name: axis.positions(digits[axis.name]) for axis in cells.axes if axis.name}
    across = own.get(cells.across.name, [0])
    rows = [""]
    for axis in cells.down:
        at = own[axis.name]
        rows = [f"{row} {axis.name} = {p}".strip() for row in rows for p in at]
    values = len(rows) * len(across)
    cell = Cell.fitting(len(rows), len(across), 176.0, TALLEST - 24).at(
        THREAD_LEFT + 58, TITLE + 24
    )
    parts = [title(THREAD_LEFT, "one thread", f"{count(values, 'point')} in registers")]
    parts += _columns(cells.across.name, across, cell)
    colour = thread_colour(pinned, prod(space.block))
    for number, row in enumerate(rows):
        top = cell.top + number * cell.height
        if cell.height >= READABLE:
            middle = top + cell.height / 2 + 4
            parts.append(words(cell.left - 6, middle, row, text_anchor="end", class_="small"))
        for column in range(len(across)):
            left = cell.left + column * cell.width
            parts.append(rect(left, top, cell.width, cell.height, fill=colour, stroke="#fff", rx=3))
    bottom = cell.top + len(rows) * cell.height
    right = cell.left + len(across) * cell.width
    return Panel(joined(parts), THREAD_LEFT, right, TITLE, bottom, (right, TITLE, bottom))


def _columns(name: str, positions: list[int], cell: Cell) -> Iterator[Markup]:
    """The positions across, neighbours as a range."""
    yield words(cell.left - 6, cell.top - 8, f"{name} =", text_anchor="end", class_="small")
    for _, run in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0]):
        pairs = list(run)
        (first, low), (last, high) = pairs[0], pairs[-1]
        middle = cell.left + (first + last + 1) / 2 * cell.width
        text = str(low) if low == high else f"{low}..{high}"
        yield words(middle, cell.top - 8, text, text_anchor="middle", class_="small")
