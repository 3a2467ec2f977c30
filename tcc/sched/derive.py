"""The default plan: the best of a small structured set under the analytic model.

Reductions whose operands are affine get a register micro-tile over two parallel dimensions,
k-tiles, and shared staging where threads read the same elements; everything else is laid over
threads so that neighbours touch neighbouring elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from tcc.frontend import tir
from tcc.sched import slices
from tcc.sched.budget import needs, over_budget
from tcc.sched.gathers import copies_rows, row_digits, whole_rows
from tcc.sched.layout import capped, laid
from tcc.sched.loops import UNROLLED_LIMIT, unrolled, whole_beyond
from tcc.sched.micro_tiles import DIGITS, Digits, micro_tiles, rows_of
from tcc.sched.model import Model, Prediction, extent_of
from tcc.sched.nest import Dim, KernelNest
from tcc.sched.plan import DimPlan, KernelPlan, LoopPlan, Staging
from tcc.sched.reuse import Chain, Operand, chains, copied_in_turn, is_index
from tcc.sched.row_plan import row_plan
from tcc.sched.stage import stage_windows
from tcc.sched.wishes import Wishes, none
from tcc.target import Target

K_POINTS = (8, 16, 32, 40)
THREADS = (4, 8, 16, 32)
FEW = (1, 2)
"""Threads along a dimension besides, where rows that data picks are not shared anyway."""
EXTRA = (1, 2, 4)
"""Threads along one more dimension; as many as it has points where these are at most MOST_EXTRA."""
MOST_EXTRA = 8
BLOCK_SIZES = (48, 256)
SLICED_BLOCK = 512
UNSHARED_BLOCK = 64
"""The smallest block where threads have nothing to share: two full warps."""
POINTWISE_THREADS = 256
OPEN_ROW_THREADS = 32
"""Along rows of open length that data picks: most are short."""
POINTWISE_LANES = 4
POINTWISE_LEAST = 1 << 16
"""Points from which a thread takes a vector of them: fewer are spread over all threads."""
MOST_REGISTERS = 240
AS_GOOD = 1.02
"""Times the cycles of the best plan: closer than predictions are."""
PIPELINES = (2,)
SMALL_SHARED = 16 * 1024


@dataclass(frozen=True)
class Candidate:
    """One plan with what the model says of it."""

    plan: KernelPlan
    prediction: Prediction


def derive(
    kernel: KernelNest, program: tir.Program, target: Target, wished: Wishes
) -> KernelPlan | None:
    """The default plan of a kernel within some wishes, without measurement.

    None where the wishes leave no plan that fits the target.
    """
    rows = row_plan(kernel, program, target, wished)
    if rows is not None:
        return rows
    tilable = chains(kernel, program)
    best = next(ranked(kernel, program, target, wished), None)
    if best is None:
        best = next(ranked(kernel, program, target, replace(wished, shared=False)), None)
    if best is not None:
        return stage_windows(kernel, program, best.plan, wished)
    if (
        tilable
        and kernel.parallel
        and any(True for _ in structured(kernel, tilable, program, wished))
    ):
        return None
    return stage_windows(kernel, program, pointwise(kernel, program, wished), wished)


def candidates(
    kernel: KernelNest, program: tir.Program, target: Target, wished: Wishes | None = None
) -> tuple[Candidate, ...]:
    """The structured set of plans of one kernel, each within the target's budget."""
    return tuple(ranked(kernel, program, target, wished or none(target)))


def ranked(
    kernel: KernelNest, program: tir.Program, target: Target, wished: Wishes
) -> Iterator[Candidate]:
    """The plans of one kernel that fit the target, best prediction first.

    The budget is checked as they are asked for: it costs a hundred times a prediction.
    """
    found = chains(kernel, program)
    if not found or not kernel.parallel:
        return
    model = Model(kernel, found, program.tensors, target)
    all_ = [Candidate(p, model.predict(p)) for p in structured(kernel, found, program, wished)]
    for candidate in _in_order(all_) if all_ else ():
        if wished.registers is None and candidate.prediction.registers > MOST_REGISTERS:
            continue
        asked = needs(kernel, found, program, candidate.plan)
        if over_budget(asked, target, wished.shared_bytes) is None:
            yield candidate


def _in_order(found: Iterable[Candidate]) -> list[Candidate]:
    """Best first, but for plans as good as the best, in no fewer blocks, that ask less of shared
    memory: of these the first. Bank conflicts are what the model knows least of.
    """
    ordered = sorted(found, key=lambda c: c.prediction.cycles)
    best = ordered[0].prediction
    limit = AS_GOOD * best.cycles
    equal = (c for c in ordered if c.prediction.cycles <= limit)
    spread = (c for c in equal if c.prediction.blocks >= best.blocks)
    least = min(spread, key=lambda c: c.prediction.passes)
    return [least, *(c for c in ordered if c is not least)]


