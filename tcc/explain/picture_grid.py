"""Picture of a whole iteration space: a box cut into blocks, its depth cut into k-tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, prod

from markupsafe import Markup

from tcc.explain.colours import BLUE, FAINT, INK
from tcc.explain.markup import element, joined, line, rect, words
from tcc.explain.panel import TITLE, Panel, title
from tcc.explain.quantity import count
from tcc.explain.space import Axis, Depth, Space

MOST_LINES = 48
LEFT, WIDTH, TALLEST, LOWEST = 40.0, 230.0, 220.0, 60.0
DEEP, SLOPE = 70.0, 42.0
LEAST = 3.0
"""Pixels of the block that stands out, where one is smaller."""


def picture_grid(space: Space) -> Panel:
    """The space as a box, one block of it marked."""
    across, down = _chosen(space)
    box = _box(across, down, space.depth)
    parts = [title(LEFT, "the grid", count(prod(a.blocks for a in space.axes), "block"))]
    if box.deep:
        parts += _faces(box, space.depth)
    parts += _front(box)
    parts += _labels(box, space)
    x, y, width, height = box.block
    return Panel(joined(parts), LEFT, box.right, TITLE, box.end, (x + width, y, y + height))


@dataclass(frozen=True)
class _Box:
    """The front face in pixels, what runs along it, and how far the box goes back."""

    across: Axis
    down: Axis | None
    left: float
    top: float
    width: float
    height: float
    deep: float
    slope: float

    @property
    def right(self) -> float:
        """The end of the side face."""
        return self.left + self.width + self.deep

    @property
    def bottom(self) -> float:
        """The end of the front face."""
        return self.top + self.height

    @property
    def end(self) -> float:
        """The end of what is written below."""
        return self.bottom + 40

    @property
    def lines(self) -> int:
        """Tiles downwards."""
        return self.down.blocks if self.down else 1

    @property
    def block(self) -> tuple[float, float, float, float]:
        """The marked block on the front: one of the topmost, so that the way back is seen."""
        step = self.width / self.across.blocks
        at = min(self.across.blocks - 1, self.across.blocks // 3)
        high = max(LEAST, self.height / self.lines)
        return self.left + at * step, self.top, max(LEAST, step), high


def _chosen(space: Space) -> tuple[Axis, Axis | None]:
    """The dimensions of the front face: the last one, and the one of the others cut most."""
    *others, across = space.axes or (Axis("", 1, 1, 1, 1, 1, None, ""),)
    moving = [a for a in others if a.extent > 1]
    return across, max(moving, key=lambda a: (a.tile > 1, a.blocks, a.extent), default=None)


def _box(across: Axis, down: Axis | None, depth: tuple[Depth, ...]) -> _Box:
    is_deep = prod(d.extent for d in depth) > 1
    deep, slope = (DEEP, SLOPE) if is_deep else (0.0, 0.0)
    width = WIDTH - deep
    rows = down.extent if down else 1
    height = min(TALLEST - slope, max(LOWEST, width * rows / max(1, across.extent)))
    return _Box(across, down, LEFT, TITLE + 4 + slope, width, height, deep, slope)


def _front(box: _Box) -> Iterator[Markup]:
    yield rect(box.left, box.top, box.width, box.height, fill="#eff6ff", stroke=INK)
    for x in _marks(box.across.blocks, box.width):
        at = box.left + x
        yield line(at, box.top, at, box.bottom, stroke=INK, stroke_width=0.5)
    for y in _marks(box.lines, box.height):
        at = box.top + y
        yield line(box.left, at, box.left + box.width, at, stroke=INK, stroke_width=0.5)
    x, y, width, height = box.block
    yield rect(x, y, width, height, fill=BLUE, class_="block")


def _faces(box: _Box, depth: tuple[Depth, ...]) -> Iterator[Markup]:
    """The top and the right face, with a line at every k-tile, and the block's way back."""
    left, top, width, deep, slope = box.left, box.top, box.width, box.deep, box.slope
    upper = f"M{left} {top}l{deep} {-slope}h{width}l{-deep} {slope}z"
    side = f"M{left + width} {top}l{deep} {-slope}v{box.height}l{-deep} {slope}z"
    yield element("path", d=upper, fill="#f8fafc", stroke=INK)
    yield element("path", d=side, fill="#e2e8f0", stroke=INK)
    tiles = prod(ceil(d.extent / d.tile) for d in depth)
    for part in _marks(tiles, 1.0):
        drawn = f"M{left + deep * part:.1f} {top - slope * part:.1f}h{width}v{box.height}"
        yield element("path", d=drawn, fill="none", stroke=FAINT, stroke_width=0.5)
    tiles = min(MOST_LINES, tiles)
    first, _, step, _ = box.block
    for tile in range(tiles):
        x, y = first + deep * tile / tiles, top - slope * tile / tiles
        drawn = f"M{x:.1f} {y:.1f}h{step:.1f}l{deep / tiles:.1f} {-slope / tiles:.1f}h{-step:.1f}z"
        yield element("path", d=drawn, fill=BLUE, opacity=0.7 if tile % 2 else 0.35)


def _labels(box: _Box, space: Space) -> Iterator[Markup]:
    yield words(
        box.left + box.width / 2, box.bottom + 17, _extent(box.across), text_anchor="middle"
    )
    if box.down:
        x, y = box.left - 10, box.top + box.height / 2
        turned = f"rotate(-90 {x:.1f} {y:.1f})"
        yield words(x, y, _extent(box.down), text_anchor="middle", transform=turned)
    if box.deep:
        inside = ", ".join(f"{d.name} = {d.extent}" for d in space.depth)
        x, y = box.left + box.width + box.deep / 2 + 6, box.bottom - box.slope / 2 + 14
        yield words(x, y, inside, class_="small")
    others = [a for a in space.axes if a not in (box.across, box.down) and a.extent > 1]
    if others:
        text = "for each of " + " and ".join(_extent(a) for a in others)
        yield words(box.left, box.bottom + 34, text, class_="small")


def _marks(parts: int, length: float) -> Iterator[float]:
    """Where lines stand between parts; every second, third ... one where there are too many."""
    step = ceil(parts / MOST_LINES)
    return (length * k / parts for k in range(step, parts, step))


def _extent(axis: Axis) -> str:
    if axis.blocks == 1:
        return f"{axis.name} = {axis.extent}"
    if axis.tile == 1:
        return f"{axis.name} = {axis.extent}"
    return f"{axis.name} = {axis.extent}: {axis.blocks} tiles of {axis.tile}"
