"""The Plan: how each loop of each kernel is cut into digits. Options, heuristics and the tuner
produce Plans and nothing else.

A parallel dimension is `wave . block . outer . thread . inner`, outermost first:

    value = low + tile * (block number) + (outer * threads + thread) * inner_extent + inner

Block numbers beyond the grid are walked by a grid-stride (wave) loop; outer and inner digits are
registers of one thread. `tile` may be smaller than the product of its digits: the surplus idles.

The text of a Plan is what an options file may say under `mapping:`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

AXES = "xyz"


class Staging(Enum):
    """Where a kernel reads an operand from."""

    GLOBAL = "global"
    """Memory, at every use."""

    REGISTER = "register"
    """Registers of the thread, fetched once for all the points that a thread has of a k-point."""

    SHARED = "shared"
    """Shared memory, where the threads of the block copy it tile by tile."""


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

    @property
    def registers(self) -> int:
        """Values of one thread inside a tile."""
        return self.outer * self.inner

    def digits(self) -> tuple[str, ...]:
        """The digits, outermost first; `tile` only where it is not their product."""
        parts = ["serial"]
        if self.grid_axis is not None:
            cap = "" if self.blocks is None else f" {self.blocks}"
            parts = [f"block.{AXES[self.grid_axis]}{cap}"]
        if self.outer > 1:
            parts.append(f"outer {self.outer}")
        if self.thread_axis is not None:
            parts.append(f"thread.{AXES[self.thread_axis]} {self.threads}")
        if self.inner > 1:
            parts.append(f"inner {self.inner}")
        if self.tile != self.covered:
            parts.append(f"tile {self.tile}")
        return tuple(parts)


@dataclass(frozen=True)
class LoopPlan:
    """Digits of a reduction loop: tiles of `tile` points; `unroll` of the points of a thread.

    `threads` along `thread_axis` share a tile, neighbouring threads neighbouring points; what they
    accumulate is joined after the loop:

        value = low + tile * (tile number) + point * threads + thread
    """

    dim: str
    tile: int
    unroll: bool = True
    thread_axis: int | None = None
    threads: int = 1

    @property
    def points(self) -> int:
        """Points of one thread in a tile, of which `tile` has a multiple."""
        return self.tile // self.threads

    def digits(self) -> tuple[str, ...]:
        """The tile, who shares it; `rolled` where its points are not unrolled."""
        parts = [f"tile {self.tile}"]
        if self.thread_axis is not None:
            parts.append(f"thread.{AXES[self.thread_axis]} {self.threads}")
        return tuple(parts) if self.unroll else (*parts, "rolled")


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

    def digits(self) -> tuple[str, ...]:
        """The digits, outermost first."""
        kept = ("keep",) if self.keep else ()
        lanes = (f"vector {self.vector}",) if self.vector > 1 else ()
        return (f"thread.{AXES[self.axis]} {self.threads}", *lanes, *kept)


@dataclass(frozen=True)
class KernelPlan:
    """Digits, staging and pipelining of one kernel.

    `pipeline` counts the tiles of a staged operand that are in flight; `vector` bounds the
    elements of one access; `unroll` bounds the instances in the body of an unrolled loop;
    `private_depth` counts the loops around the copies of results to registers (None: these are
    outside of all loops over reductions);
    `rolled_copies` keeps the loops of copies to shared memory; `readonly_cache` reads the
    program's inputs through the read-only data cache.
    """

    kernel: str
    dims: tuple[DimPlan, ...]
    loops: tuple[LoopPlan, ...] = ()
    staging: tuple[tuple[str, Staging], ...] = ()
    pipeline: int = 1
    row: RowPlan | None = None
    vector: int | None = None
    unroll: int | None = None
    rolled_copies: bool = False
    readonly_cache: bool = False
    private_depth: int | None = None

    def stage(self, tensor: str) -> Staging:
        """Where the kernel reads a tensor from; global memory when the plan does not say."""
        return dict(self.staging).get(tensor, Staging.GLOBAL)

    @property
    def sliced(self) -> LoopPlan | None:
        """The reduction loop whose tiles several threads share; a kernel has one at most."""
        return next((p for p in self.loops if p.thread_axis is not None), None)

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block along x, y, z."""
        sizes = [1, 1, 1]
        for dim in self.dims:
            if dim.thread_axis is not None:
                sizes[dim.thread_axis] *= dim.threads
        for loop in self.loops:
            if loop.thread_axis is not None:
                sizes[loop.thread_axis] *= loop.threads
        if self.row is not None:
            sizes[self.row.axis] *= self.row.threads
        return sizes[0], sizes[1], sizes[2]

    def text(self) -> str:
        """A few lines: the digits of every dimension and loop."""
        lines = [f"{self.kernel}:", *_table("parallel", ((d.dim, d.digits()) for d in self.dims))]
        if self.loops:
            lines += _table("loops", ((p.dim, p.digits()) for p in self.loops))
        if self.row is not None:
            lines.append(f"  row: {_list(self.row.digits())}")
        if self.staging:
            pairs = ", ".join(f"{t}: {s.value}" for t, s in self.staging)
            lines.append(f"  staging: {{{pairs}}}")
        lines += [f"  {name}: {value}" for name, value in self._switches()]
        return "\n".join(lines)

    def _switches(self) -> Iterable[tuple[str, str]]:
        if self.pipeline > 1:
            yield "pipeline", str(self.pipeline)
        if self.vector is not None:
            yield "vector", str(self.vector)
        if self.unroll is not None:
            yield "unroll", str(self.unroll)
        if self.private_depth is not None:
            yield "private_depth", str(self.private_depth)
        if self.rolled_copies:
            yield "rolled_copies", "true"
        if self.readonly_cache:
            yield "readonly_cache", "true"


@dataclass(frozen=True)
class Plan:
    """The plans of all kernels, in launch order."""

    kernels: tuple[KernelPlan, ...]

    def text(self) -> str:
        """Stable text for `--emit plan` and the header comment, readable as an option `plan`."""
        lines = ["plan:"]
        for kernel in self.kernels:
            lines += [f"  {line}" for line in kernel.text().splitlines()]
        return "\n".join(lines) + "\n"


def _table(name: str, rows: Iterable[tuple[str, tuple[str, ...]]]) -> list[str]:
    lines = [f"    {key}: {_list(digits)}" for key, digits in rows]
    return [f"  {name}:", *lines] if lines else [f"  {name}: {{}}"]


def _list(items: tuple[str, ...]) -> str:
    return f"[{', '.join(items)}]"
