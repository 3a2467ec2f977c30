"""The plans of one kernel as a table of parameters, and the way from their values to a plan.

Plans to start from add their own values to the domains, so that all of them are points of the
space. A value that another one makes meaningless is ignored.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TypeAlias

from tcc.frontend import tir
from tcc.sched.budget import needs, over_budget
from tcc.sched.layout import laid
from tcc.sched.loops import UNROLLED_LIMIT
from tcc.sched.nest import Dim, KernelNest
from tcc.sched.plan import DimPlan, KernelPlan, LoopPlan, RowPlan, Staging
from tcc.sched.row_plan import MOST_KEPT
from tcc.target import Target
from tcc.tune.domains import (
    DIGITS,
    EVEN,
    FULL,
    POINTS,
    ROW,
    ROWS,
    SERIAL,
    TILES,
    Domains,
    Parameter,
    Value,
)

Values: TypeAlias = Mapping[str, Value]


class KernelSpace:
    """The parameters of a kernel, and the way from their values to a plan and back."""

    def __init__(
        self,
        kernel: KernelNest,
        program: tir.Program,
        target: Target,
        shared_bytes: int,
        starts: Iterable[KernelPlan] = (),
    ) -> None:
        self.kernel = kernel
        self._program = program
        self._target = target
        self._shared_bytes = shared_bytes
        self._domains = Domains(kernel, program, target)
        self._chains = self._domains.chains
        self._starts = tuple(starts)
        self._checked: dict[KernelPlan, str | None] = {}

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters; those that have no choice are left out."""
        ordered = (Parameter(n, tuple(sorted(v, key=_order))) for n, v in self._values.items())
        return tuple(p for p in ordered if len(p.values) > 1)

    @cached_property
    def _values(self) -> dict[str, list[Value]]:
        """The values of each parameter, those of the plans to start from added at the end."""
        found = {p.name: list(p.values) for p in self._domains.parameters}
        for plan in self._starts:
            for name, value in self.values(plan).items():
                if name in found and value not in found[name]:
                    found[name].append(value)
        return found

    @property
    def size(self) -> int:
        """How many assignments there are; not all of them fit the target, some are the same."""
        return prod(len(p.values) for p in self.parameters)

    def active(self, at: Values) -> frozenset[str]:
        """The parameters that matter, given the values of all."""
        form = self._form_of(at)
        unused = {
            ROWS: _NOT_IN_ROWS,
            TILES: ("unroll", *ROW),
            POINTS: (".k", ".rolled", ".slices", "pipeline", *ROW),
        }[form]
        return frozenset(p.name for p in self.parameters if not p.name.endswith(unused))

    # -- from values to a plan -------------------------------------------------------------

    def plan(self, at: Values) -> KernelPlan:
        """The plan of an assignment of the parameters; what is missing has its usual value."""
        at = {**{n: v[0] for n, v in self._values.items()}, **at}
        form = self._form_of(at)
        row = self._row(at) if form == ROWS else None
        dims = self._dims(at, row)
        plan = KernelPlan(
            self.kernel.name,
            dims,
            row=row,
            vector=_number(at.get("vector")),
            readonly_cache=bool(at.get("readonly_cache")),
        )
        if row is not None:
            return plan
        loops = self._loops(at, dims) if form == TILES else ()
        staging = self._staging(at, tiled=bool(loops))
        shared = {t for t, s in staging if s is Staging.SHARED}
        operands = {o.tensor for c in self._chains for o in c.operands}
        return replace(
            plan,
            loops=loops,
            staging=staging,
            pipeline=_number(at.get("pipeline")) or 1 if loops and shared & operands else 1,
            unroll=None if loops else _number(at.get("unroll")),
            rolled_copies=bool(shared) and bool(at.get("rolled_copies")),
        )

    def problem(self, plan: KernelPlan) -> str | None:
        """Why the target cannot have a plan; None when it can."""
        key = replace(plan, kernel=self.kernel.name)
        if key not in self._checked:
            self._checked[key] = self._check(plan)
        return self._checked[key]

    def _check(self, plan: KernelPlan) -> str | None:
        if prod(plan.block) > self._target.max_threads_per_block:
            return "too many threads"
        if prod(d.registers for d in plan.dims) > self._target.max_registers_per_thread:
            return "too many registers"
        wanted = needs(self.kernel, self._chains, self._program, plan)
        return over_budget(wanted, self._target, self._shared_bytes)

    def shrunk(self, indices: Sequence[int], rng: random.Random) -> list[int]:
        """Indices into the values of all parameters, with smaller digits until they fit."""
        found = list(indices)
        while self.problem(self.plan(self.at(found))) is not None:
            counting = self.active(self.at(found))
            named = enumerate(self.parameters)
            digits = [k for k, p in named if p.name.endswith(DIGITS) and p.name in counting]
            large = [k for k in digits if found[k]]
            if not large:
                break
            found[rng.choice(large)] -= 1
        return found

    def at(self, indices: Sequence[int]) -> dict[str, Value]:
        """The values at some indices."""
        pairs = zip(self.parameters, indices, strict=True)
        return {p.name: p.values[k] for p, k in pairs}

    def _form_of(self, at: Values) -> str:
        form = at.get("form", self._domains.forms[0])
        return str(form)

    def _dims(self, at: Values, row: RowPlan | None) -> tuple[DimPlan, ...]:
        seen: set[int] = set()
        plans = []
        for dim in self.kernel.parallel:
            plan = self._dim(dim, at, row)
            if plan.grid_axis in seen:
                plan = replace(plan, blocks=None)
            if plan.grid_axis is not None:
                seen.add(plan.grid_axis)
            plans.append(plan)
        return tuple(plans)

    def _dim(self, dim: Dim, at: Values, row: RowPlan | None) -> DimPlan:
        plain = laid(self.kernel.parallel, dim, 2, 1, 1)
        threads = _number(at.get(f"{dim.name}.threads")) or 1
        outer, inner = (
            1 if row else _number(at.get(f"{dim.name}.{digit}")) or 1
            for digit in ("outer", "inner")
        )
        axis = _number(at.get(f"{dim.name}.axis", plain.thread_axis))
        if row is not None and axis == row.axis:
            axis = 1 - row.axis
        grid = at.get(f"{dim.name}.grid", plain.grid_axis)
        covered = threads * outer * inner
        return DimPlan(
            dim.name,
            self._tile(dim, covered, None if row else at.get(f"{dim.name}.tile")),
            None if grid == SERIAL else _number(grid),
            None if grid == SERIAL else _number(at.get(f"{dim.name}.blocks")),
            axis if threads > 1 else None,
            threads,
            outer,
            inner,
        )

    def _tile(self, dim: Dim, covered: int, asked: Value) -> int:
        if asked == EVEN and dim.extent.is_constant:
            extent = max(1, dim.extent.value)
            return -(-extent // -(-extent // covered))
        return min(asked, covered) if type(asked) is int else covered

    def _loops(self, at: Values, dims: tuple[DimPlan, ...]) -> tuple[LoopPlan, ...]:
        """Loops are unrolled from the inside while the body stays small."""
        plans: dict[str, LoopPlan] = {}
        for chain in self._chains:
            count = prod(d.registers for d in dims) * len(chain.updates)
            for dim in reversed(chain.loops):
                points = _number(at.get(f"{dim.name}.k")) or 1
                count *= points
                rolled = bool(at.get(f"{dim.name}.rolled")) or count > UNROLLED_LIMIT
                plans[dim.name] = LoopPlan(dim.name, points, not rolled)
        names = dict.fromkeys(d.name for c in self._chains for d in c.loops)
        return _sliced([plans[n] for n in names], at, dims)

    def _staging(self, at: Values, *, tiled: bool) -> tuple[tuple[str, Staging], ...]:
        chosen = {}
        for tensor, places in self._domains.places(tiled=tiled).items():
            given = at.get(f"{tensor}.staging", places[0].value)
            place = next((p for p in places if p.value == given), places[0])
            if place is not Staging.GLOBAL or Staging.REGISTER in places:
                chosen[tensor] = place
        return tuple(sorted(chosen.items()))

    def _row(self, at: Values) -> RowPlan:
        threads = _number(at.get("row.threads")) or 32
        keep = bool(at.get("row.keep")) and self._domains.row_length <= MOST_KEPT * threads
        return RowPlan(
            threads, _number(at.get("row.vector")) or 1, _number(at.get("row.axis")) or 0, keep
        )

    # -- from a plan to values -------------------------------------------------------------

    def values(self, plan: KernelPlan) -> dict[str, Value]:
        """The parameters of a plan of this kernel; `plan` of them is as good as the plan."""
        found: dict[str, Value] = {
            "form": ROWS if plan.row else TILES if plan.loops else POINTS,
            "vector": plan.vector,
            "readonly_cache": plan.readonly_cache,
            "pipeline": plan.pipeline,
            "unroll": plan.unroll,
            "rolled_copies": plan.rolled_copies,
        }
        for dim in plan.dims:
            found |= {f"{dim.dim}.{name}": value for name, value in _dim_values(dim)}
        for loop in plan.loops:
            found |= {f"{loop.dim}.k": loop.points, f"{loop.dim}.rolled": not loop.unroll}
            found[f"{loop.dim}.slices"] = loop.threads
        found |= {f"{tensor}.staging": place.value for tensor, place in plan.staging}
        if plan.row is not None:
            row = plan.row
            found |= dict(zip(ROW, (row.threads, row.vector, row.axis, row.keep), strict=True))
        return found


_NOT_IN_ROWS = (
    ".outer",
    ".inner",
    ".tile",
    ".staging",
    ".k",
    ".rolled",
    ".slices",
    "pipeline",
    "rolled_copies",
    "unroll",
)


def _sliced(
    loops: Sequence[LoopPlan], at: Values, dims: tuple[DimPlan, ...]
) -> tuple[LoopPlan, ...]:
    """The loops, the first with more than one slice shared by threads along a free axis."""
    counts = {p.dim: _number(at.get(f"{p.dim}.slices")) or 1 for p in loops}
    chosen = next((d for d, count in counts.items() if count > 1), None)
    free = {0, 1, 2} - {d.thread_axis for d in dims}
    if chosen is None or not free:
        return tuple(loops)
    count = counts[chosen]
    return tuple(
        replace(p, tile=p.tile * count, thread_axis=max(free), threads=count)
        if p.dim == chosen
        else p
        for p in loops
    )


def _dim_values(dim: DimPlan) -> Iterator[tuple[str, Value]]:
    yield "threads", dim.threads
    yield "outer", dim.outer
    yield "inner", dim.inner
    yield "grid", SERIAL if dim.grid_axis is None else dim.grid_axis
    yield "blocks", dim.blocks
    yield "tile", FULL if dim.tile == dim.covered else dim.tile
    if dim.thread_axis is not None:
        yield "axis", dim.thread_axis


def _number(value: Value) -> int | None:
    return value if type(value) is int else None


def _order(value: Value) -> tuple[int, str, int]:
    """None first, then words, then numbers by size."""
    match value:
        case None:
            return 0, "", 0
        case str():
            return 1, value, 0
        case _:
            return 2, "", int(value)
