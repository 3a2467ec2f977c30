"""Bytes that a kernel moves from L2 and from memory, from the boxes that its accesses touch.

The data of an array that a group of threads uses is taken as a box: in each dimension the
interval of the subscripts. Reuse is found loop by loop: the data of a loop's body stays in the
L1 cache when all boxes of the body fit together, and is fetched anew by every iteration otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod

from tcc.affine import Affine, remainders
from tcc.tune.lanes import SECTOR_BYTES

Range = tuple[int, int]


@dataclass(frozen=True)
class LoopRange:
    """A sequential loop around an access: its variable, first and last value, and iterations."""

    var: str
    low: int
    high: int
    trips: float


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
    middle = {name: (extent // 2, extent // 2) for name, extent in grid.items()}
    blocks = prod(grid.values())
    per_block = _from_l2(accesses, middle, l1_bytes)
    whole = {name: (0, extent - 1) for name, extent in grid.items()}
    groups = [g for side in (False, True) for g in _by_buffer(accesses, side).values()]
    touched = [_union(g, whole, 0) for g in groups]
    dram = sum(touched)
    if dram > l2_bytes:
        waves = ceil(blocks / concurrent)
        dram = 0.0
        for group, once in zip(groups, touched, strict=True):
            wave = _union(group, _at_once(grid, concurrent), 0)
            dram += max(once, min(waves * min(wave, once), per_block * blocks))
    return Traffic(per_block, min(dram, per_block * blocks))


def _from_l2(accesses: Sequence[Access], blocks: Mapping[str, Range], l1_bytes: float) -> float:
    """Bytes that a block gets from L2 and writes to it: every store, and what L1 does not keep."""
    stores = sum(a.sectors * SECTOR_BYTES for a in accesses if a.is_store)
    groups = _by_buffer(accesses, False)
    depth = max((len(a.loops) for g in groups.values() for a in g), default=0)
    for fixed in range(depth + 1):
        boxes = {b: _union(group, blocks, fixed) for b, group in groups.items()}
        if sum(boxes.values()) <= l1_bytes:
            return stores + sum(_fetched(g, boxes[b], fixed) for b, g in groups.items())
    return stores + sum(_asked(g) for g in groups.values())


def _fetched(group: Sequence[Access], box: float, fixed: int) -> float:
    """What a block fetches of a buffer whose box stays in L1 inside the `fixed` outer loops."""
    again = max(prod(x.trips for x in a.loops[:fixed]) for a in group)
    return min(_asked(group), box * again)


def _asked(group: Sequence[Access]) -> float:
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
    hull = [
        (min(b[k][0] for b in boxes), max(b[k][1] for b in boxes)) for k in range(len(boxes[0]))
    ]
    first = group[0]
    return min(_bytes(hull, first), sum(_bytes(b, a) for b, a in zip(boxes, group, strict=True)))


def _box(access: Access, blocks: Mapping[str, Range], fixed: int) -> list[Range]:
    """The interval of each subscript while the `fixed` outermost loops stand still."""
    ranges: dict[str, Range] = {**access.threads, **blocks}
    for number, loop in enumerate(access.loops):
        middle = (loop.low + loop.high) // 2
        ranges[loop.var] = (middle, middle) if number < fixed else (loop.low, loop.high)
    box = [
        _interval(s, ranges, extent)
        for s, extent in zip(access.subscripts, access.shape, strict=True)
    ]
    if box:
        low, high = box[-1]
        box[-1] = low, min(high + access.width - 1, access.shape[-1] - 1)
    return box


def _interval(subscript: Subscript, ranges: Mapping[str, Range], extent: int) -> Range:
    if isinstance(subscript, Gather):
        # Values are as good as random: as many of them as there are inputs.
        inputs = prod(high - low + 1 for low, high in (ranges[v] for v in subscript.variables))
        return 0, min(inputs, subscript.extent) - 1
    low, high = _bounds(subscript, ranges)
    first = max(0, low)
    return first, max(first, min(high, extent - 1))


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


def _bytes(box: Sequence[Range], access: Access) -> float:
    """Bytes of a box in whole sectors; rows that follow each other without a gap count as one."""
    run, rows = access.element_bytes, 1
    whole = True
    for (low, high), extent in zip(reversed(box), reversed(access.shape), strict=True):
        length = high - low + 1
        if whole:
            run *= length
            whole = length == extent
        else:
            rows *= length
    return float(rows * ceil(run / SECTOR_BYTES) * SECTOR_BYTES)


def _at_once(grid: Mapping[str, int], concurrent: int) -> dict[str, Range]:
    """Ranges of the block variables over the blocks that run at once; x runs fastest."""
    ranges: dict[str, Range] = {}
    left = concurrent
    for name, extent in grid.items():
        here = min(extent, left)
        ranges[name] = ((extent - here) // 2, (extent + here) // 2 - 1)
        left = ceil(left / extent)
    return ranges
