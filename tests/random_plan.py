"""Random legal plans of a nest: digits that need not fit extents, any staging, any switch."""

from __future__ import annotations

import random
from math import prod

from tcc.frontend import tir
from tcc.sched.budget import needs, over_budget
from tcc.sched.nest import KernelNest, Nest
from tcc.sched.plan import DimPlan, KernelPlan, LoopPlan, Plan, RowPlan, Staging
from tcc.sched.reuse import chains
from tcc.sched.row_stage import row_stages
from tcc.sched.rows import row_form
from tcc.sched.windows import windows
from tcc.target import Target

MOST_THREADS = 128


def random_plan(nest: Nest, program: tir.Program, target: Target, rng: random.Random) -> Plan:
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
    form = row_form(kernel, program)
    row = None
    if form is not None and rng.random() < 0.5:
        last = form.loops[-1].extent
        known = all(d.extent.is_constant for d in form.loops)
        short = known and prod(d.extent.value for d in form.loops) <= 64
        wide = [w for w in (1, 2, 4) if w == 1 or (last.is_constant and last.value % w == 0)]
        threads = rng.choice((2, 4, 8, 16, 32, 64, 128))
        row = RowPlan(
            threads, rng.choice(wide), rng.choice((0, 0, 1)), short and rng.random() < 0.5
        )
    dims = _dims(kernel, row, rng)
    switches = {
        "vector": rng.choice((None, None, 1, 2, 4)),
        "readonly_cache": rng.random() < 0.3,
        "rolled_copies": rng.random() < 0.3,
    }
    if row is not None:
        shared = {s.tensor for s in row_stages(kernel, program) if rng.random() < 0.5}
        staging = tuple((t, Staging.SHARED) for t in sorted(shared))
        return KernelPlan(kernel.name, dims, staging=staging, row=row, **switches)
    loops = _shared(_loops(kernel, program, rng), dims, rng)
    return KernelPlan(
        kernel.name,
        dims,
        loops,
        _staging(kernel, program, frozenset(p.dim for p in loops), rng),
        rng.choice((1, 1, 2, 3, 4)),
        unroll=rng.choice((None, 4, 40)),
        **switches,
    )


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
            mine = rng.choice([n for n in (1, 2, 3, 4, 8, 32) if n <= threads])
            threads //= mine
        outer = rng.choice((1, 1, 2, 3)) if row is None else 1
        inner = rng.choice((1, 1, 2, 4)) if row is None else 1
        covered = outer * mine * inner
        tile = covered if rng.random() < 0.7 else rng.randint(1, covered)
        plans.append(DimPlan(dim.name, tile, grid, blocks, axis, mine, outer, inner))
    return tuple(plans)


def _loops(kernel: KernelNest, program: tir.Program, rng: random.Random) -> tuple[LoopPlan, ...]:
    loops: dict[str, LoopPlan] = {}
    for chain in chains(kernel, program):
        if rng.random() < 0.8:
            for dim in chain.loops:
                loops[dim.name] = LoopPlan(dim.name, rng.randint(1, 6), rng.random() < 0.5)
    complete = all(
        all(d.name in loops for d in c.loops) or not any(d.name in loops for d in c.loops)
        for c in chains(kernel, program)
    )
    return tuple(loops.values()) if complete else ()


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
    kernel: KernelNest, program: tir.Program, tiled: frozenset[str], rng: random.Random
) -> tuple[tuple[str, Staging], ...]:
    found: dict[str, Staging] = {}
    for chain in chains(kernel, program):
        for operand in chain.operands if tiled.issuperset(d.name for d in chain.loops) else ():
            places = list(Staging) if operand.forms else [Staging.GLOBAL, Staging.REGISTER]
            found[operand.tensor] = rng.choice(places)
    for window in windows(kernel, program):
        found.setdefault(window.tensor, rng.choice(list(Staging)))
    return tuple(sorted(found.items()))
