"""At which sizes two kernels are compared: around the tiles of the plan, bounded in work."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, product

from tcc.affine import Affine, Floor, var
from tcc.frontend import tir
from tcc.run.reference import index_box
from tcc.sched.plan import Plan
from tcc.target import GRID_LIMITS

MOST_POINTS = 1 << 21
"""Statement instances of one run at awkward sizes."""
UNTILED = 3
"""The tile that stands for the sizes which the plan does not cut."""
VECTOR = 4
"""Elements in 16 bytes of float32: beyond a tile by so many, vectors still fit, tiles don't."""
_LARGEST = 1 << 20


@dataclass(frozen=True)
class _Steered:
    """One size, and what decides how large it should be: an extent that it makes, its tile.

    `flight`: tiles that a pipeline has in flight, 0 where there is no loop over tiles. `turns`:
    extents at which something happens a second time: the grid has too few blocks, or a sum that
    is cut into parts has two of them.
    """

    name: str
    extent: Affine
    tile: int
    flight: int = 0
    turns: tuple[int, ...] = ()

    @property
    def candidates(self) -> tuple[int, ...]:
        """Extents around the tile, those first at which guards matter most.

        The largest has one tile more than a pipeline has buffers. One vector is the least that
        kernels of open sizes take for multiples of vectors.
        """
        tile = self.tile
        near = (tile + 1, tile + VECTOR, max(1, tile - 1))
        far = max(self.flight, 2) * tile + 1
        return (1, *near, far, _next_prime(tile + 1), tile, VECTOR)


def points(program: tir.Program, sizes: Mapping[str, int]) -> int:
    """Statement instances of a run, triangular ranges counted as boxes."""
    boxes = (index_box(s, sizes) for s in program.statements)
    return sum(math.prod(high - low for low, high in box) for box in boxes)


def tile_points(plan: Plan) -> int:
    """The points that a block has, of all its digits and of one tile of each reduction loop."""
    return max(
        math.prod((*(d.covered for d in k.dims), *(p.tile for p in k.loops))) for k in plan.kernels
    )


def tensor_bytes(program: tir.Program, sizes: Mapping[str, int]) -> int:
    """Memory of all tensors, temporaries included."""
    return sum(
        t.type.bytes * math.prod(e.evaluate(sizes) for e in t.shape)
        for t in program.tensors.values()
    )


def awkward_sizes(
    program: tir.Program,
    conditions: Iterable[tir.Precondition],
    plan: Plan,
    fixed: Mapping[str, int],
    count: int,
    seed: int,
    divided: tir.Program,
) -> tuple[dict[str, int], ...]:
    """At most `count` different assignments of the sizes of `program`, `fixed` put in.

    First all extents at 1, t + 1, t + 4, t - 1, 2 t + 1, a prime, t and 4, for the tile t of each;
    then the `second_turns`; then mixtures of the first ones. What is too much work is shrunk, least
    tiled sizes first. Sizes move until the `conditions` hold, where that is possible for one size
    alone. `divided` is the program with its long sums in parts.
    """
    space = _space(program, conditions, plan, fixed, divided)
    return _assignments(space, chain(_kinds(space), _turns(space), _mixtures(space, seed)), count)


def second_turns(
    program: tir.Program,
    conditions: Iterable[tir.Precondition],
    plan: Plan,
    fixed: Mapping[str, int],
    divided: tir.Program,
) -> tuple[dict[str, int], ...]:
    """The assignments at which a grid has too few blocks, or a sum of `divided` has two parts."""
    space = _space(program, conditions, plan, fixed, divided)
    return _assignments(space, _turns(space), len(space.steered) * 2)


def turns_in_flight(
    program: tir.Program,
    conditions: Iterable[tir.Precondition],
    plan: Plan,
    fixed: Mapping[str, int],
) -> tuple[dict[str, int], ...]:
    """The assignments at which a grid has too few blocks, for every state of a pipeline then.

    A block leaves the buffers of a pipeline in as many states as there are, by its last tile.
    Sizes that are multiples of four may have a kernel of their own.
    """
    space = _space(program, conditions, plan, fixed, program)
    states = max((s.flight for s in space.steered), default=0)
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for count in range(2, max(states, 1) + 2):
        for at, size in enumerate(space.steered):
            for targets in (t for turn in size.turns for t in space.turned(at, turn, (count,))):
                for sizes in space.with_multiples(space.solved(targets)):
                    found.setdefault(tuple(sizes.values()), sizes)
    return tuple(found.values())


def _assignments(
    space: _Space, aims: Iterator[list[int]], count: int
) -> tuple[dict[str, int], ...]:
    """Different sizes for the targets, none of them too much work."""
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for targets in aims:
        sizes = space.shrunk(targets)
        if points(space.program, sizes) <= MOST_POINTS:
            found.setdefault(tuple(sizes.values()), sizes)
        if len(found) >= count:
            break
    return tuple(found.values())


