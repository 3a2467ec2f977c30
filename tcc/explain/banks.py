"""Banks of shared memory: how many turns the accesses of a warp take.

Shared memory has 32 banks of 4 bytes; a bank gives one word in a turn, to all lanes that ask for
it. The count is that of the model (`tcc.tune.lanes.shared_wavefronts`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcc.explain.touched import elements_of
from tcc.explain.trace import NOWHERE, Access, Kind, Trace
from tcc.kernel import ir
from tcc.tune.lanes import BANK_BYTES, BANKS, WARP, least_passes, shared_wavefronts
from tcc.tune.lanes import Lanes as Array


@dataclass(frozen=True, eq=False)
class Site:
    """One place of the kernel that accesses a shared array, at its first execution.

    `turns` are those of the worst warp, `least` those that it takes in any case; `words` are the
    words of that warp, from the array's first.
    """

    kind: Kind
    width: int
    turns: int
    least: int
    words: tuple[int, ...]


def sites(buffer: ir.Buffer, found: Trace) -> tuple[Site, ...]:
    """The places that access a shared array, those alike once."""
    seen: dict[int, Access] = {}
    for access in found.accesses:
        if access.buffer.name == buffer.name:
            seen.setdefault(access.site, access)
    result: dict[tuple[Kind, int, int, int], Site] = {}
    for access in seen.values():
        site = _site(access)
        result.setdefault((site.kind, site.width, site.turns, site.least), site)
    return tuple(result.values())


def words_of(elements: Array, element_bytes: int) -> Array:
    """The words that elements lie in."""
    flat = elements[elements != NOWHERE]
    per_word = max(1, BANK_BYTES // element_bytes)
    if element_bytes <= BANK_BYTES:
        return np.unique(flat // per_word)
    parts = element_bytes // BANK_BYTES
    return np.unique((flat[:, None] * parts + np.arange(parts)).ravel())


def _site(access: Access) -> Site:
    every = elements_of(access)
    size = access.buffer.type.bytes
    warps = [every[start : start + WARP] for start in range(0, len(every), WARP)]
    worst = max(warps, key=lambda warp: _turns(warp, size))
    asked = words_of(worst, size)
    least = max(least_passes(access.width * size), -(-len(asked) // BANKS))
    turns = round(_turns(worst, size))
    return Site(access.kind, access.width, turns, least, tuple(asked.tolist()))


def _turns(warp: Array, element_bytes: int) -> float:
    first = warp[None, :, 0]
    there = first != NOWHERE
    return shared_wavefronts(first * element_bytes, there, warp.shape[1] * element_bytes)
