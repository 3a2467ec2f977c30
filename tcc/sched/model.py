"""Predicted time of one kernel under one plan, from the access relations and the target's table.

Cycles on one SM, for all blocks that it gets:

    compute = warp instructions / 4                       four schedulers, one issue each a cycle
    shared  = wavefronts of 128 bytes                     one a cycle
    global  = bytes of tiles / bytes a cycle from L2      L2_BYTES_PER_CYCLE an SM
    block   = max of the three, times the warps of a block
    kernel  = block * ceil(blocks / SMs) / min(1, independent results in flight / IN_FLIGHT)

The model ranks plans; it is no measurement, and everything printed from it is called predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, prod

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.sched.nest import KernelNest
from tcc.sched.plan import DimPlan, KernelPlan, Staging
from tcc.sched.reuse import Chain, Operand, box
from tcc.target import Target

WARP = 32
SCHEDULERS = 4
IN_FLIGHT = 256
L2_BYTES_PER_CYCLE = 48
TYPICAL_SIZE = 1024
OVERHEAD_REGISTERS = 32
LOOP_OVERHEAD = 24


@dataclass(frozen=True)
class Prediction:
    """What the model says of one plan. Cycles are those of the busiest SM."""

    cycles: float
    registers: int
    shared_bytes: int
    resident_warps: int
    blocks: int


def predict(
    nest: KernelNest,
    chains: tuple[Chain, ...],
    plan: KernelPlan,
    tensors: Mapping[str, tir.Tensor],
    target: Target,
) -> Prediction:
    """Predict one kernel. Open sizes count as TYPICAL_SIZE."""
    return _Model(nest, chains, plan, tensors, target).predict()


def extent_of(expression: Affine) -> int:
    """The extent, with every open size taken as TYPICAL_SIZE; at least 1."""
    sizes = dict.fromkeys(expression.variables, TYPICAL_SIZE)
    return max(1, expression.evaluate(sizes))


class _Model:
    def __init__(
        self,
        nest: KernelNest,
        chains: tuple[Chain, ...],
        plan: KernelPlan,
        tensors: Mapping[str, tir.Tensor],
        target: Target,
    ) -> None:
        self._chains = chains
        self._plan = plan
        self._tensors = tensors
        self._target = target
        self._dims = {d.dim: d for d in plan.dims}
        self._extents = {d.name: extent_of(d.extent) for d in nest.parallel}
        self._loops = {p.dim: p.tile for p in plan.loops}
        self._threads = prod(plan.block)
        self._points = prod(d.outer * d.inner for d in plan.dims)

    def predict(self) -> Prediction:
        blocks = prod(ceil(self._extents[d.dim] / d.tile) for d in self._plan.dims)
        registers, shared = self.registers(), self.shared_bytes()
        resident = self._resident(registers, shared)
        issue = wavefronts = traffic = 0.0
        for chain in self._chains:
            i, w, b = self._chain(chain)
            issue, wavefronts, traffic = issue + i, wavefronts + w, traffic + b
        issue += 6.0 * self._points
        warps = ceil(self._threads / WARP)
        per_block = max(
            issue / SCHEDULERS * warps, wavefronts * warps, traffic / L2_BYTES_PER_CYCLE
        )
        waves = ceil(blocks / self._target.sms)
        warps_there = min(resident, waves) * warps
        hidden = min(1.0, warps_there * self._points / IN_FLIGHT)
        return Prediction(per_block * waves / hidden, registers, shared, resident * warps, blocks)

    def registers(self) -> int:
        """Registers of a thread: accumulators, fragments, tiles in flight."""
        count = OVERHEAD_REGISTERS
        for chain in self._chains:
            count += self._points * len(chain.updates)
            count += sum(self._fragment(o) for o in chain.operands)
            if self._plan.pipeline > 1:
                boxes = self._boxes(chain)
                count += sum(
                    ceil(e / self._threads) for o, e in boxes.items() if self._is_shared(o)
                )
        return count

    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        stages = 2 if self._plan.pipeline > 1 else 1
        return sum(
            stages * elements * self._tensors[o.tensor].type.bytes
            for chain in self._chains
            for o, elements in self._boxes(chain).items()
            if self._is_shared(o)
        )

    def _chain(self, chain: Chain) -> tuple[float, float, float]:
        """Warp instructions a warp, wavefronts a warp, bytes a block."""
        points = prod(self._tile(d.name) for d in chain.loops)
        tiles = prod(ceil(extent_of(d.extent) / self._tile(d.name)) for d in chain.loops)
        issue = float(self._points * len(chain.updates))
        wavefronts = 0.0
        traffic = 0.0
        for operand in chain.operands:
            loads = ceil(self._fragment(operand) / self._fragment_width(operand))
            issue += loads
            wavefronts += loads * self._wavefronts(operand)
        copies = 0.0
        for operand, elements in self._boxes(chain).items():
            traffic += elements * self._tensors[operand.tensor].type.bytes
            if self._is_shared(operand):
                copies += 2.0 * ceil(elements / 4 / self._threads) + 2
        per_tile = issue * points + copies + LOOP_OVERHEAD
        return per_tile * tiles, wavefronts * points * tiles, traffic * tiles

    def _tile(self, loop: str) -> int:
        return self._loops.get(loop, 1)

    def _boxes(self, chain: Chain) -> dict[Operand, int]:
        """Elements of each operand that a block uses in one k-tile."""
        spans = {d.dim: d.tile for d in self._plan.dims}
        spans |= {d.name: self._tile(d.name) for d in chain.loops}
        return {
            o: prod(high - low + 1 for low, high in box(o.forms, spans))
            for o in chain.operands
        }

    def _is_shared(self, operand: Operand) -> bool:
        return self._plan.stage(operand.tensor) is Staging.SHARED

    def _fragment(self, operand: Operand) -> int:
        return prod(d.outer * d.inner for d in self._plan.dims if operand.uses(d.dim))

    def _fragment_width(self, operand: Operand) -> int:
        """Elements of one fragment load: the inner digit of a dimension it walks with step 1."""
        shared = self._is_shared(operand)
        forms = operand.forms if shared else operand.forms[-1:]
        for plan in reversed(self._plan.dims):
            mine = [f for f in forms if f.coefficient(plan.dim)]
            loops = [n for n in self._loops if any(f.coefficient(n) for f in mine)]
            if plan.inner > 1 and len(mine) == 1 and mine[0].coefficient(plan.dim) == 1:
                tiled = [n for n in loops if self._loops[n] > 1]
                if not tiled or not shared:
                    return next(w for w in (4, 2, 1) if plan.inner % w == 0)
        return 1

    def _wavefronts(self, operand: Operand) -> float:
        """128-byte wavefronts of one fragment load of a warp."""
        shared = self._is_shared(operand)
        distinct = 1
        for plan in self._plan.dims:
            if operand.uses(plan.dim):
                distinct *= self._lanes(plan)
        width = self._fragment_width(operand) * self._tensors[operand.tensor].type.bytes
        if shared:
            return max(1.0, distinct * width / 128)
        contiguous = self._contiguous_lanes(operand)
        return max(1.0, distinct / contiguous * max(1.0, contiguous * width / 128)) * 2

    def _lanes(self, plan: DimPlan) -> int:
        """Distinct thread digits of a dimension inside a warp."""
        if plan.thread_axis is None:
            return 1
        below = 1
        for axis in range(plan.thread_axis):
            below *= self._plan.block[axis]
        faster = [
            d.threads
            for d in reversed(self._plan.dims)
            if d.thread_axis == plan.thread_axis and self._plan.dims.index(d) > self._plan.dims.index(plan)
        ]
        below *= prod(faster)
        return max(1, min(plan.threads, WARP // below)) if below < WARP else 1

    def _contiguous_lanes(self, operand: Operand) -> int:
        if not operand.forms:
            return WARP
        for plan in self._plan.dims:
            if operand.forms[-1].coefficient(plan.dim) == 1:
                return self._lanes(plan)
        return 1

    def _resident(self, registers: int, shared: int) -> int:
        """Blocks that fit an SM at once."""
        t = self._target
        limits = [t.max_blocks_per_sm, t.max_threads_per_sm // self._threads]
        limits.append(t.registers_per_sm // (min(registers, 255) * self._threads))
        if shared:
            limits.append(t.shared_bytes_per_sm // (shared + t.reserved_shared_bytes))
        return max(1, min(limits))
