"""The iteration space of a kernel as digits: blocks, threads, registers of every dimension."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, prod

import numpy as np

from tcc.frontend import tir
from tcc.sched.nest import Dim, KernelNest, Loop
from tcc.sched.plan import AXES, DimPlan, KernelPlan
from tcc.sched.rows import row_form
from tcc.tune.lanes import Lanes as Array


@dataclass(frozen=True)
class Axis:
    """One dimension that is cut: position in a tile = (outer * threads + thread) * inner + lane.

    `grid` says what counts its tiles: `block.x`, `serial`, or nothing where there is one.
    """

    name: str
    extent: int
    tile: int
    outer: int
    threads: int
    inner: int
    thread_axis: int | None
    grid: str

    @property
    def blocks(self) -> int:
        """Number of tiles."""
        return ceil(self.extent / self.tile)

    def thread(self, at: Array) -> Array:
        """The thread digit of positions inside a tile."""
        return at // self.inner % self.threads

    def positions(self, thread: int) -> list[int]:
        """The positions of a tile that one thread digit has."""
        found = (
            (o * self.threads + thread) * self.inner + i
            for o in range(self.outer)
            for i in range(self.inner)
        )
        return [p for p in found if p < min(self.tile, self.extent)]


@dataclass(frozen=True)
class Depth:
    """A reduction loop that every point walks, in tiles."""

    name: str
    extent: int
    tile: int


@dataclass(frozen=True)
class Space:
    """The dimensions of one kernel, parallel ones first, and its reduction loops."""

    axes: tuple[Axis, ...]
    depth: tuple[Depth, ...]
    block: tuple[int, int, int]

    def threads(self, positions: Mapping[str, Array]) -> Array:
        """The number of the thread that has a position inside a tile; others count as 0."""
        total: Array = np.zeros((), np.int64)
        for axis, below in enumerate((1, self.block[0], self.block[0] * self.block[1])):
            digit: Array = np.zeros((), np.int64)
            for own in self.axes:
                if own.thread_axis == axis and own.threads > 1:
                    at = positions.get(own.name, np.zeros((), np.int64))
                    digit = digit * own.threads + own.thread(at)
            total = total + digit * below
        return total

    def busy(self, thread: int) -> int:
        """The thread, or the next one below it that has a point."""
        while thread > 0:
            digits = self.digits(thread)
            if all(a.positions(digits[a.name]) for a in self.axes):
                break
            thread -= 1
        return thread

    def digits(self, thread: int) -> dict[str, int]:
        """The thread digit of every dimension, for a thread of the block."""
        x, y, _ = self.block
        left = [thread % x, thread // x % y, thread // (x * y)]
        found = dict.fromkeys((a.name for a in self.axes), 0)
        for axis in range(len(AXES)):
            for own in reversed([a for a in self.axes if a.thread_axis == axis]):
                left[axis], found[own.name] = divmod(left[axis], own.threads)
        return found


def space(
    nest: KernelNest, plan: KernelPlan, program: tir.Program, sizes: Mapping[str, int]
) -> Space:
    """The iteration space of a kernel at known sizes."""
    plans = {p.dim: p for p in plan.dims}
    axes = [_axis(d, plans[d.name], sizes) for d in nest.parallel]
    depth = _reductions(nest, plan, sizes)
    form = row_form(nest, program) if plan.row is not None else None
    if form is not None and plan.row is not None:
        names = [d.name for d in form.loops]
        extent = prod(_extent(d, sizes) for d in form.loops)
        shared = plan.row.threads * plan.row.vector
        outer = ceil(extent / shared)
        axis = plan.row.axis if plan.row.threads > 1 else None
        axes.append(
            Axis(
                ", ".join(names),
                extent,
                outer * shared,
                outer,
                plan.row.threads,
                plan.row.vector,
                axis,
                "",
            )
        )
        depth = ()
    return Space(tuple(axes), depth, plan.block)


def _axis(dim: Dim, plan: DimPlan, sizes: Mapping[str, int]) -> Axis:
    extent = _extent(dim, sizes)
    tiles = ceil(extent / plan.tile)
    grid = "serial" if plan.grid_axis is None else f"block.{AXES[plan.grid_axis]}"
    return Axis(
        dim.name,
        extent,
        plan.tile,
        plan.outer,
        plan.threads,
        plan.inner,
        plan.thread_axis if plan.threads > 1 else None,
        grid if tiles > 1 else "",
    )


def _reductions(nest: KernelNest, plan: KernelPlan, sizes: Mapping[str, int]) -> tuple[Depth, ...]:
    """The loops of the first loop nest that all points walk."""
    tiles = {p.dim: p.tile for p in plan.loops}
    found: list[Depth] = []
    node = next((n for n in nest.body if isinstance(n, Loop)), None)
    while node is not None:
        dim = node.dim
        if dim.extent.variables <= set(sizes):
            found.append(Depth(dim.name, _extent(dim, sizes), tiles.get(dim.name, 1)))
        node = next((n for n in node.body if isinstance(n, Loop)), None)
    return tuple(found)


def _extent(dim: Dim, sizes: Mapping[str, int]) -> int:
    return max(1, dim.extent.evaluate(sizes))
