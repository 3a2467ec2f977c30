"""What can be chosen for one kernel: its parameters, each with its values.

Digits are powers of two and ceil divisors of extents; staging, vectors, pipelining and rows are
what the lowering offers for this kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

from tcc.frontend import tir
from tcc.sched.layout import laid
from tcc.sched.model import extent_of
from tcc.sched.nest import Dim, KernelNest, Loop
from tcc.sched.plan import Staging
from tcc.sched.reuse import chains
from tcc.sched.rows import row_form
from tcc.sched.windows import windows
from tcc.target import Target

Value: TypeAlias = str | int | bool | None
POINTS, TILES, ROWS = "points", "tiles", "rows"
"""The forms of a kernel: each point alone, reductions in k-tiles, threads that share rows."""
FULL, EVEN = "full", "even"
"""A tile is all that its digits reach; or so much less that all tiles are about equal."""
SERIAL = "serial"
OUTER = (1, 2, 3, 4, 6, 8)
INNER = (1, 2, 4, 8)
MOST_K_TILE = 128
VECTORS = (None, 1, 2, 4)
PIPELINES = (1, 2, 3, 4)
SLICES = (1, 2, 4, 8, 16)
"""Threads that share a tile of a reduction."""
UNROLLS = (None, 2, 4, 8, 16)
WAVES = (1, 2, 4)
"""Blocks for each SM where a kernel walks its tiles in waves."""
LONGEST_ROW = 1024
ROW = ("row.threads", "row.vector", "row.axis", "row.keep")
OPEN = 1 << 30
"""The length of a row that is not known: too much for registers."""
DIGITS = (".threads", ".outer", ".inner", ".k", ".slices", "pipeline")
"""The ends of the names of parameters whose smaller values need less of a target."""


@dataclass(frozen=True)
class Parameter:
    """One choice of a search, and all that may be chosen; `values` of numbers are ordered."""

    name: str
    values: tuple[Value, ...]


def digit_values(extent: int, most: int) -> tuple[int, ...]:
    """The powers of two up to the first beyond an extent, and its ceil divisors by them."""
    powers = [1 << k for k in range((extent - 1).bit_length() + 1)]
    found = {*powers, *(-(-extent // p) for p in powers)}
    return tuple(sorted(v for v in found if v <= most))


class Domains:
    """What a kernel offers; `parameters` has all choices, those with one value too."""

    def __init__(self, kernel: KernelNest, program: tir.Program, target: Target) -> None:
        self._kernel = kernel
        self._target = target
        self.chains = chains(kernel, program)
        self.form = row_form(kernel, program)
        self._windows = sorted({w.tensor for w in windows(kernel, program)})

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters; the first value is the usual one."""
        return tuple(self._all())

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """The forms that the kernel can have."""
        tiles = (TILES,) if self.chains and self._kernel.parallel else ()
        rows = (ROWS,) if self.form is not None else ()
        return (*tiles, *rows, POINTS)

    @property
    def row_length(self) -> int:
        """Positions of a row, or more than fit registers where that is open."""
        loops = self.form.loops if self.form else ()
        known = all(d.extent.is_constant for d in loops)
        return prod(d.extent.value for d in loops) if known else OPEN

    def _all(self) -> Iterator[Parameter]:
        yield Parameter("form", self.forms)
        for dim in self._kernel.parallel:
            yield from self._dim_parameters(dim)
        if TILES in self.forms:
            yield from self._tile_parameters()
        elif any(isinstance(n, Loop) for n in self._kernel.body):
            yield Parameter("unroll", UNROLLS)
        places = self.places(tiled=True) | self.places(tiled=False)
        for tensor, choices in places.items():
            yield Parameter(f"{tensor}.staging", tuple(s.value for s in choices))
        if any(Staging.SHARED in choices for choices in places.values()):
            yield Parameter("rolled_copies", (False, True))
        if ROWS in self.forms:
            yield from self._row_parameters()
        yield Parameter("vector", VECTORS)
        yield Parameter("readonly_cache", (False, True))

    def _dim_parameters(self, dim: Dim) -> Iterator[Parameter]:
        name, extent = dim.name, extent_of(dim.extent)
        plain = laid(self._kernel.parallel, dim, 2, 1, 1)
        most = self._target.max_threads_per_block
        yield Parameter(f"{name}.threads", digit_values(extent, most))
        yield Parameter(f"{name}.outer", tuple(n for n in OUTER if n <= extent))
        yield Parameter(f"{name}.inner", tuple(n for n in INNER if n <= extent))
        yield Parameter(f"{name}.axis", tuple({plain.thread_axis or 0: 0, 0: 0, 1: 0}))
        yield Parameter(f"{name}.grid", tuple({plain.grid_axis or 0: 0, 0: 0}))
        sms = self._target.sms
        caps = (sms * n for n in WAVES if sms * n < extent)
        yield Parameter(f"{name}.blocks", (None, *caps))
        yield Parameter(f"{name}.tile", (FULL, EVEN) if dim.extent.is_constant else (FULL,))

    def _tile_parameters(self) -> Iterator[Parameter]:
        for dim in dict.fromkeys(d for c in self.chains for d in c.loops):
            values = digit_values(extent_of(dim.extent), MOST_K_TILE)
            yield Parameter(f"{dim.name}.k", values)
            yield Parameter(f"{dim.name}.rolled", (False, True))
            yield Parameter(f"{dim.name}.slices", SLICES)
        yield Parameter("pipeline", PIPELINES)

    def _row_parameters(self) -> Iterator[Parameter]:
        if self.form is None:
            return
        last = self.form.loops[-1].extent
        length = min(self.row_length, LONGEST_ROW)
        threads = tuple(1 << k for k in range(1, (length - 1).bit_length() + 1)) or (2,)
        widths = tuple(w for w in (1, 2, 4) if w == 1 or (last.is_constant and last.value % w == 0))
        keep = (False, True) if self.row_length < OPEN else (False,)
        for name, values in zip(ROW, (threads, widths, (0, 1), keep), strict=True):
            yield Parameter(name, values)

    def places(self, *, tiled: bool) -> dict[str, tuple[Staging, ...]]:
        """Where tensors can be read from; the first is the usual one."""
        found: dict[str, tuple[Staging, ...]] = {}
        for operand in (o for c in self.chains if tiled for o in c.operands):
            shared = (Staging.SHARED,) if operand.forms else ()
            before = found.get(operand.tensor, ())
            found[operand.tensor] = before or (*shared, Staging.REGISTER, Staging.GLOBAL)
        for tensor in sorted(self._windows):
            found.setdefault(tensor, (Staging.GLOBAL, Staging.SHARED))
        return found
