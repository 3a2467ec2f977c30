"""How many blocks an SM holds at once, from what the assembler says a kernel uses.

The rules are those of `cuda_occupancy.h`: registers go to warps in units, shared memory to blocks
in units with a reserved part; blocks, threads, registers and shared memory each set a limit.
"""

from __future__ import annotations

from math import ceil

from tcc.target import Target


def resident_blocks(target: Target, threads: int, registers: int, shared_bytes: int) -> int:
    """Blocks of so many threads that an SM holds; `registers` are those of one thread."""
    warps = ceil(threads / target.warp_size)
    per_warp = _rounded(registers * target.warp_size, target.register_unit)
    # Each of the four parts of an SM has a quarter of the registers and of the warps.
    warps_by_registers = target.registers_per_sm // 4 // per_warp * 4
    shared = _rounded(shared_bytes + target.reserved_shared_bytes, target.shared_unit)
    limits = [
        target.max_blocks_per_sm,
        target.max_threads_per_sm // target.warp_size // warps,
        warps_by_registers // warps,
    ]
    if shared:
        limits.append(target.shared_bytes_per_sm // shared)
    return min(limits)


def _rounded(value: int, unit: int) -> int:
    return ceil(value / unit) * unit
