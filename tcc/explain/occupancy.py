"""How many blocks an SM holds at once, and what sets the limit.

The rules are those of `cuda_occupancy.h`: registers go to warps in units, shared memory to blocks
in units with a reserved part; blocks, threads, registers and shared memory each set a limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tcc.target import Target


@dataclass(frozen=True)
class Limit:
    """How many blocks one resource allows; `used` and `total` count it, for the resident blocks."""

    resource: str
    blocks: int
    used: int
    total: int


@dataclass(frozen=True)
class Occupancy:
    """The resident blocks and warps of an SM, with all limits, the tightest first."""

    blocks: int
    warps: int
    most_warps: int
    limits: tuple[Limit, ...]

    @property
    def share(self) -> float:
        """Resident warps by those that the SM has room for."""
        return self.warps / self.most_warps


def occupancy(target: Target, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The occupancy of blocks of `threads`; `registers` are those of one thread."""
    warps = ceil(threads / target.warp_size)
    per_warp = _rounded(max(1, registers) * target.warp_size, target.register_unit)
    # Each of the four parts of an SM has a quarter of the registers and of the warps.
    by_registers = target.registers_per_sm // 4 // per_warp * 4 // warps
    shared = _rounded(shared_bytes + target.reserved_shared_bytes, target.shared_unit)
    most_warps = target.max_threads_per_sm // target.warp_size
    counts = {
        "threads": (most_warps // warps, warps * target.warp_size, target.max_threads_per_sm),
        "registers": (by_registers, per_warp * warps, target.registers_per_sm),
        "blocks": (target.max_blocks_per_sm, 1, target.max_blocks_per_sm),
    }
    if shared:
        available = target.shared_bytes_per_sm
        counts["shared memory"] = (available // shared, shared, available)
    blocks = max(1, min(count for count, _, _ in counts.values()))
    limits = [Limit(name, n, blocks * one, all_) for name, (n, one, all_) in counts.items()]
    return Occupancy(
        blocks, blocks * warps, most_warps, tuple(sorted(limits, key=lambda x: x.blocks))
    )


def _rounded(value: int, unit: int) -> int:
    return ceil(value / unit) * unit
