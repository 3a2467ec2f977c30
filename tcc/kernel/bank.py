"""How boxes lie in shared memory so that the lanes of a warp meet different banks.

Decided by enumeration: for every arrangement the addresses of all lanes are computed, those of the
copy that fills the box and those of the threads that read it, and the words of each bank counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeAlias

WARP = 32
BANKS = 32
BANK_BYTES = 4
PASS_BYTES = 8
"""What a pass moves for one lane: wider accesses take several, whatever their addresses."""

Place: TypeAlias = tuple[int, int]
"""Row and column of an element in a box."""


@dataclass(frozen=True)
class Arrangement:
    """Rows of `pitch` elements; after every `group` of them, `gap` elements are left out."""

    pitch: int
    group: int = 1
    gap: int = 0

    def offset(self, place: Place) -> int:
        """The number of an element."""
        row, column = place
        return row * self.pitch + column + row // self.group * self.gap

    def elements(self, rows: int) -> int:
        """Elements that so many rows take, the last row with its padding."""
        return rows * self.pitch + (rows - 1) // self.group * self.gap


@dataclass(frozen=True)
class Access:
    """An access of every warp: where its active lanes are, `width` elements each, how often.

    `warps` has each pattern once, with how many warps have it.
    """

    warps: Mapping[frozenset[Place], int]
    width: int
    times: int

    def passes(self, at: Arrangement, element_bytes: int) -> int:
        """Passes through the banks, of all warps and times."""
        wide = self.width * element_bytes
        return self.times * sum(
            count * passes([at.offset(p) * element_bytes for p in places], wide)
            for places, count in self.warps.items()
        )

    def least(self, element_bytes: int) -> int:
        """A lower bound of the passes: every bank gives one word in each."""
        wide = self.width * element_bytes
        return self.times * sum(
            count * max(_least(wide), ceil(len(places) * wide / (BANKS * BANK_BYTES)))
            for places, count in self.warps.items()
        )


def in_warps(places: Sequence[Place], group: int, unit: int) -> Mapping[frozenset[Place], int]:
    """The patterns of all warps, for the places of all threads.

    Patterns that differ by whole groups of rows and by units of columns meet the banks alike:
    every word is so much further.
    """
    found: Counter[frozenset[Place]] = Counter()
    for start in range(0, len(places), WARP):
        lanes = set(places[start : start + WARP])
        top, left = min(row for row, _ in lanes), min(column for _, column in lanes)
        top, left = top - top % group, left - left % unit
        found[frozenset((row - top, column - left) for row, column in lanes)] += 1
    return found


def passes(addresses: Iterable[int], width_bytes: int) -> int:
    """Passes of one access of a warp, for the byte addresses of its active lanes.

    A bank delivers one word a pass, to all lanes that want it.
    """
    words = max(1, width_bytes // BANK_BYTES)
    counts = [0] * BANKS
    for word in {a // BANK_BYTES + k for a in addresses for k in range(words)}:
        counts[word % BANKS] += 1
    return max(_least(width_bytes), *counts)


def _least(width_bytes: int) -> int:
    return max(1, width_bytes // PASS_BYTES)


def arrange(
    rows: int, columns: int, unit: int, element_bytes: int, group: int, accesses: Sequence[Access]
) -> Arrangement:
    """The arrangement with the fewest passes; of equal ones the smallest.

    Rows start at multiples of `unit` elements, so that vectors stay aligned. At most one `unit` a
    row is left out, which is what `budget.operand_bytes` allows for.
    """
    aim = sum(a.least(element_bytes) for a in accesses)
    best, fewest = Arrangement(columns), -1
    for at in sorted(_arrangements(columns, unit, group), key=lambda a: a.elements(rows)):
        count = sum(a.passes(at, element_bytes) for a in accesses)
        if fewest < 0 or count < fewest:
            best, fewest = at, count
        if fewest <= aim:
            break
    return best


def _arrangements(columns: int, unit: int, group: int) -> Iterator[Arrangement]:
    pitch = ceil(columns / unit) * unit
    yield Arrangement(pitch)
    yield Arrangement(pitch + unit)
    if group > 1:
        for gap in range(unit, unit * group + 1, unit):
            yield Arrangement(pitch, group, gap)
