"""Predicted time of one kernel under one plan, from the access relations and the target's table.

Cycles on one SM, for all blocks that it gets:

    compute = warp instructions / busy schedulers         each issues one a cycle, for its warps
    shared  = wavefronts of 128 bytes                     one a cycle
    global  = bytes of tiles / bytes a cycle from L2      L2_BYTES_PER_CYCLE an SM
    block   = max of the three, times the warps of a block (see `_is_narrow` for a sum)
    kernel  = block * ceil(blocks / SMs) / min(1, independent results in flight / IN_FLIGHT),
              at most what waits alone cost: hypot(block * ceil(blocks / SMs), warp), where a warp
              takes READ_LATENCY longer at each k-point, for the blocks that an SM cannot hold at
              once; at least TILE_LATENCY for each k-tile of these,
              and GATHER_LATENCY for each WAITING_REGISTERS of the rows that data picks, besides
              once a k-tile for their indices, where these are not fetched a k-tile ahead

The model ranks plans; it is no measurement, and everything printed from it is called predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, hypot, prod

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.sched.nest import KernelNest
from tcc.sched.plan import DimPlan, KernelPlan, LoopPlan, Staging
from tcc.sched.reuse import Chain, Operand, is_index
from tcc.target import Target

WARP = 32
SCHEDULERS = 4
IN_FLIGHT = 128
"""Independent results that hide the latency of shared memory: about 30 cycles, four issues each."""
READ_LATENCY = 30
"""Cycles from a fragment's loads to its use, that a warp alone waits for at every k-point."""
LANE_BYTES = 4
PASS_BYTES = 8
"""What a wavefront moves for one lane, even where lanes agree."""
ACCUMULATOR_BYTES = 4
PADDING_WEIGHT = 1 / 16
"""What a lane outside the problem costs although its warp is there anyway: power."""
L2_BYTES_PER_CYCLE = 48
TILE_LATENCY = 600
"""Cycles from the loads of a staged k-tile to its use: one tile is fetched ahead."""
GATHER_LATENCY = 800
"""Cycles from the load of an index or of a row that it picks to its use: they come from memory."""
NOT_HIDDEN = 1 / 4
WAITING_REGISTERS = 16
"""What a thread has in flight of the rows of a k-tile: three or four 128-bit loads in the code of
NVRTC 12, which moves no more of them up."""
TYPICAL_SIZE = 1024
OVERHEAD_REGISTERS = 32
LOOP_OVERHEAD = 24
COPY_INSTRUCTIONS = 3.0
PLACED_COPY_INSTRUCTIONS = 11.0
"""Of a copy whose threads do not walk whole rows: places come from registers, with a predicate."""


@dataclass(frozen=True)
class Prediction:
    """What the model says of one plan. Cycles are those of the busiest SM, `passes` those of its
    shared memory.
    """

    cycles: float
    passes: float
    registers: int
    shared_bytes: int
    resident_warps: int
    blocks: int


def extent_of(expression: Affine) -> int:
    """The extent, with every open size taken as TYPICAL_SIZE; at least 1."""
    sizes = dict.fromkeys(expression.variables, TYPICAL_SIZE)
    return max(1, expression.evaluate(sizes))


@dataclass
class _Work:
    """What one warp does in one block; `tiles`, `points` and `picked` say how often it waits."""

    registers: int
    shared_bytes: int = 0
    issue: float = 0.0
    wavefronts: float = 0.0
    traffic: float = 0.0
    tiles: float = 0.0
    points: float = 0.0
    picked: float = 0.0


@dataclass(frozen=True)
class _Reads:
    """One operand in numbers: for each tensor dimension the coefficients of the loops."""

    tensor: str
    element_bytes: int
    rows: tuple[Mapping[str, int], ...]
    used: frozenset[str]
    alignment: int
    shape: tuple[int, ...]
    gathered: bool
    index: bool

    def row(self, extents: list[int]) -> int:
        """Consecutive elements that a box with these extents has in memory."""
        length = 1
        for extent, whole in zip(reversed(extents), reversed(self.shape), strict=True):
            length *= extent
            if extent != whole:
                break
        return length


