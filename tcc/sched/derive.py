"""The default plan: the best of a small structured set under the analytic model.

Reductions whose operands are affine get a register micro-tile over two parallel dimensions,
k-tiles, and shared staging where threads read the same elements; everything else is laid over
threads so that neighbours touch neighbouring elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from tcc.frontend import tir
from tcc.sched.layout import laid
from tcc.sched.model import Model, Prediction, extent_of
from tcc.sched.nest import Dim, KernelNest, Nest
from tcc.sched.plan import DimPlan, KernelPlan, LoopPlan, Plan, Staging
from tcc.sched.reuse import Chain, chains
from tcc.sched.row_plan import row_plan
from tcc.target import Target

DIGITS = ((2, 4), (4, 4), (1, 4), (1, 2), (1, 1))
"""(outer, inner) register digits of the row and of the column dimension."""

MOST_POINTS = 128
UNROLLED_LIMIT = 1280
K_POINTS = (8, 16, 32)
THREADS = (4, 8, 16, 32)
EXTRA = (1, 2, 4)
BLOCK_SIZES = (48, 256)
POINTWISE_THREADS = 256
MOST_REGISTERS = 240


@dataclass(frozen=True)
class Candidate:
    """One plan with what the model says of it."""

    plan: KernelPlan
    prediction: Prediction


def derive(nest: Nest, program: tir.Program, target: Target) -> Plan:
    """The default plan of every kernel, without measurement."""
    return Plan(tuple(_kernel(k, program, target) for k in nest.kernels))


def candidates(
    kernel: KernelNest, program: tir.Program, target: Target
) -> tuple[Candidate, ...]:
    """The structured set of plans of one kernel, each within the target's budget."""
    found = chains(kernel, program)
    if not found or not kernel.parallel:
        return ()
    model = Model(kernel, found, program.tensors, target)
    result: list[Candidate] = []
    for plan in _Space(kernel, found).plans():
        prediction = model.predict(plan)
        fits = prediction.shared_bytes <= target.max_shared_bytes
        if fits and prediction.registers <= MOST_REGISTERS:
            result.append(Candidate(plan, prediction))
    return tuple(result)


def _kernel(kernel: KernelNest, program: tir.Program, target: Target) -> KernelPlan:
    rows = row_plan(kernel, program, target)
    if rows is not None:
        return rows
    found = candidates(kernel, program, target)
    if found:
        return min(found, key=lambda c: c.prediction.cycles).plan
    return pointwise(kernel)


def pointwise(kernel: KernelNest) -> KernelPlan:
    """One point a thread; threads along the last dimensions, blocks over the rest."""
    dims = kernel.parallel
    plans: dict[str, DimPlan] = {}
    left = POINTWISE_THREADS
    for dim in reversed(dims):
        threads = min(left, _power_above(extent_of(dim.extent)))
        plans[dim.name] = laid(dims, dim, threads, 1, 1)
        left //= threads
    return KernelPlan(kernel.name, tuple(plans[d.name] for d in dims))


