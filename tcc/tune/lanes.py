"""Affine expressions over all threads of a block at once, and what their accesses cost a warp.

Arrays have a row for each warp and a column for each lane; lanes beyond the block, and those that
a condition leaves out, are False in the mask that goes with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import ceil, prod
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from tcc.affine import Affine, Atom, Extremum, Floor, Product, Var

WARP = 32
BANKS = 32
BANK_BYTES = 4
PASS_BYTES = 8
LINE_BYTES = 128
SECTOR_BYTES = 32

Lanes: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Values: TypeAlias = Mapping[str, Lanes | int]


def thread_axes(block: tuple[int, int, int]) -> tuple[Lanes, Lanes, Lanes, Mask]:
    """threadIdx.x, .y and .z of every lane, and which lanes are threads; shape (warps, 32)."""
    count = prod(block)
    numbers = np.arange(ceil(count / WARP) * WARP, dtype=np.int64).reshape(-1, WARP)
    x, y = numbers % block[0], numbers // block[0] % block[1]
    return x, y, numbers // (block[0] * block[1]), numbers < count


def evaluate(form: Affine, values: Values) -> Lanes | int:
    """The value in every lane; an int where all lanes agree. KeyError for an unknown variable."""
    total: Lanes | int = form.constant
    for atom, coefficient in form.terms:
        total = total + coefficient * _atom(atom, values)
    return total


def _atom(atom: Atom, values: Values) -> Lanes | int:
    match atom:
        case Var(name):
            return values[name]
        case Floor(numerator, denominator):
            return evaluate(numerator, values) // denominator
        case Extremum(kind, items):
            pick = np.minimum if kind == "min" else np.maximum
            return reduce(pick, (evaluate(i, values) for i in items))
        case Product(factors):
            return reduce(lambda p, f: p * _atom(f, values), factors[1:], _atom(factors[0], values))
        case _:
            assert_never(atom)


def spread(value: Lanes | int, mask: Mask) -> Lanes:
    """A value of its own in every lane."""
    return np.broadcast_to(np.asarray(value, dtype=np.int64), mask.shape)


def active_warps(mask: Mask) -> float:
    """The part of the warps of a block that have an active lane."""
    return float(mask.any(axis=1).mean())


def shared_wavefronts(addresses: Lanes, mask: Mask, width_bytes: int) -> float:
    """Passes through the banks for one access of a warp, on average over the active warps.

    A bank delivers one word a pass, to all lanes that want that word. A pass serves 8 bytes of a
    lane: 16 bytes take one for each half of the warp even where all lanes agree.
    """
    words = max(1, width_bytes // BANK_BYTES)
    first = addresses // BANK_BYTES
    passes = [
        _worst_bank(np.concatenate([row[there] + w for w in range(words)]))
        for row, there in zip(first, mask, strict=True)
        if there.any()
    ]
    least = least_passes(width_bytes)
    return float(np.mean([max(p, least) for p in passes])) if passes else 0.0


def least_passes(width_bytes: int) -> int:
    """Passes of an access whatever its addresses."""
    return max(1, width_bytes // PASS_BYTES)


def _worst_bank(words: Lanes) -> int:
    return int(np.bincount(np.unique(words) % BANKS, minlength=BANKS).max())


def distinct_units(addresses: Lanes, mask: Mask, width_bytes: int, unit: int) -> float:
    """Distinct aligned units of memory that a warp touches, on average over the active warps."""
    first, last = addresses // unit, (addresses + width_bytes - 1) // unit
    found = [
        len(np.unique(np.concatenate([a[there], b[there]])))
        for a, b, there in zip(first, last, mask, strict=True)
        if there.any()
    ]
    return float(np.mean(found)) if found else 0.0


def linear(index: Sequence[Lanes | int], shape: Sequence[int]) -> Lanes | int:
    """The offset in elements of a row-major array."""
    total: Lanes | int = 0
    for position, extent in zip(index, shape, strict=True):
        total = total * extent + position
    return total
