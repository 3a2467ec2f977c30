"""The digits of parallel dimensions as kernel variables and affine values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tcc.affine import Affine, ceil_div, const, minimum, var
from tcc.kernel import ir
from tcc.kernel.names import Names
from tcc.kernel.prove import Scope
from tcc.scalar import ScalarType
from tcc.sched.nest import Dim
from tcc.sched.plan import AXES, DimPlan, KernelPlan
from tcc.target import GRID_LIMITS


@dataclass(frozen=True)
class Digits:
    """One parallel dimension: value = `origin` + `thread` part + register digits.

    `tile_var` counts tiles; `outer`/`inner` are the register digit variables (None: one value).
    """

    dim: Dim
    plan: DimPlan
    tiles: Affine
    tile_var: Affine
    thread: Affine
    outer: str | None
    inner: str | None

    @property
    def local(self) -> Affine:
        """Position inside the tile."""
        position = self.thread * self.plan.inner
        if self.outer is not None:
            position = position + var(self.outer) * (self.plan.threads * self.plan.inner)
        if self.inner is not None:
            position = position + var(self.inner)
        return position

    @property
    def value(self) -> Affine:
        """The dimension's value."""
        return self.dim.low + self.tile_var * self.plan.tile + self.local

    @property
    def registers(self) -> tuple[tuple[str, int], ...]:
        """The register digit variables with their extents, outermost first."""
        pairs = ((self.outer, self.plan.outer), (self.inner, self.plan.inner))
        return tuple((name, extent) for name, extent in pairs if name is not None)

    @property
    def register_index(self) -> Affine:
        """The register digits as one index, 0 .. outer * inner - 1."""
        index = const(0)
        for name, extent in self.registers:
            index = index * extent + var(name)
        return index

    @property
    def register_extent(self) -> int:
        """Number of values of one thread inside a tile."""
        return self.plan.outer * self.plan.inner

    @property
    def padded(self) -> bool:
        """Whether some digits reach beyond the tile."""
        return self.plan.covered > self.plan.tile


@dataclass(frozen=True)
class Frame:
    """The digits of a kernel with what surrounds the body: aliases, launch, tile loops.

    `looped`: a block may run the body more than once.
    """

    digits: tuple[Digits, ...]
    aliases: tuple[tuple[str, str], ...]
    scopes: tuple[Scope, ...]
    grid: tuple[Affine, Affine, Affine]
    looped: bool
    wrap: Callable[[tuple[ir.Statement, ...]], tuple[ir.Statement, ...]]


def frame(dims: tuple[Dim, ...], plan: KernelPlan, names: Names) -> Frame:
    """Lay the digits of a plan over the grid and the block.

    Several dimensions on one axis fold into it, the last dimension fastest. Tile numbers beyond
    the grid are walked by loops around the body.
    """
    builder = _Builder(names)
    by_name = {p.dim: p for p in plan.dims}
    plans = [(d, by_name[d.name]) for d in dims]
    threads = builder.threads(plans)
    tiles = builder.tiles(plans)
    digits = tuple(
        Digits(
            dim,
            dim_plan,
            ceil_div(dim.extent, dim_plan.tile),
            tiles[dim.name],
            threads[dim.name],
            names.fresh(f"{dim.name}_o") if dim_plan.outer > 1 else None,
            names.fresh(f"{dim.name}_i") if dim_plan.inner > 1 else None,
        )
        for dim, dim_plan in plans
    )
    return Frame(
        digits,
        tuple(builder.aliases),
        tuple(builder.scopes),
        builder.grid,
        builder.looped,
        builder.wrap,
    )


