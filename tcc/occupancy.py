"""How many blocks an SM holds at once, from what the assembler says a kernel uses.

The rules are those of `cuda_occupancy.h`: registers go to warps in units, shared memory to blocks
in units with a reserved part; blocks, threads, registers and shared memory each set a limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tcc.target import Target


@dataclass(frozen=True)
class Limit:
    """How many blocks one resource allows: each takes `per_block` of `total`."""

    resource: str
    blocks: int
    per_block: int
    total: int


def resident_blocks(target: Target, threads: int, registers: int, shared_bytes: int) -> int:
    """Blocks of so many threads that an SM holds; `registers` are those of one thread."""
    return limits(target, threads, registers, shared_bytes)[0].blocks


def limits(target: Target, threads: int, registers: int, shared_bytes: int) -> tuple[Limit, ...]:
    """The limits of all resources, the tightest first."""
    warps = ceil(threads / target.warp_size)
    per_warp = _rounded(registers * target.warp_size, target.register_unit)
    # Each of the four parts of an SM has a quarter of the registers and of the warps.
    warps_by_registers = target.registers_per_sm // 4 // per_warp * 4
    most_warps = target.max_threads_per_sm // target.warp_size
    found = [
        Limit("registers", warps_by_registers // warps, per_warp * warps, target.registers_per_sm),
        Limit("threads", most_warps // warps, warps * target.warp_size, target.max_threads_per_sm),
        Limit("blocks", target.max_blocks_per_sm, 1, target.max_blocks_per_sm),
    ]
    shared = _rounded(shared_bytes + target.reserved_shared_bytes, target.shared_unit)
    if shared:
        available = target.shared_bytes_per_sm
        found.append(Limit("shared memory", available // shared, shared, available))
    return tuple(sorted(found, key=lambda limit: limit.blocks))


def _rounded(value: int, unit: int) -> int:
    return ceil(value / unit) * unit
