"""Random legal plans of a nest: digits that need not fit extents, any staging, any switch."""

from __future__ import annotations

import random
from math import ceil, prod

from tcc.frontend import tir
from tcc.sched.budget import needs, over_budget
from tcc.sched.nest import KernelNest, Nest, instances
from tcc.sched.plan import DimPlan, KernelPlan, LoopPlan, Plan, RowPlan, Staging
from tcc.sched.reuse import chains
from tcc.sched.rows import row_form
from tcc.sched.stageable import stageable
from tcc.sched.windows import reads_of
from tcc.target import Target

MOST_THREADS = 128
KEPT = 64
"""Elements of a row up to which it is kept in registers, where every position is text."""


def random_plan(nest: Nest, program: tir.Program, target: Target, rng: random.Random) -> Plan:
    """A plan that an options file may ask for."""
    return Plan(tuple(_within(k, program, target, rng) for k in nest.kernels))


def _within(
    kernel: KernelNest, program: tir.Program, target: Target, rng: random.Random
) -> KernelPlan:
    found = chains(kernel, program)
    for _ in range(50):
        plan = _kernel(kernel, program, rng)
        wanted = needs(kernel, found, program, plan)
        if over_budget(wanted, target, target.max_shared_bytes) is None:
            return plan
    raise AssertionError("no plan within the budget")


def _kernel(kernel: KernelNest, program: tir.Program, rng: random.Random) -> KernelPlan:
    row = _row(kernel, program, rng)
    dims = _dims(kernel, row, rng)
    loops = _shared(_loops(kernel, program, rng), dims, rng) if row is None else ()
    tiled = frozenset(p.dim for p in loops)
    return KernelPlan(
        kernel.name,
        dims,
        loops,
        _staging(kernel, program, stageable(kernel, program, tiled, has_row=row is not None), rng),
        rng.choice((1, 2, 2, 3, 3, 4)) if row is None else 1,
        row,
        rng.choice((None, None, 1, 2, 4, 8, 16)),
        rng.choice((None, 1, 4, 40)) if row is None else None,
        rolled_copies=rng.random() < 0.3,
        readonly_cache=rng.random() < 0.3,
        private_depth=rng.choice((None, None, *range(len(kernel.parallel) + 3))),
    )


def _row(kernel: KernelNest, program: tir.Program, rng: random.Random) -> RowPlan | None:
    """Threads that share rows, for half of the kernels that can have them."""
    form = row_form(kernel, program)
    if form is None or rng.random() < 0.5:
        return None
    last = form.loops[-1].extent
    known = all(d.extent.is_constant for d in form.loops)
    short = known and prod(d.extent.value for d in form.loops) <= KEPT
    wide = [w for w in (1, 2, 4) if w == 1 or (last.is_constant and last.value % w == 0)]
    axis = rng.choice((0, 0, 1))
    threads = rng.choice((1, 2, 4, 8, 16, 32, 64, 128) if axis == 0 else (1, 2, 3, 5, 8, 32))
    return RowPlan(threads, rng.choice(wide), axis, short and rng.random() < 0.5)


def _dims(kernel: KernelNest, row: RowPlan | None, rng: random.Random) -> tuple[DimPlan, ...]:
    threads = MOST_THREADS // (row.threads if row else 1)
    capped: set[int] = set()
    plans: list[DimPlan] = []
    for dim in kernel.parallel:
        grid = rng.choice((None, 0, 1, 2))
        blocks = None
        if grid is not None and grid not in capped:
            capped.add(grid)
            blocks = rng.choice((None, None, 1, 2, 3))
        axis = rng.choice([a for a in (None, 0, 1, 2) if row is None or a != row.axis])
        mine = 1
        if axis is not None:
            mine = rng.choice([n for n in (1, 2, 3, 4, 5, 8, 16, 32) if n <= threads])
            threads //= mine
        outer = rng.choice((1, 1, 2, 3)) if row is None else 1
        inner = rng.choice((1, 1, 2, 3, 4, 4, 8)) if row is None else 1
        covered = outer * mine * inner
        tile = covered if rng.random() < 0.7 else rng.randint(ceil(covered / 3), covered)
        plans.append(DimPlan(dim.name, tile, grid, blocks, axis, mine, outer, inner))
    return tuple(plans)


def _loops(kernel: KernelNest, program: tir.Program, rng: random.Random) -> tuple[LoopPlan, ...]:
    found = chains(kernel, program)
    tilable = dict.fromkeys(d.name for c in found for d in c.loops)
    cut = {d.name for c in found if rng.random() < 0.9 for d in c.loops}
    if any(0 < sum(d.name in cut for d in c.loops) < len(c.loops) for c in found):
        return ()
    return tuple(_loop(name, rng) for name in tilable if name in cut)


def _loop(name: str, rng: random.Random) -> LoopPlan:
    tile = rng.choice((1, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16, 32))
    return LoopPlan(name, tile, rng.random() < 0.5)


def _shared(
    loops: tuple[LoopPlan, ...], dims: tuple[DimPlan, ...], rng: random.Random
) -> tuple[LoopPlan, ...]:
    """The loops, sometimes one of them with tiles that several threads share."""
    free = [a for a in (0, 1, 2) if all(d.thread_axis != a for d in dims)]
    if not loops or not free or rng.random() < 0.6:
        return loops
    chosen, threads = rng.choice(loops), rng.choice((1, 2, 3, 4, 8))
    shared = LoopPlan(
        chosen.dim, rng.randint(1, 3) * threads, chosen.unroll, rng.choice(free), threads
    )
    return tuple(shared if p is chosen else p for p in loops)


def _staging(
    kernel: KernelNest, program: tir.Program, stageable: frozenset[str], rng: random.Random
) -> tuple[tuple[str, Staging], ...]:
    """A place for most of the tensors that the kernel reads."""
    read = {r.tensor for i in instances(kernel.body) for r in reads_of(i, program)}
    found: dict[str, Staging] = {}
    for tensor in sorted(read):
        if tensor in stageable and rng.random() < 0.5:
            found[tensor] = Staging.SHARED
        elif rng.random() < 0.8:
            found[tensor] = rng.choice((Staging.GLOBAL, Staging.REGISTER))
    return tuple(found.items())