class _Builder:
    def __init__(self, names: Names) -> None:
        self._names = names
        self.aliases: list[tuple[str, str]] = []
        self.scopes: list[Scope] = []
        self._loops: list[tuple[str, Affine, Affine, int]] = []
        self._lets: list[ir.Let] = []
        self._grid = [const(1), const(1), const(1)]

    @property
    def looped(self) -> bool:
        """Whether there are loops over tiles."""
        return bool(self._loops)

    @property
    def grid(self) -> tuple[Affine, Affine, Affine]:
        """Blocks along x, y, z."""
        return self._grid[0], self._grid[1], self._grid[2]

    def threads(self, plans: list[tuple[Dim, DimPlan]]) -> dict[str, Affine]:
        """The thread digit of every dimension."""
        result = {dim.name: const(0) for dim, _ in plans}
        for axis in range(3):
            mine = [(d, p) for d, p in plans if p.thread_axis == axis and p.threads > 1]
            if not mine:
                continue
            total = 1
            for _, p in mine:
                total *= p.threads
            alias = self._alias(f"t{axis}", f"threadIdx.{AXES[axis]}", const(total))
            counts = [(dim.name, const(p.threads)) for dim, p in mine]
            result |= self._split(alias, counts, "t")
        return result

    def tiles(self, plans: list[tuple[Dim, DimPlan]]) -> dict[str, Affine]:
        """The tile number of every dimension; grid extents and loops on the way."""
        result: dict[str, Affine] = {}
        for axis in range(3):
            mine = [(d, p) for d, p in plans if p.grid_axis == axis]
            if len(mine) == 1:
                result[mine[0][0].name] = self._block(axis, *mine[0])
            elif mine:
                result |= self._folded(axis, mine)
        for dim, p in plans:
            if p.grid_axis is None:
                result[dim.name] = self._serial(dim, p)
        return result

    def wrap(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        """The body inside the tile loops."""
        body = (*self._lets, *body)
        for name, low, high, step in reversed(self._loops):
            body = (ir.For(name, low, high, step, False, body),)
        return body

    def _alias(self, wanted: str, source: str, extent: Affine) -> Affine:
        name = self._names.fresh(wanted)
        self.aliases.append((name, source))
        self.scopes.append(Scope(name, const(0), extent))
        return var(name)

    def _block(self, axis: int, dim: Dim, plan: DimPlan) -> Affine:
        tiles = ceil_div(dim.extent, plan.tile)
        cap = min(plan.blocks or GRID_LIMITS[axis], GRID_LIMITS[axis])
        if tiles.is_constant and tiles.value == 1:
            return const(0)
        self._grid[axis] = tiles if cap == GRID_LIMITS[0] else minimum(tiles, cap)
        block = self._alias(f"b{axis}", f"blockIdx.{AXES[axis]}", self._grid[axis])
        fits = tiles.is_constant and tiles.value <= cap
        if fits or cap == GRID_LIMITS[0]:
            return block
        return self._walk(dim, block, tiles, cap)

    def _serial(self, dim: Dim, plan: DimPlan) -> Affine:
        tiles = ceil_div(dim.extent, plan.tile)
        if tiles.is_constant and tiles.value == 1:
            return const(0)
        return self._walk(dim, const(0), tiles, 1)

    def _walk(self, dim: Dim, low: Affine, tiles: Affine, step: int) -> Affine:
        name = self._names.fresh(f"{dim.name}_w")
        self._loops.append((name, low, tiles, step))
        self.scopes.append(Scope(name, const(0), tiles))
        return var(name)

    def _folded(self, axis: int, mine: list[tuple[Dim, DimPlan]]) -> dict[str, Affine]:
        """Several dimensions share an axis."""
        counts = [(d.name, ceil_div(d.extent, p.tile)) for d, p in mine]
        total = const(1)
        for _, count in counts:
            total = total * count
        cap = min(mine[0][1].blocks or GRID_LIMITS[axis], GRID_LIMITS[axis])
        self._grid[axis] = total if cap == GRID_LIMITS[0] else minimum(total, cap)
        number = self._alias(f"b{axis}", f"blockIdx.{AXES[axis]}", self._grid[axis])
        fits = total.is_constant and total.value <= cap
        if not fits and cap != GRID_LIMITS[0]:
            name = self._names.fresh(f"b{axis}_w")
            self._loops.append((name, number, total, cap))
            self.scopes.append(Scope(name, const(0), total))
            number = var(name)
        return self._split(number, counts, "b")

    def _split(
        self, number: Affine, counts: list[tuple[str, Affine]], suffix: str
    ) -> dict[str, Affine]:
        """A number as digits of mixed radix, the last one fastest, each under its own name."""
        result: dict[str, Affine] = {}
        if len(counts) == 1:
            return {counts[0][0]: number}
        for dim, count in reversed(counts):
            name = self._names.fresh(f"{dim}_{suffix}")
            outermost = dim == counts[0][0]
            value = number if outermost else _modulo(number, count)
            self._lets.append(ir.Let(name, value))
            self.scopes.append(Scope(name, const(0), count))
            result[dim] = var(name)
            if not outermost:
                number = self._quotient(number, count, dim)
        return result

    def _quotient(self, number: Affine, count: Affine, dim: str) -> Affine:
        if count.is_constant:
            return number // count.value
        name = self._names.fresh(f"{dim}_q")
        division = ir.Binary("/", ir.Int(number), ir.Int(count), ScalarType.INT32)
        self._lets.append(ir.Let(name, division))
        self.scopes.append(Scope(name, const(0), const(GRID_LIMITS[0])))
        return var(name)


def _modulo(number: Affine, count: Affine) -> Affine | ir.Expression:
    if count.is_constant:
        return number % count.value
    return ir.Binary("%", ir.Int(number), ir.Int(count), ScalarType.INT32)
