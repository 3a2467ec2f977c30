"""The default plan: the best of a small structured set under the analytic model.

Reductions whose operands are affine get a register micro-tile over two parallel dimensions,
k-tiles, and shared staging where threads read the same elements; everything else is laid over
threads so that neighbours touch neighbouring elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, prod

from tcc.frontend import tir
from tcc.sched.model import Prediction, extent_of, predict
from tcc.sched.nest import Dim, KernelNest, Nest
from tcc.sched.plan import DimPlan, KernelPlan, LoopPlan, Plan, Staging
from tcc.sched.reuse import Chain, Operand, chains
from tcc.target import Target

MICRO_TILES = (
    ((2, 4), (4, 4)),
    ((2, 4), (2, 4)),
    ((1, 4), (2, 4)),
    ((2, 4), (1, 4)),
    ((1, 4), (1, 4)),
    ((1, 2), (1, 4)),
    ((1, 2), (1, 2)),
    ((1, 1), (1, 4)),
    ((1, 1), (1, 1)),
)
"""(outer, inner) register digits of the row and the column dimension."""

UNROLLED_LIMIT = 1280
K_POINTS = (8, 16)
POINTWISE_THREADS = 256


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
    result: dict[KernelPlan, Candidate] = {}
    for plan in _plans(kernel, found):
        prediction = predict(kernel, found, plan, program.tensors, target)
        if prediction.registers <= 240 and prediction.shared_bytes <= target.max_shared_bytes:
            result.setdefault(plan, Candidate(plan, prediction))
    return tuple(result.values())


def _kernel(kernel: KernelNest, program: tir.Program, target: Target) -> KernelPlan:
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
        plans[dim.name] = _laid(dims, dim, threads, 1, 1)
        left //= threads
    return KernelPlan(kernel.name, tuple(plans[d.name] for d in dims))


def _plans(kernel: KernelNest, found: tuple[Chain, ...]) -> Iterator[KernelPlan]:
    dims = kernel.parallel
    for row, column in _pairs(dims, found):
        for row_digits, column_digits in MICRO_TILES:
            for rows, columns in _thread_shapes():
                for wanted in K_POINTS:
                    plan = _tiled(
                        kernel, found, row, column, row_digits, column_digits, rows, columns, wanted
                    )
                    if plan is not None:
                        yield plan


def _pairs(dims: tuple[Dim, ...], found: tuple[Chain, ...]) -> list[tuple[Dim | None, Dim]]:
    """Row and column dimension of the micro-tile: the column is contiguous in the output."""
    columns = [dims[-1]]
    pairs: list[tuple[Dim | None, Dim]] = [
        (row, column) for column in columns for row in dims if row is not column
    ]
    return pairs or [(None, dims[-1])]


def _thread_shapes() -> list[tuple[int, int]]:
    return [(8, 16), (16, 8), (16, 16), (8, 8), (8, 32), (32, 8), (4, 32), (4, 16), (2, 32), (1, 64), (1, 128)]


def _tiled(
    kernel: KernelNest,
    found: tuple[Chain, ...],
    row: Dim | None,
    column: Dim,
    row_digits: tuple[int, int],
    column_digits: tuple[int, int],
    rows: int,
    columns: int,
    wanted: int,
) -> KernelPlan | None:
    dims = kernel.parallel
    plans: dict[str, DimPlan] = {}
    for dim in dims:
        if dim is row:
            digits, threads = row_digits, rows
        elif dim is column:
            digits, threads = column_digits, columns
        else:
            digits, threads = (1, 1), 1
        if threads * prod(digits) > 2 * _power_above(extent_of(dim.extent)) and threads > 1:
            return None
        plans[dim.name] = _laid(dims, dim, threads, *digits)
    if row is None and (rows > 1 or prod(row_digits) > 1):
        return None
    loops = tuple(
        p for c in found for p in _loop_plans(c, prod(row_digits) * prod(column_digits), wanted)
    )
    plan = KernelPlan(kernel.name, tuple(plans[d.name] for d in dims), loops)
    staging = {o.tensor: _staging(o, plan) for c in found for o in c.operands}
    return KernelPlan(plan.kernel, plan.dims, loops, tuple(sorted(staging.items())), 2)


def _laid(dims: tuple[Dim, ...], dim: Dim, threads: int, outer: int, inner: int) -> DimPlan:
    """Digits of a dimension: grid x for the last, y for the one before, z for the others.

    Threads lie along x and y only: a block has at most 64 along z.
    """
    place = len(dims) - 1 - dims.index(dim)
    return DimPlan(
        dim.name,
        threads * outer * inner,
        grid_axis=min(place, 2),
        thread_axis=min(place, 1) if threads > 1 else None,
        threads=threads,
        outer=outer,
        inner=inner,
    )


def _loop_plans(chain: Chain, points: int, wanted: int) -> list[LoopPlan]:
    """Tiles of reduction loops: inner loops whole while the unrolled body stays small."""
    budget = max(1, UNROLLED_LIMIT // points)
    wanted = min(budget, wanted)
    plans: list[LoopPlan] = []
    for dim in reversed(chain.loops):
        extent = extent_of(dim.extent) if dim.extent.is_constant else None
        tile = _divisor(extent, wanted, budget) if extent is not None else wanted
        plans.append(LoopPlan(dim.name, tile))
        wanted, budget = max(1, wanted // tile), max(1, budget // tile)
    return list(reversed(plans))


def _divisor(extent: int, wanted: int, budget: int) -> int:
    """The tile near `wanted`: a divisor when there is one at least half as large."""
    if extent <= budget and extent <= 2 * wanted:
        return extent
    best = max(t for t in range(1, min(wanted, extent) + 1) if extent % t == 0)
    return best if 2 * best >= min(wanted, extent) else min(wanted, extent)


def _staging(operand: Operand, plan: KernelPlan) -> Staging:
    """Shared where several threads of a block read the same element."""
    shared = any(d.threads > 1 and not operand.uses(d.dim) for d in plan.dims)
    return Staging.SHARED if shared and operand.forms else Staging.REGISTER


def _power_above(extent: int) -> int:
    return 1 << max(0, ceil(extent) - 1).bit_length()