class Model:
    """Predicts plans of one kernel. Open sizes count as TYPICAL_SIZE."""

    def __init__(
        self,
        nest: KernelNest,
        chains: tuple[Chain, ...],
        tensors: Mapping[str, tir.Tensor],
        target: Target,
    ) -> None:
        self._target = target
        self._extents = {d.name: extent_of(d.extent) for d in nest.parallel}
        loops = [d for c in chains for d in c.loops]
        self._loop_extents = {d.name: extent_of(d.extent) for d in loops}
        names = (*self._extents, *self._loop_extents)
        self._chains = [
            (
                tuple(d.name for d in chain.loops),
                len(chain.updates),
                tuple(_reads(o, chain, tensors[o.tensor], names) for o in chain.operands),
            )
            for chain in chains
        ]

    def predict(self, plan: KernelPlan) -> Prediction:
        """Predict one plan."""
        return _Evaluation(self._target, self._extents, self._loop_extents, plan).predict(
            self._chains
        )


def _reads(operand: Operand, chain: Chain, tensor: tir.Tensor, names: tuple[str, ...]) -> _Reads:
    rows = tuple({n: f.coefficient(n) for n in names if f.coefficient(n)} for f in operand.forms)
    used = frozenset(n for row in rows for n in row)
    shape = tuple(extent_of(s) for s in operand.shape)
    alignment = shape[-1] if shape and tensor.shape[-1].is_constant else 4
    if operand.gather is not None and not operand.gather.runs_along_memory:
        alignment = 1
    gathered, index = operand.gather is not None, is_index(operand, chain)
    return _Reads(tensor.name, tensor.type.bytes, rows, used, alignment, shape, gathered, index)


def _both(busy: float, waiting: float) -> float:
    """Cycles where an SM works and waits, which overlap as far as there are enough warps."""
    return max(busy, waiting) + NOT_HIDDEN * min(busy, waiting)


