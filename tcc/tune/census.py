"""Counts what a kernel does, by a walk over its IR: instructions, accesses, waits, registers.

One block is looked at, the middle one of the grid, with all its threads at once. Of a loop the
middle iteration stands for all; one whose guards hold in a part of it counts as several loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from tcc.affine import Affine
from tcc.kernel import ir
from tcc.tune import expression_cost
from tcc.tune.footprint import Access, LoopRange
from tcc.tune.guarded import pieces
from tcc.tune.lanes import (
    LINE_BYTES,
    SECTOR_BYTES,
    Mask,
    active_warps,
    distinct_units,
    evaluate,
    least_passes,
    shared_wavefronts,
    spread,
)
from tcc.tune.places import Index, Places
from tcc.tune.registers import registers
from tcc.tune.work import Latency, Stall, Work

UNROLLED_BY_COMPILER = 4
"""Iterations of a short loop that the CUDA compilers put together on their own."""
SHORT_BODY = 40
"""Instructions up to which they do."""
LOOP_INSTRUCTIONS = 3
"""Of an iteration: step, comparison, branch."""
ADDRESS_INSTRUCTIONS = 2
"""To move a 64-bit pointer on, for each array in global memory and iteration."""


@dataclass(frozen=True)
class Census:
    """What a warp of a kernel does, on average over the warps of its middle block."""

    work: Work
    stalls: tuple[Stall, ...]
    accesses: tuple[Access, ...]
    registers: int
    shared_bytes: int
    barriers: float
    warps: int
    grid: Mapping[str, int]


def census(kernel: ir.Kernel, sizes: Mapping[str, int]) -> Census:
    """The census of a kernel at these sizes, which are all of its open ones."""
    return _Walker(kernel, sizes).census(kernel)


@dataclass
class _Region:
    """Statements that a warp runs without branching back, counted for one run of them.

    `clock` counts its instructions so far, `pending` has the clock at which what is in flight was
    asked for.
    """

    barriers: bool
    runs: float
    clock: float = 0.0
    pending: dict[str, float] = field(default_factory=dict)
    waited: set[tuple[Latency, int]] = field(default_factory=set)
    pointers: set[str] = field(default_factory=set)
    stalls: list[Stall] = field(default_factory=list)
    ahead: list[tuple[int, float]] = field(default_factory=list)


class _Walker:
    """`_inline` counts the iterations of unrolled loops, `_part` the warps that are active."""

    def __init__(self, kernel: ir.Kernel, sizes: Mapping[str, int]) -> None:
        self._at = Places(kernel, sizes)
        self._mask = self._at.threads
        self._unrolled: list[LoopRange] = []
        self._inline = self._part = 1.0
        self._work = Work()
        self._accesses: list[Access] = []
        self._barriers = 0.0
        self._loops = 0
        self._after: dict[str, int] = {}
        self._region = _Region(False, 1.0)

    def census(self, kernel: ir.Kernel) -> Census:
        """Walk the whole kernel."""
        region = self._in_region(kernel.body, 1.0)
        return Census(
            self._work,
            tuple(region.stalls),
            tuple(self._accesses),
            registers(kernel),
            kernel.shared_bytes,
            self._barriers,
            len(self._mask),
            self._at.grid,
        )

    # -- statements ------------------------------------------------------------------------

    def _in_region(self, body: Sequence[ir.Statement], runs: float) -> _Region:
        """Walk a body as a region of its own, which each warp runs so many times."""
        saved = self._region, self._unrolled, self._inline, self._part
        self._region = inner = _Region(_has_barrier(body), runs)
        self._unrolled, self._inline, self._part = [], 1.0, 1.0
        self._statements(body)
        for groups, part in inner.ahead:
            since = inner.pending.get("async", inner.clock)
            hidden = groups * inner.clock + inner.clock - since
            inner.stalls.append(Stall(Latency.GLOBAL, part, hidden, inner.barriers))
        self._region, self._unrolled, self._inline, self._part = saved
        return inner

    def _statements(self, body: Sequence[ir.Statement]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: ir.Statement) -> None:  # noqa: C901 - one case a node
        match statement:
            case ir.For():
                walk = self._unrolled_loop if statement.unroll else self._rolled_loop
                for piece in self._pieces(statement):
                    walk(statement, piece)
            case ir.If():
                self._branch(statement)
            case ir.Let(var, value):
                self._let(var, value)
            case ir.Store():
                self._store(statement)
            case ir.Atomic(buffer, index, _, value):
                self._evaluate(value)
                self._access(buffer, index, 1, is_store=True)
            case ir.VectorMove() | ir.AsyncCopy():
                self._move(statement)
            case ir.AsyncWait(pending):
                self._region.ahead.append((pending, self._part))
            case ir.Barrier(warp):
                self._barrier(warp)
            case ir.Declare() | ir.Comment() | ir.AsyncCommit():
                pass

    def _pieces(self, loop: ir.For) -> Iterator[LoopRange]:
        """The loop, cut where the guards inside change, so that one iteration stands for all."""
        whole = self._range(loop)
        for piece in pieces(loop, whole, self._at.form, self._at.values, self._mask):
            yield replace(piece, number=self._loops)
            self._loops += 1

    def _unrolled_loop(self, loop: ir.For, around: LoopRange) -> None:
        inline = self._inline
        self._unrolled.append(around)
        self._inline *= around.trips
        with self._at.inside(around):
            self._statements(loop.body)
        self._unrolled.pop()
        self._inline = inline

    def _rolled_loop(self, loop: ir.For, around: LoopRange) -> None:
        before = self._work.issue
        trips = around.trips * self._inline * self._part
        if not trips:
            return
        with self._at.inside(around):
            inner = self._in_region(loop.body, self._region.runs * trips)
        short = not inner.barriers and inner.clock <= SHORT_BODY
        together = max(1.0, min(UNROLLED_BY_COMPILER, around.trips)) if short else 1.0
        overhead = LOOP_INSTRUCTIONS + ADDRESS_INSTRUCTIONS * len(inner.pointers)
        self._work += Work(issue=overhead / together * inner.runs)
        # Waits of iterations that are put together are one wait.
        self._region.stalls += [s.scaled(trips / together) for s in inner.stalls]
        self._region.clock += (self._work.issue - before) / self._region.runs

    def _range(self, loop: ir.For) -> LoopRange:
        low = spread(evaluate(loop.low, self._at.values), self._mask)[self._mask]
        high = spread(evaluate(loop.high, self._at.values), self._mask)[self._mask]
        trips = np.maximum(0, -((low - high) // loop.step))
        first = int(low.min())
        last = max(first, int((low + (trips - 1) * loop.step).max()))
        forms = self._at.form(loop.low), self._at.form(loop.high)
        return LoopRange(0, loop.var, *forms, loop.step, first, last, float(trips.mean()))

    def _branch(self, branch: ir.If) -> None:
        self._add(Work(issue=len(branch.conditions)))
        holds = np.ones_like(self._mask)
        for condition in branch.conditions:
            if isinstance(condition, Affine):
                holds &= spread(evaluate(condition, self._at.values), self._mask) >= 0
            else:
                self._evaluate(condition)
        outer = self._mask
        self._masked(outer & holds, branch.body)
        self._masked(outer & ~holds, branch.otherwise)

    def _masked(self, mask: Mask, body: Sequence[ir.Statement]) -> None:
        """Walk a body for the warps that have a lane in the mask."""
        if not body or not mask.any():
            return
        outer, part = self._mask, self._part
        self._mask, self._part = mask, part * active_warps(mask) / active_warps(outer)
        self._statements(body)
        self._mask, self._part = outer, part

    def _let(self, var: str, value: Affine | ir.Expression) -> None:
        if not isinstance(value, Affine):
            self._evaluate(value)
        self._at.define(var, value)

    def _store(self, store: ir.Store) -> None:
        loads = expression_cost.loads(store.value)
        self._evaluate(store.value, is_update=any(n.buffer == store.buffer for n in loads))
        for index in store.index:
            if not isinstance(index, Affine):
                self._evaluate(index)
        self._access(store.buffer, store.index, 1, is_store=True)
        self._at.keep(store.buffer, store.index, store.value)
        if store.buffer.space is ir.Space.PRIVATE:
            self._after[store.buffer.name] = _depth((store.value,), self._after)
            self._chain(store)

    def _chain(self, store: ir.Store) -> None:
        """An update waits for the one before it of the same element."""
        before = (n for n in expression_cost.loads(store.value) if n.buffer == store.buffer)
        if not any(n.index == store.index for n in before):
            return
        used = self._at.variables(store.index)
        independent = prod(x.trips for x in self._unrolled if x.var in used)
        between = expression_cost.cost(store.value).issue * (independent - 1)
        times = self._inline / independent * self._part if independent else 0.0
        self._region.stalls.append(Stall(Latency.RESULT, times, between, False))

    def _move(self, move: ir.VectorMove | ir.AsyncCopy) -> None:
        source, target, region = move.source, move.target, self._region
        for index in move.source_index:
            for load in () if isinstance(index, Affine) else expression_cost.loads(index):
                self._load(load.buffer, load.index)
        self._access(source, move.source_index, move.width, is_store=False)
        self._at.keep(target, move.target_index, ir.Load(source, move.source_index))
        match source.space:
            case ir.Space.GLOBAL if isinstance(move, ir.AsyncCopy):
                region.pending["async"] = region.clock
            case ir.Space.GLOBAL if target.space is ir.Space.PRIVATE:
                region.pending[target.name] = region.clock
                self._after[target.name] = _depth(move.source_index, self._after)
            case ir.Space.GLOBAL:
                self._stall(Latency.GLOBAL)
            case ir.Space.SHARED:
                self._stall(Latency.SHARED)
            case ir.Space.PRIVATE:
                self._wait(source.name)
        self._access(target, move.target_index, move.width, is_store=True)

    def _barrier(self, warp: bool) -> None:
        self._add(Work(issue=1))
        if not warp:
            self._barriers += self._region.runs * self._inline * self._part
            self._region.waited.clear()
            self._region.stalls.append(Stall(Latency.BARRIER, self._part, 0.0, True))

    # -- expressions and waits -------------------------------------------------------------

    def _evaluate(self, expression: ir.Expression, *, is_update: bool = False) -> None:
        """Count an expression; what does not change in an unrolled loop is computed once."""
        for node in expression_cost.nodes(expression):
            used = self._at.variables((node,))
            changes = (x.trips for x in self._unrolled if is_update or x.var in used)
            self._add_exactly(expression_cost.own_cost(node), prod(changes) * self._part)
            match node:
                case ir.Load(buffer, index):
                    self._load(buffer, index)
                case ir.Shuffle():
                    times = self._inline * self._part
                    self._region.stalls.append(Stall(Latency.EXCHANGE, times, 0.0, False))
                case _:
                    pass

    def _load(self, buffer: ir.Buffer, index: Index) -> None:
        self._access(buffer, index, 1, is_store=False)
        match buffer.space:
            case ir.Space.GLOBAL:
                self._stall(Latency.GLOBAL, _depth(index, self._after))
            case ir.Space.SHARED:
                self._stall(Latency.SHARED)
            case ir.Space.PRIVATE:
                self._wait(buffer.name)

    def _wait(self, name: str) -> None:
        """Wait for what was fetched into registers ahead of its use.

        The first wait is the one for all loads between two barriers: the compiler moves them up,
        before the first use of any.
        """
        region = self._region
        since, depth = region.pending.pop(name, None), self._after.get(name, 0)
        if since is not None and (Latency.GLOBAL, depth) not in region.waited:
            region.waited.add((Latency.GLOBAL, depth))
            hidden = region.clock - since
            region.stalls.append(Stall(Latency.GLOBAL, self._part, hidden, region.barriers))

    def _stall(self, latency: Latency, depth: int = 0) -> None:
        """A wait at once; the loads between two barriers are in flight together.

        Those whose subscripts are loaded, `depth` deep, can only follow these.
        """
        region = self._region
        if (latency, depth) not in region.waited:
            region.waited.add((latency, depth))
            together = region.barriers and latency is Latency.GLOBAL
            region.stalls.append(Stall(latency, self._part, 0.0, together))

    # -- accesses --------------------------------------------------------------------------

    def _access(self, buffer: ir.Buffer, index: Index, width: int, *, is_store: bool) -> None:
        """Count an access of so many consecutive elements."""
        if buffer.space is ir.Space.PRIVATE:
            return
        parts: Mapping[int, float] = {width: self._inline}
        if width == 1 and not is_store:
            parts = self._at.loads(buffer, index, self._unrolled)
        for wide, times in parts.items():
            if buffer.space is ir.Space.SHARED:
                self._shared(buffer, index, wide, times)
            else:
                self._global(buffer, index, wide, times, is_store=is_store)

    def _shared(self, buffer: ir.Buffer, index: Index, width: int, times: float) -> None:
        size = buffer.type.bytes * width
        passes = shared_wavefronts(self._at.addresses(buffer, index), self._mask, size)
        asked = times * self._part
        moved = float(self._mask.sum(axis=1).max()) * size
        work = Work(issue=1, lsu=passes, accesses=1, shared_bytes=moved)
        self._add_exactly(work, asked)

    def _global(
        self, buffer: ir.Buffer, index: Index, width: int, times: float, *, is_store: bool
    ) -> None:
        size = buffer.type.bytes * width
        addresses = self._at.addresses(buffer, index)
        lines = distinct_units(addresses, self._mask, size, LINE_BYTES)
        sectors = distinct_units(addresses, self._mask, size, SECTOR_BYTES)
        passes = max(lines, float(least_passes(size)))
        self._add_exactly(Work(issue=1, lsu=passes, accesses=1), times * self._part)
        self._region.pointers.add(buffer.name)
        warps = active_warps(self._mask) * len(self._mask)
        self._accesses.append(
            self._at.access(
                buffer, index, width, sectors * warps * times * self._region.runs, is_store
            )
        )

    # -- sums ------------------------------------------------------------------------------

    def _add(self, work: Work) -> None:
        self._add_exactly(work, self._inline * self._part)

    def _add_exactly(self, work: Work, times: float) -> None:
        """Add work that one run of the region does so many times."""
        self._region.clock += work.issue * times
        self._work += work * (times * self._region.runs)


def _depth(index: Index, after: Mapping[str, int]) -> int:
    """How many loads follow each other before the address is known.

    `after` has the same of what registers hold, by the names of private arrays.
    """
    loads = [n for i in index if not isinstance(i, Affine) for n in expression_cost.loads(i)]
    inner = [
        1 + _depth(n.index, after) if n.buffer.space is ir.Space.GLOBAL else after[n.buffer.name]
        for n in loads
        if n.buffer.space is ir.Space.GLOBAL or n.buffer.name in after
    ]
    return max(inner, default=0)


def _has_barrier(body: Sequence[ir.Statement]) -> bool:
    """Whether the threads of a block wait for each other in it, inner rolled loops left out."""
    for statement in body:
        match statement:
            case ir.Barrier(False):
                return True
            case ir.For(_, _, _, _, True, inner) if _has_barrier(inner):
                return True
            case ir.If(_, then, otherwise) if _has_barrier(then) or _has_barrier(otherwise):
                return True
            case _:
                pass
    return False