class _Space:
    """The structured set of plans of one kernel."""

    def __init__(self, kernel: KernelNest, found: tuple[Chain, ...]) -> None:
        self._kernel = kernel
        self._dims = kernel.parallel
        self._chains = found
        self._extents = {d.name: extent_of(d.extent) for d in kernel.parallel}
        self._loops: dict[tuple[int, int], tuple[LoopPlan, ...]] = {}
        self._stages: dict[frozenset[str], tuple[tuple[str, Staging], ...]] = {}

    def plans(self) -> Iterator[KernelPlan]:
        """Micro-tiles, thread shapes and k-tiles that make sense for the extents."""
        column = self._dims[-1]
        rows = _rows(self._dims, column, self._chains)
        for row, column_digits, row_digits in product(rows, DIGITS, DIGITS):
            points = prod(row_digits) * prod(column_digits)
            if points > MOST_POINTS or (row is None and prod(row_digits) > 1):
                continue
            columns = self._thread_counts(column, prod(column_digits))
            heights = self._thread_counts(row, prod(row_digits)) if row else (1,)
            others = [d for d in self._dims if d is not row and d is not column]
            for across, down, extra in product(columns, heights, EXTRA if others else (1,)):
                if not BLOCK_SIZES[0] <= across * down * extra <= BLOCK_SIZES[1]:
                    continue
                digits = {column.name: (across, *column_digits)}
                if row is not None:
                    digits[row.name] = (down, *row_digits)
                if extra > 1:
                    if self._extents[others[-1].name] < extra:
                        continue
                    digits[others[-1].name] = (extra, 1, 1)
                yield from self._tiled(digits, points)

    def _tiled(self, digits: Mapping[str, tuple[int, int, int]], points: int) -> list[KernelPlan]:
        dims = tuple(laid(self._dims, d, *digits.get(d.name, (1, 1, 1))) for d in self._dims)
        threaded = frozenset(n for n, (threads, _, _) in digits.items() if threads > 1)
        loops = dict.fromkeys(self._loop_plans(points, k) for k in K_POINTS)
        staging = self._staging(threaded)
        return [KernelPlan(self._kernel.name, dims, chosen, staging, 2) for chosen in loops]

    def _thread_counts(self, dim: Dim, points: int) -> tuple[int, ...]:
        """Powers of two, and the count that covers a known extent exactly; none far beyond it."""
        needed = -(-self._extents[dim.name] // points)
        counts = {t for t in THREADS if t < 2 * needed}
        if dim.extent.is_constant and needed <= max(THREADS):
            counts.add(needed)
        return tuple(sorted(counts)) or (1,)

    def _loop_plans(self, points: int, wanted: int) -> tuple[LoopPlan, ...]:
        key = points, wanted
        if key not in self._loops:
            self._loops[key] = tuple(p for c in self._chains for p in _loop_plans(c, *key))
        return self._loops[key]

    def _staging(self, threaded: frozenset[str]) -> tuple[tuple[str, Staging], ...]:
        """Shared where several threads of a block read the same element."""
        if threaded not in self._stages:
            result = {
                o.tensor: Staging.SHARED
                if o.forms and any(not o.uses(d) for d in threaded)
                else Staging.REGISTER
                for c in self._chains
                for o in c.operands
            }
            self._stages[threaded] = tuple(sorted(result.items()))
        return self._stages[threaded]


def _rows(dims: tuple[Dim, ...], column: Dim, found: tuple[Chain, ...]) -> list[Dim | None]:
    """Dimensions whose values share an operand that the column's values do not share."""
    operands = [o for c in found for o in c.operands]
    shared = [
        d
        for d in dims
        if d is not column
        and any(o.uses(column.name) and not o.uses(d.name) for o in operands)
    ]
    others = [d for d in dims if d is not column]
    return list(shared) or list(others[-1:]) or [None]


def _loop_plans(chain: Chain, points: int, wanted: int) -> tuple[LoopPlan, ...]:
    """Tiles of reduction loops: inner loops whole while the unrolled body stays small."""
    budget = max(1, UNROLLED_LIMIT // points)
    wanted = min(budget, wanted)
    plans: list[LoopPlan] = []
    for dim in reversed(chain.loops):
        extent = extent_of(dim.extent) if dim.extent.is_constant else None
        tile = _divisor(extent, wanted, budget) if extent is not None else wanted
        plans.append(LoopPlan(dim.name, tile))
        wanted, budget = max(1, -(-wanted // tile)), max(1, budget // tile)
        wanted = min(wanted, budget)
    return tuple(reversed(plans))


def _divisor(extent: int, wanted: int, budget: int) -> int:
    """The tile near `wanted`: a divisor when there is one at least half as large."""
    if extent <= budget and extent <= 2 * wanted:
        return extent
    best = max(t for t in range(1, min(wanted, extent) + 1) if extent % t == 0)
    return best if 2 * best >= min(wanted, extent) else min(wanted, extent)


def _power_above(extent: int) -> int:
    return 1 << max(0, extent - 1).bit_length()