class _Evaluation:
    def __init__(
        self,
        target: Target,
        extents: Mapping[str, int],
        loop_extents: Mapping[str, int],
        plan: KernelPlan,
    ) -> None:
        self._target = target
        self._extents = extents
        self._loop_extents = loop_extents
        self._plan = plan
        self._tiles = {d.dim: d.tile for d in plan.dims}
        self._k_tiles = {p.dim: p.tile for p in plan.loops}
        self._k_points = {p.dim: p.points for p in plan.loops}
        self._digits = {d.dim: d.outer * d.inner for d in plan.dims}
        self._staging = dict(plan.staging)
        self._threads = prod(plan.block)
        self._points = prod(self._digits.values())
        self._warps = ceil(self._threads / WARP)
        self._lanes = self._lanes_of_warp()

    def predict(self, chains: list[tuple[tuple[str, ...], int, tuple[_Reads, ...]]]) -> Prediction:
        """Sum over the chains of the kernel."""
        work = _Work(OVERHEAD_REGISTERS)
        for loops, updates, operands in chains:
            points = prod(self._k_points.get(n, 1) for n in loops)
            tiles = prod(ceil(self._loop_extents[n] / self._k_tiles.get(n, 1)) for n in loops)
            per_point, per_tile = float(self._points * updates), float(LOOP_OVERHEAD)
            work.registers += self._points * updates
            work.points += points * tiles
            for operand in operands:
                fragment = prod(n for d, n in self._digits.items() if d in operand.used)
                extents = self._box(operand, loops)
                box = prod(extents)
                work.registers += fragment
                width = self._width(operand)
                loads = self._window(operand) or ceil(fragment / width)
                per_point += loads
                work.wavefronts += loads * self._wavefronts(operand, width) * points * tiles
                work.traffic += box * operand.element_bytes * tiles
                if self._is_shared(operand):
                    per_tile += self._copy(operand, extents)
                    work.tiles = max(work.tiles, float(tiles))
                    work.registers += ceil(box / self._threads)
                    stages = 2 if self._plan.pipeline > 1 else 1
                    work.shared_bytes += box * operand.element_bytes * stages
            work.issue += (per_point * points + per_tile) * tiles
            work.picked += self._waits(operands, loops, points, tiles)
        work.issue += 6.0 * self._points
        sharing = self._plan.sliced
        if sharing is not None:
            # The first thread adds up what the others have.
            work.issue += 2.0 * self._points * sharing.threads
            work.shared_bytes += self._points * self._threads * ACCUMULATOR_BYTES
        return self._total(work)

    def _waits(
        self, operands: tuple[_Reads, ...], loops: tuple[str, ...], points: int, tiles: int
    ) -> int:
        """How often a thread waits for indices and for the rows that these pick."""
        words = 0
        piped = self._plan.pipeline > 1 and tiles > 1
        picked = [o for o in operands if o.gathered]
        for operand in picked if not piped else (o for o in picked if not self._is_shared(o)):
            elements = prod(n for d, n in self._digits.items() if d in operand.used) * points
            if self._is_shared(operand):
                elements = ceil(prod(self._box(operand, loops)) / self._threads)
            words += ceil(elements * operand.element_bytes / LANE_BYTES)
        if not words:
            return 2 if picked else 0
        rounds = ceil(words / WAITING_REGISTERS)
        ahead = piped and all(self._is_shared(o) for o in operands if o.index)
        return tiles * rounds + 1 if ahead else tiles * (rounds + 1)

    def _total(self, work: _Work) -> Prediction:
        blocks = prod(ceil(self._extents[d] / t) for d, t in self._tiles.items())
        resident = self._resident(work.registers, work.shared_bytes)
        waves = ceil(blocks / self._target.sms)
        rounds = ceil(waves / resident)
        there = min(resident, waves) * self._warps
        compute = work.issue / min(SCHEDULERS, there) * self._warps
        shared_path = work.wavefronts * self._warps
        together = compute + shared_path if self._is_narrow else max(compute, shared_path)
        # Points of a k-tile do not wait for each other where what they wait for are gathers.
        points = prod(self._k_points.values()) if work.picked else 1
        busy = max(together, work.traffic / L2_BYTES_PER_CYCLE) * waves
        hidden = min(1.0, there * self._points * points / IN_FLIGHT)
        own = work.issue + (work.wavefronts if self._is_narrow else 0.0)
        alone = (own + work.points * READ_LATENCY) * rounds
        cycles = max(min(busy / hidden, hypot(busy, alone)), work.tiles * TILE_LATENCY * rounds)
        cycles = _both(cycles, work.picked * GATHER_LATENCY * max(1.0, waves / resident))
        idle = 1 - prod(
            self._extents[d] / (ceil(self._extents[d] / t) * t) for d, t in self._tiles.items()
        )
        cycles *= 1 + idle * PADDING_WEIGHT
        return Prediction(
            cycles,
            shared_path * waves,
            work.registers,
            work.shared_bytes,
            resident * self._warps,
            blocks,
        )

    def _is_shared(self, operand: _Reads) -> bool:
        return self._staging.get(operand.tensor) is Staging.SHARED

    def _box(self, operand: _Reads, loops: tuple[str, ...]) -> list[int]:
        """Extents of what a block uses of an operand in one k-tile."""
        spans = self._tiles | {n: self._k_tiles.get(n, 1) for n in loops}
        return [1 + sum(abs(c) * (spans[n] - 1) for n, c in r.items()) for r in operand.rows]

    def _copy(self, operand: _Reads, extents: list[int]) -> float:
        """Instructions of a thread to copy its part of a box to shared memory."""
        row = operand.row(extents)
        width = next(w for w in (4, 2, 1) if row % w == 0 and operand.alignment % w == 0)
        vectors = prod(extents) // width
        rounds = ceil(vectors / self._threads)
        walked = next((k for k, extent in enumerate(extents) if extent > 1), 0)
        inner = max(1, prod(extents[walked + 1 :]) // width)
        # Some threads idle where that lets the others step by whole rows.
        used = self._threads // inner * inner
        regular = used > 0 and ceil(vectors / used) == rounds
        return (COPY_INSTRUCTIONS if regular else PLACED_COPY_INSTRUCTIONS) * rounds + 2

    def _width(self, operand: _Reads) -> int:
        """Elements of one fragment load: the inner digit of a dimension it walks with step 1."""
        shared = self._is_shared(operand)
        rows = operand.rows if shared else operand.rows[-1:]
        for plan in reversed(self._plan.dims):
            if plan.inner == 1 or plan.dim not in operand.used:
                continue
            mine = [r for r in rows if plan.dim in r]
            if len(mine) != 1 or mine[0][plan.dim] != 1:
                continue
            moved = any(n in self._k_tiles and self._k_tiles[n] > 1 for n in mine[0])
            if moved or not (shared or operand.alignment % 4 == 0):
                continue
            return next(w for w in (4, 2, 1) if plan.inner % w == 0)
        return 1

    def _window(self, operand: _Reads) -> float | None:
        """Fragment loads for each point where neighbouring points use the same elements.

        A thread reads the elements of a whole k-tile at once: those of an inner digit that a loop
        moves along the same tensor dimension. None where no dimension is of that kind.
        """
        if not self._is_shared(operand):
            return None
        for plan in self._plan.dims:
            for row in operand.rows:
                loops = [n for n in row if n in self._k_tiles and row[n] == 1]
                if plan.inner == 1 or row.get(plan.dim) != 1 or len(loops) != 1:
                    continue
                tile = self._k_tiles[loops[0]]
                others = prod(n for d, n in self._digits.items() if d in operand.used)
                rows = others // plan.inner
                return rows * ceil((plan.inner + tile - 1) / min(plan.inner, 4)) / tile
        return None

    def _wavefronts(self, operand: _Reads, width: int) -> float:
        """128-byte wavefronts of one fragment load of a warp."""
        lanes = {d: n for d, n in self._lanes.items() if d in operand.used}
        wide = width * operand.element_bytes
        if self._is_shared(operand):
            least = max(1.0, wide / (LANE_BYTES if self._is_narrow else PASS_BYTES))
            return max(least, prod(lanes.values()) * wide / 128)
        whole = {d: int(n) for d, n in lanes.items()}
        distinct, along = prod(whole.values()), operand.rows[-1] if operand.rows else {}
        contiguous = max((whole[d] for d, c in along.items() if d in whole and c == 1), default=1)
        return 2 * max(1.0, distinct / contiguous * max(1.0, contiguous * wide / 128))

    @property
    def _is_narrow(self) -> bool:
        """Whether an SM has fewer fp32 lanes than its schedulers can feed.

        There larger micro-tiles win by more than their instructions say: on an SM like that of an
        A100, a simulation has 8 x 16 points per thread 19 % before 8 x 8. It is modelled as a path
        of LANE_BYTES from shared memory to each lane that does not overlap with arithmetic.
        """
        return self._target.fp32_lanes < SCHEDULERS * WARP

    def _lanes_of_warp(self) -> dict[str, float]:
        """Distinct thread digits of each dimension inside a warp; x runs fastest.

        Of a dimension whose next value begins in the middle of a warp, more than one on average.
        """
        lanes = {d.dim: 1.0 for d in self._plan.dims}
        left = float(WARP)
        inner_first: list[DimPlan | LoopPlan] = [*reversed(self._plan.dims), *self._plan.loops]
        order = sorted(
            (d for d in inner_first if d.thread_axis is not None), key=lambda d: d.thread_axis or 0
        )
        for plan in order:
            lanes[plan.dim] = max(1.0, min(plan.threads, left))
            left = max(1.0, left / plan.threads)
        return lanes

    def _resident(self, registers: int, shared: int) -> int:
        """Blocks that fit an SM at once."""
        t = self._target
        limits = [t.max_blocks_per_sm, t.max_threads_per_sm // self._threads]
        limits.append(t.registers_per_sm // (min(registers, 255) * self._warps * WARP))
        if shared:
            limits.append(t.shared_bytes_per_sm // (shared + t.reserved_shared_bytes))
        return max(1, min(limits))