def structured(
    kernel: KernelNest, found: tuple[Chain, ...], program: tir.Program, wished: Wishes
) -> Iterator[KernelPlan]:
    """The structured set of plans of one kernel, whether they fit a target or not."""
    return _Space(kernel, found, program, wished).plans()


def pointwise(kernel: KernelNest, program: tir.Program, wished: Wishes) -> KernelPlan:
    """One vector of points a thread; threads along the last dimensions, blocks over the rest."""
    dims = kernel.parallel
    rows = bool(dims) and copies_rows(kernel, program, dims[-1])
    plans: dict[str, DimPlan] = {}
    left = POINTWISE_THREADS
    for place, dim in enumerate(reversed(dims)):
        threads = wished.threads_at(place)
        outer, inner = wished.digits(len(dims) - 1 - place) or (
            1,
            _lanes(dim, place, kernel, open_rows=rows),
        )
        if threads is None:
            threads = min(left, _power_above(-(-extent_of(dim.extent) // (outer * inner))))
            if place == 0 and rows and not dim.extent.is_constant:
                threads = min(threads, OPEN_ROW_THREADS)
            left //= threads
        plans[dim.name] = _placed(laid(dims, dim, threads, outer, inner), place, wished)
    laid_out = capped([plans[d.name] for d in dims], wished.blocks)
    return KernelPlan(kernel.name, laid_out)


def _lanes(dim: Dim, place: int, kernel: KernelNest, *, open_rows: bool) -> int:
    """Neighbouring points of one thread: a vector of the last dimension, where there are enough.

    With `open_rows` a length that is not known counts as a multiple of it, with kernels for others.
    """
    known = dim.extent.is_constant
    whole = dim.extent.value % POINTWISE_LANES == 0 if known else open_rows
    points = prod(extent_of(d.extent) for d in kernel.parallel)
    return POINTWISE_LANES if place == 0 and whole and points >= POINTWISE_LEAST else 1


def _placed(plan: DimPlan, place: int, wished: Wishes) -> DimPlan:
    """Threads that were asked for go to the axis they were asked for."""
    if wished.threads is None or plan.thread_axis is None:
        return plan
    return replace(plan, thread_axis=min(place, 2))


class _Space:
    """The structured set of plans of one kernel."""

    def __init__(
        self, kernel: KernelNest, found: tuple[Chain, ...], program: tir.Program, wished: Wishes
    ) -> None:
        self._kernel = kernel
        self._dims = kernel.parallel
        self._chains = found
        self._wished = wished
        self._extents = {d.name: extent_of(d.extent) for d in kernel.parallel}
        self._tensors = program.tensors
        self._picks = any(o.gather is not None for c in found for o in c.operands)
        self._whole_rows = whole_rows(found, kernel.parallel)
        self._slice_counts = slices.slice_counts(kernel, found, wished)
        self._loops: dict[tuple[int, int], tuple[LoopPlan, ...]] = {}
        self._stages: dict[frozenset[str], tuple[tuple[tuple[str, Staging], ...], ...]] = {}

    def plans(self) -> Iterator[KernelPlan]:
        """Micro-tiles, thread shapes and k-tiles that make sense for the extents."""
        for micro in self._micro_tiles():
            points = prod(prod(m) for m in micro.values())
            for shape in self._thread_shapes(micro):
                yield from self._tiled(self._digits(shape, micro), points)
            for shape, count in self._sliced_shapes(micro, points):
                yield from self._tiled(self._digits(shape, micro), points, count)

    def _digits(
        self, shape: Mapping[str, int], micro: Mapping[str, tuple[int, int]]
    ) -> dict[str, tuple[int, int, int]]:
        return {d.name: (shape.get(d.name, 1), *micro.get(d.name, (1, 1))) for d in self._dims}

    def _micro_tiles(self) -> Iterable[dict[str, Digits]]:
        """Register digits by dimension; the column's first, then those of a row's dimension."""
        if self._wished.registers is None:
            columns = self._column_digits(self._dims[-1])
            return micro_tiles(self._dims, self._chains, columns)
        return [self._wished_tile(row) for row in rows_of(self._dims, self._chains)]

    def _wished_tile(self, row: Dim | None) -> dict[str, Digits]:
        """The digits that were asked for, in the same order."""
        wanted = [self._wished.digits(k) for k in range(len(self._dims))]
        column = self._dims[-1]
        named = zip(self._dims, wanted, strict=True)
        others = {d.name: w for d, w in named if w is not None and d is not column}
        first = [row.name] if row is not None else []
        order = [column.name, *first, *(n for n in others if n not in first)]
        every = {**others, column.name: wanted[-1] or (1, 1)}
        return {n: every[n] for n in order}

    def _column_digits(self, column: Dim) -> Iterable[Digits]:
        """Of rows that data picks a thread reads whole vectors, as wide as their length allows."""
        return row_digits(self._chains, column, self._tensors) or DIGITS

    def _thread_shapes(self, micro: Mapping[str, tuple[int, int]]) -> Iterator[dict[str, int]]:
        """Thread counts by dimension, for register digits by dimension."""
        if self._wished.threads is not None:
            places = enumerate(reversed(self._dims))
            yield {d.name: self._wished.threads_at(k) or 1 for k, d in places}
            return
        shapes = list(self._shapes(micro, deep=True))
        least = BLOCK_SIZES[0] if self._has_reuse() else UNSHARED_BLOCK
        little = self._wished.shared_bytes < SMALL_SHARED
        if self._wished.registers or self._wished.staging or little:
            least = min(least, max(prod(s.values()) for s in shapes))
        yield from (s for s in shapes if least <= prod(s.values()) <= BLOCK_SIZES[1])

    def _sliced_shapes(
        self, micro: Mapping[str, tuple[int, int]], points: int
    ) -> Iterator[tuple[dict[str, int], int]]:
        """Thread counts by dimension, and how many threads share a k-tile."""
        counts = self._slice_counts if points <= slices.MOST_POINTS else ()
        for shape, count in product(self._shapes(micro, deep=False), counts):
            threads = prod(shape.values())
            fits = UNSHARED_BLOCK <= threads * count <= SLICED_BLOCK
            if fits and threads <= slices.MOST_THREADS:
                yield shape, count

    def _shapes(self, micro: Mapping[str, Digits], *, deep: bool) -> Iterator[dict[str, int]]:
        """Thread counts of the row and the column; with `deep`, of one more dimension."""
        column, *rest = micro
        row = rest[0] if rest else None
        others = [d.name for d in self._dims if d.name not in (row, column)]
        heights = self._thread_counts(row, prod(micro[row])) if row else (1,)
        widths = self._thread_counts(column, prod(micro[column]))
        depths = self._depth_counts(others[-1], micro) if others and deep else (1,)
        for across, down, extra in product(widths, heights, depths):
            shape = {column: across} | ({row: down} if row else {})
            yield shape | ({others[-1]: extra} if extra > 1 else {})

    def _depth_counts(self, dim: str, micro: Mapping[str, Digits]) -> tuple[int, ...]:
        needed = -(-self._extents[dim] // prod(micro.get(dim, (1, 1))))
        counts = {1, *(n for n in EXTRA if n <= needed)}
        return tuple(sorted(counts | ({needed} if needed <= MOST_EXTRA else set())))

    def _has_reuse(self) -> bool:
        """Whether some operand is the same along a dimension."""
        moving = [n for n, extent in self._extents.items() if extent > 1]
        operands = (o for c in self._chains for o in c.operands if o.forms)
        return any(not o.uses(n) for o in operands for n in moving)

    def _tiled(
        self, digits: Mapping[str, tuple[int, int, int]], points: int, sharing: int = 1
    ) -> list[KernelPlan]:
        wished, count = self._wished, len(self._dims)
        plain = [
            _placed(laid(self._dims, d, *digits[d.name]), count - 1 - k, wished)
            for k, d in enumerate(self._dims)
        ]
        dims = capped(plain, wished.blocks)
        threaded = frozenset(n for n, (threads, _, _) in digits.items() if threads > 1)
        few = self._picks or wished.shared_bytes < SMALL_SHARED
        small = (1, 2, 4) if few else ()
        loops = dict.fromkeys(self._loop_plans(points, k) for k in (*K_POINTS, *small))
        if sharing > 1:
            chain = self._chains[0]
            first = slices.together(chain, sharing) if self._picks else ()
            every = (slices.sliced(p, chain, dims, sharing) for p in (*first, *loops))
            loops = dict.fromkeys(every)
        return [
            KernelPlan(self._kernel.name, dims, chosen, staging, depth)
            for chosen, staging in product(loops, self._stagings(threaded))
            for depth in self._depths(staging)
        ]

    def _depths(self, staging: tuple[tuple[str, Staging], ...]) -> tuple[int, ...]:
        shared = {t for t, s in staging if s is Staging.SHARED}
        if not shared or any(copied_in_turn(c, shared) for c in self._chains):
            return (1,)
        return (self._wished.pipeline,) if self._wished.pipeline else PIPELINES

    def _thread_counts(self, dim: str, points: int) -> tuple[int, ...]:
        """Powers of two, and the count that covers a known extent exactly; none far beyond it."""
        needed = -(-self._extents[dim] // points)
        if self._whole_rows == dim:
            return (min(needed, max(THREADS)),)
        counts = {t for t in (*THREADS, *(FEW if self._picks else ())) if t < 2 * needed}
        known = next(d.extent.is_constant for d in self._dims if d.name == dim)
        if known and needed <= max(THREADS):
            counts.add(needed)
        return tuple(sorted(counts)) or (1,)

    def _loop_plans(self, points: int, wanted: int) -> tuple[LoopPlan, ...]:
        key = points, wanted
        if key not in self._loops:
            every = [p for c in self._chains for p in self._chain_loops(c, *key)]
            self._loops[key] = tuple({p.dim: p for p in every}.values())
        return self._loops[key]

    def _chain_loops(self, chain: Chain, points: int, wanted: int) -> tuple[LoopPlan, ...]:
        tiled = whole_beyond(chain, _loop_plans(chain, points, wanted), self._dims, self._wished)
        if self._wished.unroll is None:
            return tiled
        return unrolled(tiled, points, self._wished.unroll)

    def _stagings(self, threaded: frozenset[str]) -> tuple[tuple[tuple[str, Staging], ...], ...]:
        """Shared where several threads of a block read the same element, unless wished else.

        Where only windows of neighbouring threads overlap, and for the indices of gathers, both
        choices.
        """
        if threaded not in self._stages:
            both = (False, True)
            every = (
                self._staging(threaded, windows=w, indices=i)
                for i in (both if self._picks else (True,))
                for w in both
            )
            self._stages[threaded] = tuple(dict.fromkeys(every))
        return self._stages[threaded]

    def _staging(
        self, threaded: frozenset[str], *, windows: bool, indices: bool
    ) -> tuple[tuple[str, Staging], ...]:
        plain = Staging.GLOBAL if self._wished.private is False else Staging.REGISTER
        result: dict[str, Staging] = {}
        for chain, operand in ((c, o) for c in self._chains for o in c.operands):
            same = any(not operand.uses(d) for d in threaded)
            same = same or (windows and _overlaps(operand, chain, threaded))
            same = same and (indices or not is_index(operand, chain))
            staged = operand.forms and same and self._wished.shared is not False
            result[operand.tensor] = Staging.SHARED if staged else plain
        boxed = {o.tensor for c in self._chains for o in c.operands if o.forms}
        wished = ((t, self._wished.stage(t, s, boxed=t in boxed)) for t, s in result.items())
        return tuple(sorted(wished))


def _overlaps(operand: Operand, chain: Chain, threaded: frozenset[str]) -> bool:
    """Whether neighbouring threads read the same elements at different points of the loops."""
    for form in operand.forms:
        reach = sum(abs(form.coefficient(d.name)) * (extent_of(d.extent) - 1) for d in chain.loops)
        if any(0 < abs(form.coefficient(d)) <= reach for d in threaded):
            return True
    return False


def _loop_plans(chain: Chain, points: int, wanted: int) -> tuple[LoopPlan, ...]:
    """Tiles of reduction loops: inner loops whole while the unrolled body stays small."""
    budget = max(1, UNROLLED_LIMIT // points)
    wanted = min(budget, wanted)
    plans: list[LoopPlan] = []
    for dim in reversed(chain.loops):
        extent = extent_of(dim.extent) if dim.extent.is_constant else None
        tile = _divisor(extent, wanted, budget) if extent is not None else _power_below(wanted)
        plans.append(LoopPlan(dim.name, tile))
        wanted, budget = max(1, -(-wanted // tile)), max(1, budget // tile)
        wanted = min(wanted, budget)
    return tuple(reversed(plans))


def _divisor(extent: int, wanted: int, budget: int) -> int:
    """The tile near `wanted`: a divisor when there is one at least half as large."""
    if extent <= budget and 2 * extent <= 3 * wanted:
        return extent
    best = max(t for t in range(1, min(wanted, extent) + 1) if extent % t == 0)
    return best if 2 * best >= min(wanted, extent) else min(wanted, extent)


def _power_below(count: int) -> int:
    return 1 << count.bit_length() - 1


def _power_above(extent: int) -> int:
    return 1 << max(0, extent - 1).bit_length()
