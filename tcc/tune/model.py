"""Predicted time of kernels on a target, level by level, from their IR. Formulas: docs/model.md.

Every figure from here is a prediction and is called that wherever it is printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod

from tcc.driver import Compilation
from tcc.errors import InternalError
from tcc.kernel import ir
from tcc.occupancy import resident_blocks
from tcc.target import Target
from tcc.tune.census import Census, census
from tcc.tune.footprint import Traffic, traffic
from tcc.tune.lanes import SECTOR_BYTES
from tcc.tune.queue import cycle_time
from tcc.tune.work import Latency, Mix, Stall

TYPICAL_SIZE = 1024
"""What a size that stays open counts as where the caller gives no value."""
SCHEDULERS = 4
SPECIAL_LANES = 16
L1_KIB_LEAST = 16
DRAM_SHARE = 0.91
"""Of the bandwidth on the data sheet: what copies reach on A100, H100 and RTX 4090."""
L2_PORT_BYTES = 64
"""What one SM takes from L2 in a clock."""
RESULT_LATENCY = 4
"""Clocks from an arithmetic instruction to one that needs its result, from Volta on."""
LAUNCH_US = 0.9
"""Between two kernels of one stream: what a launch adds to the time that the kernel runs."""


@dataclass(frozen=True)
class Level:
    """One part of the GPU: how long the kernel would keep it busy if nothing else took time."""

    name: str
    time_us: float


@dataclass(frozen=True)
class KernelPrediction:
    """The predicted time of one kernel, and where it goes.

    `levels` are lower bounds that overlap; `exposed_us` is what is left over the largest of them:
    waits that nothing hides, and parts that are busy in turns. Bytes, transactions (passes of the
    load/store units, of 128 bytes or one line each) and barriers are those of the whole kernel.
    """

    kernel: str
    time_us: float
    levels: tuple[Level, ...]
    exposed_us: float
    registers: int
    resident_blocks: int
    resident_warps: int
    waves: float
    dram_bytes: float
    l2_bytes: float
    shared_bytes: float
    transactions: float
    barriers: float

    @property
    def bound(self) -> str:
        """The level that takes longest."""
        return max(self.levels, key=lambda x: x.time_us).name


@dataclass(frozen=True)
class Prediction:
    """The predicted time of all kernels of a program, in launch order."""

    kernels: tuple[KernelPrediction, ...]

    @property
    def time_us(self) -> float:
        """The sum of the kernels and of their launches."""
        return sum(k.time_us for k in self.kernels)


def predict_time(
    compilation: Compilation,
    target: Target,
    sizes: Mapping[str, int] | None = None,
    mixes: Mapping[str, Mix] | None = None,
) -> Prediction:
    """The predicted time of a compiled program.

    `sizes` are values for sizes that stayed open; TYPICAL_SIZE for the others. `mixes` has what is
    known of kernels from their machine code, by name. InternalError for a compilation that was
    stopped before there were kernels.
    """
    if compilation.lowering is None:
        raise InternalError("there are no kernels to predict")
    mapped = compilation.lowering.mapped
    open_sizes = {s for k in mapped.kernels for s in k.sizes}
    values = {**dict.fromkeys(open_sizes, TYPICAL_SIZE), **(sizes or {})}
    kernels: Sequence[ir.Kernel] = mapped.kernels
    if mapped.fast is not None and all(values[q] % 4 == 0 for q in mapped.fast.quarters):
        kernels = mapped.fast.kernels
        values |= {f"{q}_4": values[q] // 4 for q in mapped.fast.quarters}
    known = mixes or {}
    return Prediction(tuple(predict_kernel(k, target, values, known.get(k.name)) for k in kernels))


def predict_kernel(
    kernel: ir.Kernel, target: Target, sizes: Mapping[str, int], mix: Mix | None = None
) -> KernelPrediction:
    """The predicted time of one kernel; `sizes` has all sizes that are open in it."""
    return _Timing(kernel, census(kernel, sizes), target, mix).predict()


class _Timing:
    """Cycles are those of one SM at the boost clock."""

    def __init__(self, kernel: ir.Kernel, counted: Census, target: Target, mix: Mix | None) -> None:
        self._name = kernel.name
        self._counted = counted
        self._target = target
        self._mix = mix
        self._threads = prod(kernel.block)
        self._blocks = prod(counted.grid.values())
        self._sms = min(target.sms, self._blocks)
        needed = mix.registers if mix else counted.registers
        self._registers = min(needed, self._most_registers(kernel))
        self._spilled = mix.local_bytes // 4 if mix else needed - self._registers
        found = resident_blocks(target, self._threads, self._registers, counted.shared_bytes)
        self._resident = max(1, found)
        self._here = min(self._resident, ceil(self._blocks / target.sms))
        self._moved = self._traffic()

    def _most_registers(self, kernel: ir.Kernel) -> int:
        """Registers that a thread can have; launch bounds make the compiler get by with fewer."""
        target = self._target
        most = target.max_registers_per_thread
        if kernel.min_blocks:
            most = min(most, target.registers_per_sm // (kernel.min_blocks * self._threads))
        return min(most, target.max_registers_per_block // self._threads)

    def _traffic(self) -> Traffic:
        target = self._target
        shared = self._here * (self._counted.shared_bytes + target.reserved_shared_bytes)
        l1_bytes = max(L1_KIB_LEAST * 1024, target.shared_bytes_per_sm - shared) / self._here
        concurrent = self._sms * self._here
        return traffic(
            self._counted.accesses, self._counted.grid, l1_bytes, target.l2_bytes, concurrent
        )

    def predict(self) -> KernelPrediction:
        """Rounds of resident blocks on the busiest SM, one after the other."""
        per_sm = ceil(self._blocks / self._target.sms)
        rounds, rest = divmod(per_sm, self._here)
        cycles = rounds * self._here * self._between_blocks(self._here)
        if rest:
            cycles += rest * self._between_blocks(rest)
        time = self._us(cycles) + LAUNCH_US
        levels = (*self._levels(per_sm), Level("launch", LAUNCH_US))
        warps = self._resident * self._counted.warps
        return KernelPrediction(
            self._name,
            time,
            levels,
            time - max(x.time_us for x in levels),
            self._registers,
            self._resident,
            warps,
            self._blocks / (self._target.sms * self._resident),
            self._moved.dram_bytes,
            self._moved.block_l2_bytes * self._blocks,
            self._counted.work.shared_bytes * self._counted.warps * self._blocks,
            self._counted.work.lsu * self._counted.warps * self._blocks,
            self._counted.barriers * self._blocks,
        )

    def _levels(self, per_sm: int) -> tuple[Level, ...]:
        warps = per_sm * self._counted.warps
        compute, lsu = self._demands(warps)
        return (
            Level("instructions", self._us(compute * warps)),
            Level("shared and L1", self._us(lsu * warps)),
            Level("L2", self._us(self._l2_cycles() * per_sm)),
            Level("memory", self._us(self._dram_cycles() * per_sm)),
        )

    def _us(self, cycles: float) -> float:
        return cycles / self._target.clock_mhz

    # -- demands ---------------------------------------------------------------------------

    def _demands(self, warps: int) -> tuple[float, float]:
        """Cycles of an SM for one warp: of the schedulers and lanes, and of the load/store unit."""
        work, target = self._counted.work, self._target
        factor = self._mix.instructions if self._mix else 1.0
        # An operation on a value without a register loads it, and stores the result.
        lost = self._spilled / (self._registers + self._spilled)
        moved = 2 * lost * (work.fp32 + work.fp64)
        lanes = (
            (work.fp32, target.fp32_lanes),
            (work.fp64, target.fp64_lanes),
            (work.special, SPECIAL_LANES),
            (work.accesses + moved, target.load_store_lanes),
        )
        pipes = [count * target.warp_size / wide for count, wide in lanes]
        issue = (work.issue * factor + moved) / min(SCHEDULERS, warps)
        return max(issue, *pipes[:3]), max(work.lsu + moved, pipes[3])

    def _l2_cycles(self) -> float:
        """Of a block: bytes over what one SM gets, with the others at it."""
        target = self._target
        most = min(L2_PORT_BYTES, target.l2_bytes_per_clock / self._sms)
        return self._moved.block_l2_bytes / most

    def _dram_cycles(self) -> float:
        per_cycle = self._target.dram_gb_per_s * DRAM_SHARE * 1000 / self._target.clock_mhz
        return self._moved.dram_bytes / self._blocks / (per_cycle / self._sms)

    def _latency(self, kind: Latency) -> float:
        target = self._target
        match kind:
            case Latency.GLOBAL:
                return self._global_latency()
            case Latency.SHARED | Latency.EXCHANGE | Latency.BARRIER:
                return target.shared_latency
            case Latency.RESULT:
                return RESULT_LATENCY

    def _global_latency(self) -> float:
        """Between those of L1, L2 and memory, by the part of the bytes that each has to serve."""
        target = self._target
        asked = sum(a.sectors for a in self._counted.accesses) * SECTOR_BYTES
        if not asked:
            return target.l1_latency
        missed = min(1.0, self._moved.block_l2_bytes / asked)
        far = min(1.0, self._moved.dram_bytes / (self._moved.block_l2_bytes * self._blocks))
        beyond = target.l2_latency + far * (target.dram_latency - target.l2_latency)
        return target.l1_latency + missed * (beyond - target.l1_latency)

    # -- waits -----------------------------------------------------------------------------

    def _between_blocks(self, blocks: int) -> float:
        """Cycles between the ends of two blocks while so many are there.

        Memory and L2 serve all SMs: they are a limit, not something that a block waits for while
        the others do not use it.
        """
        shared = max(self._l2_cycles(), self._dram_cycles())
        own = [s for s in self._counted.stalls if not s.together]
        step = [s for s in self._counted.stalls if s.together]
        together = self._block_cycles(blocks, own)
        if not step:
            return max(together, shared)
        # A block alone does not fill the SM: what it takes longer can overlap with other blocks.
        alone = self._block_cycles(1, own)
        port = self._moved.block_l2_bytes / L2_PORT_BYTES
        waits = self._waits(step, blocks * self._counted.warps) + port
        return max(cycle_time(blocks, (together,), waits + max(0.0, alone - together)), shared)

    def _block_cycles(self, blocks: int, stalls: Sequence[Stall]) -> float:
        """Cycles for each block if its warps never had to wait for each other."""
        warps = blocks * self._counted.warps
        between = cycle_time(warps, self._demands(warps), self._waits(stalls, warps))
        return between * self._counted.warps

    def _waits(self, stalls: Sequence[Stall], warps: int) -> float:
        """Cycles that a warp waits, less what its own instructions in between take."""
        turns = max(1.0, warps / SCHEDULERS)
        return sum(
            s.times * max(0.0, self._latency(s.latency) - s.hidden * self._pace(s, turns))
            for s in stalls
        )

    def _pace(self, stall: Stall, turns: float) -> float:
        """Cycles for an instruction of a warp, while the others of its scheduler take turns."""
        return 1.0 if stall.latency is Latency.RESULT else turns
