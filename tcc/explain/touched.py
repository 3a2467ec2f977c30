"""What a block touches of each tensor, counted over its trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcc.explain.trace import NOWHERE, Access, Kind, Trace
from tcc.kernel import ir
from tcc.tune.lanes import SECTOR_BYTES, WARP
from tcc.tune.lanes import Lanes as Array

WARP_SHIFT = 40
"""Requests are told apart above the bits of an element's offset."""
GATHERED = "at places that depend on data"


@dataclass(frozen=True)
class Touched:
    """One tensor of a kernel, over the traced part of one block.

    `elements` are distinct; `moved` counts elements loaded from or stored to global memory, each
    time; `used` is the mean number of elements that a thread computes with, `sharing` how many
    threads use an element in the mean. `width` is the widest access in elements, `efficiency` the
    part of the sectors that warps ask for which they need. All are 0 where the places depend on
    data.
    """

    tensor: str
    buffer: str
    kind: Kind
    through: str
    elements: int = 0
    moved: int = 0
    used: float = 0.0
    sharing: float = 0.0
    width: int = 0
    efficiency: float = 0.0


def touched(kernel: ir.Kernel, names: dict[str, str], found: Trace) -> tuple[Touched, ...]:
    """All tensors of a kernel; `names` has the user's name of every buffer."""
    rows = []
    for buffer in kernel.buffers:
        for kind in Kind:
            mine = [a for a in found.accesses if a.buffer.name == buffer.name and a.kind is kind]
            if mine:
                rows.append(_row(buffer, names[buffer.name], kind, mine, found))
        if buffer.name in found.unknown and not any(r.buffer == buffer.name for r in rows):
            rows.append(Touched(names[buffer.name], buffer.name, Kind.LOAD, through=GATHERED))
    return tuple(rows)


def _row(buffer: ir.Buffer, tensor: str, kind: Kind, mine: list[Access], found: Trace) -> Touched:
    every = [elements_of(a) for a in mine]
    flat = np.concatenate([e[e != NOWHERE] for e in every])
    elements = len(np.unique(flat))
    pairs = found.uses.get(buffer.name)
    used = len(flat) if pairs is None or kind is Kind.STORE else len(pairs)
    over = elements if pairs is None or kind is Kind.STORE else len(np.unique(pairs[:, 1]))
    needed, asked = _sectors(every, buffer.type.bytes)
    return Touched(
        tensor,
        buffer.name,
        kind,
        _through(buffer, kind, found),
        elements,
        len(flat),
        used / found.threads,
        used / max(1, over),
        max(a.width for a in mine),
        needed / max(1, asked),
    )


def elements_of(access: Access) -> Array:
    """Every element of an access: threads x width, NOWHERE where idle."""
    lanes = np.arange(access.width, dtype=np.int64)
    at = access.offsets[:, None]
    return np.where(at == NOWHERE, NOWHERE, at + lanes)


def _sectors(every: list[Array], element_bytes: int) -> tuple[int, int]:
    """Sectors that the distinct bytes of all requests would fill, and sectors asked for."""
    keys = []
    first = 0
    for elements in every:
        warps = first + np.arange(len(elements), dtype=np.int64)[:, None] // WARP
        on = elements != NOWHERE
        keys.append((np.broadcast_to(warps, elements.shape)[on] << WARP_SHIFT) + elements[on])
        first = int(warps[-1, 0]) + 1
    flat = np.unique(np.concatenate(keys))
    warp, element = flat >> WARP_SHIFT, flat & (1 << WARP_SHIFT) - 1
    _, counts = np.unique(warp, return_counts=True)
    needed = int(np.sum(-(-counts * element_bytes // SECTOR_BYTES)))
    asked = np.unique((warp << WARP_SHIFT) + element * element_bytes // SECTOR_BYTES)
    return needed, len(asked)


def _through(buffer: ir.Buffer, kind: Kind, found: Trace) -> str:
    """Which way values go between global memory and arithmetic."""
    if buffer.name in found.unknown:
        return GATHERED
    if kind is Kind.STORE:
        return "written"
    shared = [name for name, source in found.sources.items() if source == buffer.name]
    return f"through {', '.join(shared)}" if shared else "straight to registers"
