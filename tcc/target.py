"""The GPUs tcc compiles for, described by numbers; nothing is read from the machine that compiles.

Limits per architecture are those of the CUDA C++ Programming Guide 13.0: chapter "Compute
Capabilities", table "Technical Specifications per Compute Capability" (threads, blocks, registers,
shared memory) and table "Throughput of Native Arithmetic Instructions" (lanes). The tuning guides
of the architectures add that each block reserves 1 KiB of shared memory from sm_80 on; the units of
allocation are those of `cuda_occupancy.h` of toolkit 13.0. Where the figures of the memory paths,
which only predictions use, come from is said in docs/model.md. Counts of SMs, clocks, caches and
memory bandwidth belong to one board of each architecture, named in `board`, and are those of its
data sheet or white paper (B200: as its driver reports them); they steer choices and
predictions, never what is correct.
"""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * 1024
GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""Blocks along x, y and z, on every architecture since sm_30."""


@dataclass(frozen=True)
class Target:
    """One GPU architecture, with the figures of a typical board."""

    name: str
    """What `--arch` takes, `sm_90`."""
    board: str
    """The board that the figures below `fp64_lanes` describe."""
    max_threads_per_sm: int
    max_blocks_per_sm: int
    shared_bytes_per_sm: int
    """Shared memory that the resident blocks of an SM share."""
    max_shared_bytes_opt_in: int
    """Largest shared memory of a block whose launcher asks for more than the default."""
    reserved_shared_bytes: int
    """Shared memory the system takes for each resident block."""
    fp32_lanes: int
    """Results of fp32 add, multiply and multiply-add per clock and SM."""
    fp64_lanes: int
    """The same for fp64."""
    sms: int
    clock_mhz: int
    """Boost clock."""
    l2_bytes: int
    dram_gb_per_s: int
    """10^9 bytes per second."""
    load_store_lanes: int
    """Addresses that an SM takes per clock."""
    l2_bytes_per_clock: int
    """What L2 delivers to all SMs together."""
    shared_latency: int
    """Clocks from a load to its first use, where shared memory has the data."""
    l1_latency: int
    l2_latency: int
    dram_latency: int
    max_shared_bytes: int = 48 * KIB
    """Largest statically declared shared memory of a block."""
    registers_per_sm: int = 64 * KIB
    """32-bit registers."""
    max_registers_per_block: int = 64 * KIB
    max_registers_per_thread: int = 255
    register_unit: int = 256
    """A warp gets registers in multiples of this."""
    max_threads_per_block: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = GRID_LIMITS
    warp_size: int = 32

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability: (9, 0) for sm_90."""
        digits = self.name.removeprefix("sm_")
        return int(digits[:-1]), int(digits[-1])

    @property
    def shared_unit(self) -> int:
        """A block gets shared memory in multiples of this, in bytes."""
        return 128 if self.capability >= (8, 0) else 256

    @property
    def has_async_copy(self) -> bool:
        """True where `cp.async` copies global to shared memory without registers."""
        return self.capability >= (8, 0)

    @property
    def peak_gflops(self) -> float:
        """fp32 multiply-adds at the boost clock, counted as two operations, in 10^9 per second."""
        return 2.0 * self.sms * self.fp32_lanes * self.clock_mhz / 1000.0


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target(
            name="sm_70",
            board="V100 SXM2",
            max_threads_per_sm=2048,
            max_blocks_per_sm=32,
            shared_bytes_per_sm=96 * KIB,
            max_shared_bytes_opt_in=96 * KIB,
            reserved_shared_bytes=0,
            fp32_lanes=64,
            fp64_lanes=32,
            sms=80,
            clock_mhz=1530,
            l2_bytes=6 * MIB,
            dram_gb_per_s=900,
            load_store_lanes=32,
            l2_bytes_per_clock=2048,
            shared_latency=19,
            l1_latency=28,
            l2_latency=193,
            dram_latency=375,
        ),
        Target(
            name="sm_75",
            board="T4",
            max_threads_per_sm=1024,
            max_blocks_per_sm=16,
            shared_bytes_per_sm=64 * KIB,
            max_shared_bytes_opt_in=64 * KIB,
            reserved_shared_bytes=0,
            fp32_lanes=64,
            fp64_lanes=2,
            sms=40,
            clock_mhz=1590,
            l2_bytes=4 * MIB,
            dram_gb_per_s=320,
            load_store_lanes=16,
            l2_bytes_per_clock=1024,
            shared_latency=19,
            l1_latency=32,
            l2_latency=188,
            dram_latency=296,
        ),
        Target(
            name="sm_80",
            board="A100 SXM4 80 GB",
            max_threads_per_sm=2048,
            max_blocks_per_sm=32,
            shared_bytes_per_sm=164 * KIB,
            max_shared_bytes_opt_in=163 * KIB,
            reserved_shared_bytes=KIB,
            fp32_lanes=64,
            fp64_lanes=32,
            sms=108,
            clock_mhz=1410,
            l2_bytes=40 * MIB,
            dram_gb_per_s=2039,
            load_store_lanes=32,
            l2_bytes_per_clock=5120,
            shared_latency=29,
            l1_latency=38,
            l2_latency=262,
            dram_latency=466,
        ),
        Target(
            name="sm_86",
            board="A10",
            max_threads_per_sm=1536,
            max_blocks_per_sm=16,
            shared_bytes_per_sm=100 * KIB,
            max_shared_bytes_opt_in=99 * KIB,
            reserved_shared_bytes=KIB,
            fp32_lanes=128,
            fp64_lanes=2,
            sms=72,
            clock_mhz=1695,
            l2_bytes=6 * MIB,
            dram_gb_per_s=600,
            load_store_lanes=16,
            l2_bytes_per_clock=1536,
            shared_latency=30,
            l1_latency=43,
            l2_latency=273,
            dram_latency=542,
        ),
        Target(
            name="sm_89",
            board="L40S",
            max_threads_per_sm=1536,
            max_blocks_per_sm=24,
            shared_bytes_per_sm=100 * KIB,
            max_shared_bytes_opt_in=99 * KIB,
            reserved_shared_bytes=KIB,
            fp32_lanes=128,
            fp64_lanes=2,
            sms=142,
            clock_mhz=2520,
            l2_bytes=96 * MIB,
            dram_gb_per_s=864,
            load_store_lanes=16,
            l2_bytes_per_clock=3072,
            shared_latency=30,
            l1_latency=43,
            l2_latency=273,
            dram_latency=542,
        ),
        Target(
            name="sm_90",
            board="H100 SXM5",
            max_threads_per_sm=2048,
            max_blocks_per_sm=32,
            shared_bytes_per_sm=228 * KIB,
            max_shared_bytes_opt_in=227 * KIB,
            reserved_shared_bytes=KIB,
            fp32_lanes=128,
            fp64_lanes=64,
            sms=132,
            clock_mhz=1980,
            l2_bytes=50 * MIB,
            dram_gb_per_s=3352,
            load_store_lanes=32,
            l2_bytes_per_clock=5120,
            shared_latency=29,
            l1_latency=41,
            l2_latency=263,
            dram_latency=479,
        ),
        Target(
            name="sm_100",
            board="B200",
            max_threads_per_sm=2048,
            max_blocks_per_sm=32,
            shared_bytes_per_sm=228 * KIB,
            max_shared_bytes_opt_in=227 * KIB,
            reserved_shared_bytes=KIB,
            fp32_lanes=128,
            fp64_lanes=64,
            sms=148,
            clock_mhz=1965,
            l2_bytes=126 * MIB,
            dram_gb_per_s=7672,
            load_store_lanes=32,
            l2_bytes_per_clock=10240,
            shared_latency=29,
            l1_latency=41,
            l2_latency=263,
            dram_latency=479,
        ),
        Target(
            name="sm_120",
            board="RTX 5090",
            max_threads_per_sm=1536,
            max_blocks_per_sm=24,
            shared_bytes_per_sm=100 * KIB,
            max_shared_bytes_opt_in=99 * KIB,
            reserved_shared_bytes=KIB,
            fp32_lanes=128,
            fp64_lanes=2,
            sms=170,
            clock_mhz=2407,
            l2_bytes=96 * MIB,
            dram_gb_per_s=1792,
            load_store_lanes=16,
            l2_bytes_per_clock=4096,
            shared_latency=30,
            l1_latency=43,
            l2_latency=273,
            dram_latency=542,
        ),
    )
}
DEFAULT_TARGET = "sm_90"
