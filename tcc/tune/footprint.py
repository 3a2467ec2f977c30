"""Bytes that a kernel moves from L2 and from memory, from the boxes that its accesses touch.

The data of an array that a group of threads uses is taken as a box: in each dimension the
interval of the subscripts. Reuse is found loop by loop: the data of a loop's body stays in the
L1 cache when all boxes of the body fit together, and is fetched anew by every iteration otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod

from tcc.affine import Affine, remainders
from tcc.tune.lanes import SECTOR_BYTES

Range = tuple[int, int]


@dataclass(frozen=True)
class LoopRange:
    """A loop around an access: its variable, where it begins and ends, and its iterations.

    `number` tells loops apart whose variables have the same name. `low` and `high` may depend on
    blocks, threads and loops further out; `first` and `last` are the values in one block.
    """

    number: int
    var: str
    low: Affine
    high: Affine
    step: int
    first: int
    last: int
    trips: float


@dataclass(frozen=True)
class Side:
    """One side of a box: the interval of a subscript, and which part of it occurs."""

    low: int
    high: int
    density: float = 1.0

    @property
    def count(self) -> float:
        """Values that occur."""
        return max(1.0, (self.high - self.low + 1) * self.density)


@dataclass(frozen=True)
class Gather:
    """A subscript that is read from memory: any of `extent` values, one for each of its inputs."""

    variables: frozenset[str]
    extent: int


Subscript = Affine | Gather


@dataclass(frozen=True)
class Access:
    """One access in global memory, of `width` consecutive elements.

    `sectors` are those of 32 bytes that a block asks the L1 cache for.
    """

    buffer: str
    subscripts: tuple[Subscript, ...]
    shape: tuple[int, ...]
    element_bytes: int
    width: int
    loops: tuple[LoopRange, ...]
    threads: Mapping[str, Range]
    sectors: float
    is_store: bool


@dataclass(frozen=True)
class Traffic:
    """Bytes between one block and L2, and between L2 and memory for the whole kernel."""

    block_l2_bytes: float
    dram_bytes: float


def traffic(
    accesses: Sequence[Access],
    grid: Mapping[str, int],
    l1_bytes: float,
    l2_bytes: float,
    concurrent: int,
) -> Traffic:
    """The traffic of a kernel.

    `grid` has the extents of the block variables, x first; `l1_bytes` is what a block has of the
    L1 cache, `l2_bytes` the size of the L2 cache; `concurrent` blocks run at once.
    """
    middle = {name: ((extent - 1) // 2,) * 2 for name, extent in grid.items()}
    blocks = prod(grid.values())
    loads, stores = _by_buffer(accesses, False), _by_buffer(accesses, True)
    written = sum(_asked(g) for g in stores.values())
    per_block = written + sum(_fetched(loads, middle, l1_bytes).values())
    whole = {name: (0, extent - 1) for name, extent in grid.items()}
    once = {b: min(_union(g, whole, 0), _asked(g) * blocks) for b, g in loads.items()}
    out = sum(min(_union(g, whole, 0), _asked(g) * blocks) for g in stores.values())
    if sum(once.values()) + out <= l2_bytes:
        return Traffic(per_block, min(sum(once.values()) + out, per_block * blocks))
    dram = out
    for buffer, missed in _fetched(loads, middle, l2_bytes / concurrent).items():
        together = _union(loads[buffer], _at_once(grid, concurrent), 0)
        alone = _union(loads[buffer], middle, 0)
        shared = min(1.0, together / (alone * concurrent)) if alone else 1.0
        dram += max(once[buffer], missed * blocks * shared)
    return Traffic(per_block, min(dram, per_block * blocks))


def _fetched(
    loads: Mapping[str, Sequence[Access]], blocks: Mapping[str, Range], cache_bytes: float
) -> dict[str, float]:
    """What a block fetches of each buffer through a cache that it has so many bytes of."""
    depth = max((len(a.loops) for g in loads.values() for a in g), default=0)
    for fixed in range(depth + 1):
        parts = {b: _by_loops(g, fixed) for b, g in loads.items()}
        boxes = {b: [_union(part, blocks, fixed) for part in p] for b, p in parts.items()}
        if sum(max(sizes) for sizes in boxes.values()) <= cache_bytes:
            return {
                b: sum(
                    min(_asked(part), box * prod(x.trips for x in part[0].loops[:fixed]))
                    for part, box in zip(parts[b], boxes[b], strict=True)
                )
                for b in loads
            }
    return {b: _asked(g) for b, g in loads.items()}


def _by_loops(group: Sequence[Access], fixed: int) -> list[list[Access]]:
    """Accesses that share their `fixed` outermost loops; others do not happen at the same time."""
    parts: dict[tuple[int, ...], list[Access]] = {}
    for access in group:
        parts.setdefault(tuple(x.number for x in access.loops[:fixed]), []).append(access)
    return list(parts.values())


def _asked(group: Sequence[Access]) -> float:
    """Bytes that a block asks its L1 cache for."""
    return sum(a.sectors for a in group) * SECTOR_BYTES


def _by_buffer(accesses: Iterable[Access], stores: bool) -> dict[str, list[Access]]:
    groups: dict[str, list[Access]] = {}
    for access in accesses:
        if access.is_store == stores:
            groups.setdefault(access.buffer, []).append(access)
    return groups


def _union(group: Sequence[Access], blocks: Mapping[str, Range], fixed: int) -> float:
    """Bytes of the box around several accesses of one buffer; at most those of their boxes."""
    boxes = [_box(a, blocks, fixed) for a in group]
    each = sum(_bytes(b, a) for b, a in zip(boxes, group, strict=True))
    if len({len(box) for box in boxes}) > 1:  # copies may take a tensor as one row
        return each
    hull = [
        Side(min(s.low for s in sides), max(s.high for s in sides), max(s.density for s in sides))
        for sides in zip(*boxes, strict=True)
    ]
    return min(_bytes(hull, group[0]), each)


def _box(access: Access, blocks: Mapping[str, Range], fixed: int) -> list[Side]:
    """The sides of what is accessed while the `fixed` outermost loops stand still."""
    ranges: dict[str, Range] = {**access.threads, **blocks}
    for number, loop in enumerate(access.loops):
        low = high = (loop.first + loop.last) // 2
        if number >= fixed:
            low, latest = _bounds(loop.low, ranges)
            high = _bounds(loop.high, ranges)[1] - 1
            if low == latest:
                high = low + (high - low) // loop.step * loop.step
        ranges[loop.var] = low, max(low, high)
    strided = [x for x in access.loops[fixed:] if x.step > 1]
    box = [
        _side(s, ranges, extent, strided)
        for s, extent in zip(access.subscripts, access.shape, strict=True)
    ]
    if box:
        last = min(box[-1].high + access.width - 1, access.shape[-1] - 1)
        box[-1] = replace(box[-1], high=last)
    return box


def _side(
    subscript: Subscript, ranges: Mapping[str, Range], extent: int, strided: Sequence[LoopRange]
) -> Side:
    if isinstance(subscript, Gather):
        # Values are as good as random: as many of them as there are inputs.
        inputs = prod(high - low + 1 for low, high in (ranges[v] for v in subscript.variables))
        return Side(0, min(inputs, subscript.extent) - 1)
    low, high = _bounds(subscript, ranges)
    first = max(0, low)
    return Side(first, max(first, min(high, extent - 1)), _density(subscript, ranges, strided))


def _density(form: Affine, ranges: Mapping[str, Range], strided: Sequence[LoopRange]) -> float:
    """The part of an interval that loops with larger steps than what is inside them reach."""
    part = 1.0
    for loop in strided:
        factor = abs(form.coefficient(loop.var))
        low, high = _bounds(form.without([loop.var]), ranges)
        starts = _bounds(loop.low, ranges)
        inside = high - low + 1 + factor * (starts[1] - starts[0])
        first, last = ranges[loop.var]
        whole = high - low + 1 + factor * (last - first)
        part *= min(1.0, inside * loop.trips / whole)
    return part


def _bounds(form: Affine, ranges: Mapping[str, Range]) -> Range:
    """The interval of a form whose variables all have ranges; `n % d` stays below d."""
    rest, found = remainders(form)
    low, high = rest.bounds(ranges)
    if low is None or high is None:
        raise ValueError(f"a variable of {form} has no range")
    for floor, count in found:
        least, most = _bounds(floor.numerator, ranges)
        if least // floor.denominator != most // floor.denominator:
            least, most = 0, floor.denominator - 1
        ends = (least % floor.denominator * count, most % floor.denominator * count)
        low, high = low + min(ends), high + max(ends)
    return low, high


def _bytes(box: Sequence[Side], access: Access) -> float:
    """Bytes of a box in whole sectors; rows that follow each other without a gap count as one."""
    run, rows = float(access.element_bytes), 1.0
    whole = True
    for side, extent in zip(reversed(box), reversed(access.shape), strict=True):
        if whole:
            run *= side.count
            whole = side.count >= extent
        else:
            rows *= side.count
    return rows * ceil(run / SECTOR_BYTES) * SECTOR_BYTES


def _at_once(grid: Mapping[str, int], concurrent: int) -> dict[str, Range]:
    """Ranges of the block variables over the blocks that run at once; x runs fastest."""
    ranges: dict[str, Range] = {}
    left = concurrent
    for name, extent in grid.items():
        here = min(extent, left)
        ranges[name] = ((extent - here) // 2, (extent + here) // 2 - 1)
        left = ceil(left / extent)
    return ranges
