"""From options to a Plan: what the user asked for, or the derived default."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tcc.diagnostics import Diagnostic, Report, error
from tcc.frontend import tir
from tcc.options import PRESETS, Options, resolved
from tcc.sched.budget import needs, over_budget
from tcc.sched.derive import derive, structured
from tcc.sched.idle import idle_in_plan
from tcc.sched.nest import KernelNest, Nest
from tcc.sched.plan import KernelPlan, Plan, Staging
from tcc.sched.private import stays_private
from tcc.sched.read_plan import read_plan
from tcc.sched.reuse import chains
from tcc.sched.tile import tiled
from tcc.sched.unknown import not_stageable, unknown
from tcc.sched.wishes import Wishes, wishes
from tcc.source import Span
from tcc.target import Target

NAIVE = PRESETS["naive"]


@dataclass(frozen=True)
class Chosen:
    """The plan of every kernel, and what the user should know about it."""

    plan: Plan
    notes: tuple[str, ...] = ()


def choose_plan(
    nest: Nest, program: tir.Program, options: Options, target: Target, report: Report
) -> Chosen:
    """The plan of a nest with all known sizes fixed.

    A kernel that `plan` describes gets that plan; one with tile sizes is cut by them; for the
    others the plan is derived, within what the other options ask for. What cannot be done is
    reported.
    """
    chooser = _Chooser(program, options, target, report)
    report.add(*_unknown_names(nest, program, options))
    plan = Plan(tuple(chooser.kernel(k) for k in nest.kernels))
    report.add(*_not_staged(plan, program, options))
    return Chosen(plan, (*chooser.notes, *idle_in_plan(nest, program, plan, options)))


class _Chooser:
    def __init__(
        self, program: tir.Program, options: Options, target: Target, report: Report
    ) -> None:
        self._program = program
        self._options = options
        self._target = target
        self._report = report
        self._wished = _completed(wishes(resolved(options), target))
        self.notes: list[str] = []

    def kernel(self, kernel: KernelNest) -> KernelPlan:
        """The plan of one kernel, within the target's budget or reported."""
        if kernel.name in self._options.mapping.plan:
            plan = read_plan(kernel, self._program, self._options, self._report)
            self._private_depth(kernel, plan, plan.private_depth)
            self._check(kernel, plan, self._options.place(f"mapping.plan.{kernel.name}"))
            return plan
        if self._wished.tile is not None:
            plan = tiled(kernel, self._program, self._target, self._wished)
        else:
            found = derive(kernel, self._program, self._target, self._wished)
            plan = found or self._nearest(kernel)
        plan = self._finished(kernel, plan)
        self._check(kernel, plan, self._place())
        return plan

    def _nearest(self, kernel: KernelNest) -> KernelPlan:
        """The plan that misses the budget least, to say what is missing."""
        found = chains(kernel, self._program)

        def size(plan: KernelPlan) -> tuple[int, int]:
            wanted = needs(kernel, found, self._program, plan)
            return wanted.shared_bytes, wanted.registers

        return min(structured(kernel, found, self._program, self._wished), key=size)

    def _finished(self, kernel: KernelNest, plan: KernelPlan) -> KernelPlan:
        """The plan with the switches that concern every kernel."""
        wished = self._wished
        loops = plan.loops
        if plan.row is None and (wished.unroll or 1) > 1 and not loops:
            plan = replace(plan, unroll=wished.unroll)
        return replace(
            plan,
            private_depth=self._private_depth(kernel, plan, wished.private_depth),
            vector=wished.vector,
            rolled_copies=wished.rolled_copies and bool(plan.staging),
            readonly_cache=wished.readonly_cache,
        )

    def _private_depth(
        self, kernel: KernelNest, plan: KernelPlan, wanted: int | None
    ) -> int | None:
        """The wished depth where it is inside of the parallel loops, and possible."""
        if wanted is None or wanted <= len(kernel.parallel):
            return None
        reason = stays_private(kernel, self._program, plan)
        if reason is not None:
            self.notes.append(f"`private_depth` has no effect in `{kernel.name}`: {reason}")
            return None
        return wanted

    def _check(self, kernel: KernelNest, plan: KernelPlan, place: Span) -> None:
        found = chains(kernel, self._program)
        wanted = needs(kernel, found, self._program, plan)
        problem = over_budget(wanted, self._target, self._wished.shared_bytes)
        if problem is not None:
            help = ("choose fewer values for each thread, smaller tiles, or less staging",)
            self._report.add(error("E0524", problem, place, f"in `{kernel.name}`", help=help))

    def _place(self) -> Span:
        """The given option that most probably asks for too much."""
        mapping = self._options.mapping
        for name in ("staging", "registers", "threads", "tile", "max_shared_memory"):
            if getattr(mapping, name) not in (None, {}):
                return self._options.place(f"mapping.{name}")
        if self._options.preset is not None:
            return self._options.place("preset")
        return self._options.place("mapping")


def _completed(wished: Wishes) -> Wishes:
    """Tile sizes without threads and values per thread get the threads of the `naive` preset."""
    if wished.tile is None or wished.threads is not None or wished.registers is not None:
        return wished
    return replace(wished, threads=NAIVE.threads)


def _unknown_names(nest: Nest, program: tir.Program, options: Options) -> Iterator[Diagnostic]:
    mapping = options.mapping
    for name in mapping.staging:
        if name not in program.tensors:
            place = options.place_of_name(f"mapping.staging.{name}")
            yield unknown("tensor", name, program.tensors, place)
    kernels = [k.name for k in nest.kernels]
    for name in mapping.plan:
        if name not in kernels:
            yield unknown("kernel", name, kernels, options.place_of_name(f"mapping.plan.{name}"))


def _not_staged(plan: Plan, program: tir.Program, options: Options) -> Iterator[Diagnostic]:
    """Tensors asked for in shared memory that no kernel can stage."""
    for name, where in options.mapping.staging.items():
        staged = any(p.stage(name) is Staging.SHARED for p in plan.kernels)
        if where == Staging.SHARED.value and name in program.tensors and not staged:
            place = options.place_of_name(f"mapping.staging.{name}")
            yield not_stageable(name, place)
