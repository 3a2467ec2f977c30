"""Banks of shared memory: how many turns the accesses of a warp take.

Shared memory has 32 banks of 4 bytes; a bank gives one word in a turn, to all lanes that ask for
it. Counted is the bank with the most distinct words, over a whole warp: equal words are taken to
be merged, as the hardware does within the groups of lanes that it serves together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcc.explain.lanes import Array
from tcc.explain.touched import elements_of
from tcc.explain.trace import NOWHERE, Access, Kind, Trace
from tcc.kernel import ir
from tcc.sched.model import WARP

BANKS = 32
BANK_BYTES = 4


@dataclass(frozen=True, eq=False)
class Site:
    """One place of the kernel that accesses a shared array, at its first execution.

    `turns` are those of the worst warp, `least` those that its distinct words need at best;
    `words` are the words of that warp, from the array's first.
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


def turns(words: Array) -> int:
    """The most distinct words in one bank."""
    distinct = np.unique(words)
    return int(np.bincount(distinct % BANKS, minlength=BANKS).max()) if distinct.size else 0


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
    warps = [
        words_of(every[start : start + WARP], access.buffer.type.bytes)
        for start in range(0, len(every), WARP)
    ]
    worst = max(warps, key=turns)
    return Site(
        access.kind,
        access.width,
        turns(worst),
        -(-len(worst) // BANKS),
        tuple(worst.tolist()),
    )
