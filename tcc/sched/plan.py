"""The Plan: how each loop of each kernel is cut into digits. Options, heuristics and the tuner
produce Plans and nothing else.

A parallel dimension is `wave . block . outer . thread . inner`, outermost first:

    value = low + tile * (block number) + (outer * threads + thread) * inner_extent + inner

Block numbers beyond the grid are walked by a grid-stride (wave) loop; outer and inner digits are
registers of one thread. `tile` may be smaller than the product of its digits: the surplus idles.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

AXES = "xyz"


class Staging(Enum):
    """Where a kernel reads an operand from."""

    GLOBAL = "global"
    REGISTER = "register"
    SHARED = "shared"


@dataclass(frozen=True)
class DimPlan:
    """Digits of one parallel dimension.

    `grid_axis`/`thread_axis` are 0, 1, 2 for x, y, z, or None: no block digit (the thread walks
    all tiles), no thread digit. `blocks` caps the grid along the axis; None: one block a tile.
    """

    dim: str
    tile: int
    grid_axis: int | None = None
    blocks: int | None = None
    thread_axis: int | None = None
    threads: int = 1
    outer: int = 1
    inner: int = 1

    @property
    def covered(self) -> int:
        """Elements the digits inside a tile can reach; at least `tile`."""
        return self.outer * self.threads * self.inner

    def text(self) -> str:
        """One line: the digits, outermost first."""
        parts = []
        if self.grid_axis is None:
            parts.append("serial")
        else:
            cap = "" if self.blocks is None else f" {self.blocks}"
            parts.append(f"block.{AXES[self.grid_axis]}{cap}")
        if self.outer > 1:
            parts.append(f"outer {self.outer}")
        if self.thread_axis is not None:
            parts.append(f"thread.{AXES[self.thread_axis]} {self.threads}")
        if self.inner > 1:
            parts.append(f"inner {self.inner}")
        return f"{self.dim} = {' . '.join(parts)} (tile {self.tile})"


@dataclass(frozen=True)
class LoopPlan:
    """Digits of a reduction loop: tiles of `tile` points; `unroll` of the points inside."""

    dim: str
    tile: int
    unroll: bool = True


@dataclass(frozen=True)
class RowPlan:
    """Threads that share a row: position = (outer * threads + thread) * vector + lane.

    `axis` is 0 where neighbouring threads take neighbouring positions of a row, 1 where they take
    neighbouring rows. `keep` holds a thread's part of the row in registers between passes.
    """

    threads: int
    vector: int
    axis: int
    keep: bool

    def text(self) -> str:
        """One line."""
        kept = ", kept in registers" if self.keep else ""
        return f"row = outer . thread.{AXES[self.axis]} {self.threads} . vector {self.vector}{kept}"


@dataclass(frozen=True)
class KernelPlan:
    """Digits, staging and pipelining of one kernel."""

    kernel: str
    dims: tuple[DimPlan, ...]
    loops: tuple[LoopPlan, ...] = ()
    staging: tuple[tuple[str, Staging], ...] = ()
    pipeline: int = 1
    row: RowPlan | None = None

    def stage(self, tensor: str) -> Staging:
        """Where the kernel reads a tensor from; global memory when the plan does not say."""
        return dict(self.staging).get(tensor, Staging.GLOBAL)

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block along x, y, z."""
        sizes = [1, 1, 1]
        for dim in self.dims:
            if dim.thread_axis is not None:
                sizes[dim.thread_axis] *= dim.threads
        if self.row is not None:
            sizes[self.row.axis] *= self.row.threads
        return sizes[0], sizes[1], sizes[2]

    def text(self) -> str:
        """A few lines: the digits of every dimension and loop."""
        lines = [f"kernel {self.kernel}"]
        lines += [f"  {d.text()}" for d in self.dims]
        lines += [f"  {p.dim} = k-tile {p.tile}" for p in self.loops]
        lines += [f"  {self.row.text()}"] if self.row else []
        lines += [f"  {t}: {s.value}" for t, s in self.staging]
        return "\n".join(lines)


@dataclass(frozen=True)
class Plan:
    """The plans of all kernels, in launch order."""

    kernels: tuple[KernelPlan, ...]

    def text(self) -> str:
        """Stable text for `--emit plan` and the header comment."""
        return "\n".join(k.text() for k in self.kernels) + "\n"