def _space(
    program: tir.Program,
    conditions: Iterable[tir.Precondition],
    plan: Plan,
    fixed: Mapping[str, int],
    divided: tir.Program,
) -> _Space:
    forms = tuple(c.expression for c in conditions)
    return _Space(program, forms, _steered(program, plan, fixed, divided), fixed)


@dataclass(frozen=True)
class _Space:
    """The assignments of the sizes: `conditions` are at least 0, `fixed` sizes stay."""

    program: tir.Program
    conditions: tuple[Affine, ...]
    steered: tuple[_Steered, ...]
    fixed: Mapping[str, int]

    def shrunk(self, targets: list[int]) -> dict[str, int]:
        """Sizes for the targets, with smaller targets until the work is bounded."""
        wanted = list(targets)
        while True:
            sizes = self.solved(wanted)
            if points(self.program, sizes) <= MOST_POINTS or max(wanted) == 1:
                return sizes
            at = self._least(wanted)
            smaller = (1, *self.steered[at].candidates, 2, 3)
            wanted[at] = max(c for c in smaller if c < wanted[at])

    def turned(self, at: int, turn: int, counts: Iterable[int] = (2, 1)) -> Iterator[list[int]]:
        """One extent takes a second turn; the others are small, and not 1 where that is not too
        much work: at 1 results are easily all equal.

        Loops over tiles have as many as the first of `counts` that is not too much work.
        """
        for count, least in product(counts, (UNTILED, 1)):
            small = (max((count - 1) * s.tile + 1 if s.flight else 1, least) for s in self.steered)
            targets = [turn if k == at else extent for k, extent in enumerate(small)]
            if points(self.program, self.solved(targets)) <= MOST_POINTS:
                yield targets
                return

    def with_multiples(self, sizes: dict[str, int]) -> Iterator[dict[str, int]]:
        """The sizes, and the next ones of which vectors are made, where the program allows them."""
        yield sizes
        even = {n: v if n in self.fixed else -(-v // VECTOR) * VECTOR for n, v in sizes.items()}
        holds = all(c.evaluate(even) >= 0 for c in self.conditions)
        if holds and points(self.program, even) <= MOST_POINTS:
            yield even

    def _least(self, wanted: list[int]) -> int:
        """Which extent matters least; two tiles are enough of what has no pipeline."""
        tiles = [s.tile for s in self.steered]
        tall = [
            i for i, s in enumerate(self.steered) if not s.flight and wanted[i] > s.tile + VECTOR
        ]
        if tall:
            return max(tall, key=lambda i: wanted[i])
        # The largest of the least tiled.
        loose = [i for i, w in enumerate(wanted) if w > min(UNTILED, tiles[i])]
        loose = loose or [i for i, w in enumerate(wanted) if w > 1]
        return min(loose, key=lambda i: (tiles[i], -wanted[i]))

    def solved(self, targets: list[int]) -> dict[str, int]:
        """The smallest sizes that make each extent as large as its target."""
        sizes = dict(self.fixed)
        for size, target in zip(self.steered, targets, strict=True):
            known = size.extent.variables <= {*sizes, size.name}
            sizes[size.name] = target
            if known and not size.extent.is_constant:
                sizes[size.name] = _grown(size.extent - target, size.name, 1, sizes) or target
        for form in self.conditions:
            self._repair(form, sizes)
        return {n: sizes[n] for n in (*self.fixed, *self.program.sizes)}

    def _repair(self, form: Affine, sizes: dict[str, int]) -> None:
        """Move the first size that can make the form non-negative."""
        if form.evaluate(sizes) >= 0:
            return
        for size in self.steered:
            if size.name in form.variables:
                now = sizes[size.name]
                value = _grown(form, size.name, now, sizes) or _fallen(form, size.name, now, sizes)
                if value is not None:
                    sizes[size.name] = value
                    return


def _grown(form: Affine, name: str, start: int, sizes: Mapping[str, int]) -> int | None:
    """The smallest value of a size, from `start` on, at which a form that grows with it is >= 0."""
    low, high = start, _LARGEST
    if form.evaluate({**sizes, name: high}) < 0:
        return None
    while low < high:
        middle = (low + high) // 2
        if form.evaluate({**sizes, name: middle}) >= 0:
            high = middle
        else:
            low = middle + 1
    return low


def _fallen(form: Affine, name: str, start: int, sizes: Mapping[str, int]) -> int | None:
    """The largest value up to `start` at which a form that falls with the size is >= 0."""
    value = _grown(form.substitute({name: start - var(name)}), name, 0, sizes)
    return None if value is None or value >= start else start - value


def neighbouring_sizes(sizes: Mapping[str, int], count: int) -> tuple[dict[str, int], ...]:
    """At most `count` assignments near the given one; for programs that only make sense with it."""
    kinds = (
        lambda _: 1,
        lambda s: s + 1,
        lambda s: max(1, s - 1),
        lambda s: 2 * s + 1,
        _next_prime,
        lambda s: -(-s // 2),
    )
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for kind in kinds:
        near = {n: min(kind(s), _LARGEST) for n, s in sizes.items()}
        if near != sizes:
            found.setdefault(tuple(near.values()), near)
    return tuple(found.values())[:count]


def _kinds(space: _Space) -> Iterator[list[int]]:
    """Extents to aim at: the same kind for all sizes."""
    for of_one_kind in zip(*(s.candidates for s in space.steered), strict=True):
        yield list(of_one_kind)


def _turns(space: _Space) -> Iterator[list[int]]:
    """Extents to aim at: second turns."""
    for at, size in enumerate(space.steered):
        for turn in size.turns:
            yield from space.turned(at, turn)


def _mixtures(space: _Space, seed: int) -> Iterator[list[int]]:
    """Extents to aim at: of each size another kind."""
    chance = random.Random(seed)
    for _ in range(8 * len(space.steered) + 32 if space.steered else 0):
        yield [chance.choice(s.candidates) for s in space.steered]


def _next_prime(above: int) -> int:
    number = above + 1
    while any(number % d == 0 for d in range(2, math.isqrt(number) + 1)):
        number += 1
    return number


def _tiles(plan: Plan) -> dict[str, int]:
    """The largest tile of each index name over all kernels."""
    tiles: dict[str, int] = {}
    for kernel in plan.kernels:
        cuts = [(d.dim, d.tile) for d in kernel.dims] + [(p.dim, p.tile) for p in kernel.loops]
        for name, tile in cuts:
            tiles[name] = max(tiles.get(name, 1), tile)
    return tiles


def _flight(plan: Plan) -> dict[str, int]:
    """How many tiles of each reduction index are in flight, at most."""
    flight: dict[str, int] = {}
    for kernel in plan.kernels:
        for loop in kernel.loops:
            flight[loop.dim] = max(flight.get(loop.dim, 1), kernel.pipeline)
    return flight


def _waves(plan: Plan) -> dict[str, int]:
    """The extent at which a dimension has more tiles than its axis has blocks, one more."""
    waves: dict[str, int] = {}
    for kernel in plan.kernels:
        # Where dimensions share an axis, the others have one tile.
        firsts = {d.grid_axis: d for d in reversed(kernel.dims) if d.grid_axis is not None}
        for axis, dim in firsts.items():
            limit = GRID_LIMITS[axis]
            extent = min(dim.blocks or limit, limit) * dim.tile + 1
            waves[dim.dim] = min(waves.get(dim.dim, extent), extent)
    return waves


def _parts(program: tir.Program, divided: tir.Program) -> dict[str, int]:
    """By size, the length of the parts into which it cuts a sum."""
    cut = (s for s in divided.statements if s.target not in program.tensors)
    extents = (r.extent for s in cut for r in s.ranges.values())
    floors = (a for e in extents for a, _ in e.terms if isinstance(a, Floor))
    return {name: f.denominator for f in floors for name in f.numerator.variables}


def _row_tile(plan: Plan) -> int:
    """What the threads of a block take at once of the loops that they share."""
    return max((k.row.threads * k.row.vector for k in plan.kernels if k.row), default=1)


def _steered(
    program: tir.Program, plan: Plan, fixed: Mapping[str, int], divided: tir.Program
) -> tuple[_Steered, ...]:
    """Each open size with its most tiled extent; sizes that only add to extents come first."""
    tiles, row, flight, waves = _tiles(plan), _row_tile(plan), _flight(plan), _waves(plan)
    parts = _parts(program, divided)
    found: dict[str, _Steered] = {}
    for name in program.sizes:
        if name not in fixed:
            found[name] = _Steered(name, Affine(), 1)
    for statement in program.statements:
        names = statement.indices + statement.reductions
        shared = [n for n in names if n not in tiles][-1:]
        for index in names:
            extent = statement.ranges[index].extent
            owner = _owner(extent, found)
            tile = row if index in shared else tiles.get(index, 1)
            if owner is not None and (found[owner].extent.is_constant or tile > found[owner].tile):
                turns = [waves[index]] if index in waves else []
                turns += [parts[owner] + 1] if owner in parts else []
                found[owner] = _Steered(
                    owner, extent, max(tile, 1), flight.get(index, 0), tuple(turns)
                )
    steered = [replace(s, tile=s.tile if s.tile > 1 else UNTILED) for s in found.values()]
    return tuple(sorted(steered, key=lambda s: len(s.extent.variables)))


def _owner(extent: Affine, sizes: Mapping[str, _Steered]) -> str | None:
    """The size that makes an extent grow: `H` of `H - KH + 1`."""
    ones = dict.fromkeys(extent.variables, 64)
    for name in sorted(extent.variables & sizes.keys(), key=list(sizes).index):
        if extent.evaluate({**ones, name: 128}) > extent.evaluate(ones):
            return name
    return None
