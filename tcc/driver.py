"""The compiler from source to artifact: the list of passes, in order, and the run over it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tcc.artifact import PLAIN, Artifact, Naming
from tcc.diagnostics import Diagnostic, Report
from tcc.dumps import Dumps
from tcc.errors import CompileError, InternalError
from tcc.frontend import ast, tir
from tcc.frontend.describe import describe
from tcc.frontend.elaborate import elaborate
from tcc.frontend.parser import parse
from tcc.frontend.specialise import specialise
from tcc.frontend.unparse import unparse
from tcc.frontend.widen import widen
from tcc.kernel.comment import unit_comment
from tcc.kernel.context import Context
from tcc.kernel.dump import text as kernel_text
from tcc.kernel.emit import Unit, emit
from tcc.kernel.int_limits import int_limits
from tcc.kernel.lower_all import Mapped, lower_all
from tcc.kernel.reference import reference_kernel, workspace
from tcc.limits import check_shared_bytes
from tcc.options import Options, resolved
from tcc.sched import nest, scop, tree
from tcc.sched.check import check_program
from tcc.sched.choose import choose_plan
from tcc.sched.dead import without_dead_branches
from tcc.sched.dependences import Dependences, compute_dependences
from tcc.sched.dependences import text as dependences_text
from tcc.sched.fix import fix_sizes
from tcc.sched.fuse import fuse_rows
from tcc.sched.fusion import Fusion
from tcc.sched.group import group_kernels
from tcc.sched.idle import idle_options
from tcc.sched.loop_form import loop_forms
from tcc.sched.nest import Nest
from tcc.sched.once import check_nest
from tcc.sched.plan import Plan
from tcc.sched.schedule import Scheduled, compute_schedule
from tcc.sched.split import order_note, split_reductions
from tcc.sched.structure import Unstructured, program_order, structure
from tcc.sched.wishes import wanted_parts, wishes
from tcc.source import Source, Span
from tcc.target import Target

T = TypeVar("T")


@dataclass(frozen=True)
class Pass:
    """One step of the compiler; `stage` names what it produces for `--emit` (empty: a check)."""

    name: str
    sentence: str
    stage: str


PASSES: tuple[Pass, ...] = (
    Pass("parse", "reads the text into a syntax tree", "ast"),
    Pass("elaborate", "resolves names, types every expression, infers ranges and shapes", "tir"),
    Pass("scop", "describes domains and accesses as integer sets", "scop"),
    Pass(
        "check", "rejects in-place updates, accesses out of bounds, reads of undefined elements", ""
    ),
    Pass("dependences", "finds which instances must keep their order", "deps"),
    Pass("split", "cuts long reductions with few results into parts", "split"),
    Pass("schedule", "finds loops that run in parallel and statements that share them", "schedule"),
    Pass("structure", "cuts the schedule into kernels and their loops", "nest"),
    Pass("legality", "proves that every dependence is respected", ""),
    Pass("plan", "cuts every loop into blocks, threads and registers", "plan"),
    Pass("lower", "builds the kernels: digits, guards, registers, staging", "kernel"),
    Pass("emit", "prints CUDA C++", "cuda"),
)


@dataclass(frozen=True)
class Request:
    """What to compile, and for what."""

    source: Source
    entry: str | None
    sizes: Mapping[str, int]
    options: Options
    target: Target
    naming: Naming = PLAIN
    places: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)
    """Where the entry and the sizes were given: `entry`, and `sizes.M` for a size M."""


@dataclass(frozen=True)
class Lowering:
    """What the kernels were made from, and the kernels; `program` has parts and sizes put in."""

    schedule: tree.Node
    nest: Nest
    program: tir.Program
    mapped: Mapped


@dataclass(frozen=True, eq=False)
class Compilation:
    """The result of a compilation; `program` has the given sizes substituted.

    What the passes after the last one would have made is None.
    """

    program: tir.Program | None
    artifact: Artifact | None
    reference: Artifact | None
    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    dumps: Mapping[str, str]
    timings: tuple[tuple[str, float], ...]
    notes: tuple[str, ...] = ()
    preconditions: tuple[tir.Precondition, ...] = ()
    """What must hold of the sizes that stay open, as far as the checks came."""
    lowering: Lowering | None = None


class _Stop(Exception):
    """The pass that the caller wanted to stop after is done."""


@dataclass
class _Run:
    """One walk over PASSES: diagnostics, dumps and times hang on it, not on the passes."""

    stop_after: str | None
    report: Report = field(default_factory=Report)
    dumps: dict[str, Callable[[], str]] = field(default_factory=dict)
    timings: list[tuple[str, float]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def step(self, name: str, work: Callable[[], T], dump: Callable[[T], str] | None = None) -> T:
        """Run one pass; errors it reported end the compilation."""
        start = time.perf_counter()
        try:
            result = work()
        except InternalError as fault:
            raise InternalError(f"pass `{name}`: {fault}") from fault
        self.timings.append((name, time.perf_counter() - start))
        if self.report.errors:
            raise CompileError(self.report.items)
        stage = next(p.stage for p in PASSES if p.name == name)
        if dump is not None and stage:
            self.dumps[stage] = lambda: dump(result)
        if name == self.stop_after:
            raise _Stop
        return result


def compile_program(request: Request, *, stop_after: str | None = None) -> Compilation:
    """Compile one def.

    `stop_after` names a pass of PASSES. Raises CompileError with every finding when the program,
    its sizes or its options are rejected.
    """
    run = _Run(stop_after)
    state = _State(request, run)
    with suppress(_Stop):
        state.all_passes()
    return state.result()


def prepare(request: Request) -> Callable[[Options], Compilation]:
    """The passes up to `legality`, once; what comes after them, for any number of `plan`s.

    Options of fusion and splitting count in `request` only. Both raise like `compile_program`.
    """
    state = _State(request, _Run("legality"))
    with suppress(_Stop):
        state.all_passes()
    return state.mapped_by


class _State:
    def __init__(self, request: Request, run: _Run) -> None:
        self._request = request
        self._run = run
        self._program: tir.Program | None = None
        self._mapped: tir.Program | None = None
        self._artifact: Artifact | None = None
        self._reference: Artifact | None = None
        self._plan: Plan | None = None
        self._lowering: Lowering | None = None
        self._preconditions: tuple[tir.Precondition, ...] = ()
        self._finish: Callable[[_State], None]

    def all_passes(self) -> None:
        """The passes, in the order of PASSES."""
        request, step, report = self._request, self._run.step, self._run.report
        module = step("parse", lambda: parse(request.source, report), unparse)
        program = step("elaborate", lambda: self._elaborate(module), describe)
        model = step("scop", lambda: scop.build_scop(program), scop.text)
        opened = step("check", lambda: self._check(model))
        self._reference = reference_kernel(
            model,
            self._fixed(program),
            request.sizes,
            opened,
            check_bounds=self._check_bounds,
            naming=replace(request.naming, variant=None),
        )
        alive = without_dead_branches(model)
        if alive is not program:
            program, model, self._mapped = alive, scop.build_scop(alive), self._fixed(alive)
        found = step("dependences", lambda: compute_dependences(model), dependences_text)
        divided = step("split", lambda: self._split(program), describe)
        fixed = resolved(request.options).fix_parameters_before_scheduling
        if divided is not program or (fixed and request.sizes):
            model = scop.build_scop(self._fixed(divided) if fixed else divided)
            found = compute_dependences(model)
        scheduled = step(
            "schedule",
            lambda: self._schedule(model, found),
            lambda s: tree.text(s.tree),
        )
        idle = idle_options(request.options, request.sizes, model, scheduled.tree)
        self._run.notes += (*idle, *scheduled.notes)
        loops = step("structure", lambda: self._structure(model, found, scheduled), nest.text)
        self._run.notes += loops.notes
        self._finish = lambda s: s._back_end(model, found, scheduled.tree, loops, opened)
        self._finish(self)

    def mapped_by(self, options: Options) -> Compilation:
        """What the passes from `legality` on make under other options; this state stays."""
        run, other = self._run, copy(self)
        other._request = replace(self._request, options=options)
        other._run = _Run(None, Report(), dict(run.dumps), list(run.timings), list(run.notes))
        other._run.report.add(*run.report.items)
        self._finish(other)
        return other.result()

    def result(self) -> Compilation:
        """What there is so far."""
        run = self._run
        return Compilation(
            self._program,
            self._artifact,
            self._reference,
            self._plan,
            run.report.items,
            Dumps(run.dumps),
            tuple(run.timings),
            tuple(run.notes),
            self._preconditions,
            self._lowering,
        )

    def _elaborate(self, module: ast.Module) -> tir.Program:
        request, report = self._request, self._run.report
        program = elaborate(module, request.entry, request.sizes, report, request.places)
        if program is None or report.errors:
            raise CompileError(report.items)
        self._program = specialise(program, request.sizes)
        program = widen(program, request.sizes)
        self._mapped = self._fixed(program)
        return program

    @property
    def _check_bounds(self) -> bool:
        return bool(resolved(self._request.options).check_bounds)

    def _fixed(self, program: tir.Program) -> tir.Program:
        """The program with its known sizes, which may make more of it affine, put in."""
        return widen(specialise(program, self._request.sizes), {})

    def _check(self, model: scop.Scop) -> tuple[tir.Precondition, ...]:
        """The checks of a program; what stays open becomes a check of the launcher, and a note."""
        opened = check_program(model, self._request.sizes, self._run.report)
        self._preconditions = (*model.program.preconditions, *opened)
        kept = () if self._program is None else self._program.preconditions
        self._run.notes += (f"checked at launch: `{p}` ({p.reason})" for p in (*kept, *opened))
        return opened

    def _split(self, program: tir.Program) -> tir.Program:
        request, chosen = self._request, resolved(self._request.options)
        ordered = chosen.deterministic is not False
        divided = split_reductions(
            program, request.sizes, request.target, wanted_parts(chosen), deterministic=ordered
        )
        if divided is not program:
            self._mapped = self._fixed(divided)
        if not ordered:
            self._run.notes.append(order_note(divided))
        return divided

    def _schedule(self, model: scop.Scop, found: Dependences) -> Scheduled:
        chosen = resolved(self._request.options)
        outer, inside = (
            Fusion(name) if name else None
            for name in (
                chosen.outer_schedule_fusion_strategy,
                chosen.intra_tile_schedule_fusion_strategy,
            )
        )
        return compute_schedule(
            model,
            found,
            outer or Fusion.PRESERVE3COINCIDENT,
            inside=inside,
            forms=loop_forms(chosen),
        )

    def _structure(self, model: scop.Scop, found: Dependences, scheduled: Scheduled) -> Nest:
        request = self._request
        chosen = resolved(request.options)
        loops = structure(model, scheduled.tree)
        if chosen.kernels:
            return group_kernels(model, found, loops, request.options, self._run.report)
        if chosen.outer_schedule_fusion_strategy or self._mapped is None:
            return loops
        wished = wishes(chosen, request.target)
        return fuse_rows(model, found, loops, self._mapped, request.sizes, request.target, wished)

    def _back_end(
        self,
        model: scop.Scop,
        found: Dependences,
        schedule: tree.Node,
        loops: Nest,
        opened: tuple[tir.Precondition, ...],
    ) -> None:
        step, program = self._run.step, self._mapped
        if program is None:
            raise InternalError("there is no program to map")
        step("legality", lambda: check_nest(found, loops))
        try:
            mapped = self._map(model, program, schedule, loops)
        except Unstructured as reason:
            self._run.notes.append(f"{reason}; one kernel a statement instead")
            loops = program_order(model)
            check_nest(found, loops)
            mapped = self._map(model, program, schedule, loops)
        step("emit", lambda: self._emit(model, program, mapped, opened), _cuda)

    def _map(
        self, model: scop.Scop, program: tir.Program, schedule: tree.Node, loops: Nest
    ) -> Mapped:
        step, request = self._run.step, self._request
        fixed = fix_sizes(loops, request.sizes)
        report = self._run.report
        chosen = step(
            "plan",
            lambda: choose_plan(fixed, program, request.options, request.target, report),
            lambda c: c.plan.text(),
        )
        self._run.notes += chosen.notes
        self._plan = plan = chosen.plan
        mapped = step(
            "lower",
            lambda: self._lowered(model, program, fixed, plan),
            lambda m: kernel_text(m.kernels),
        )
        self._lowering = Lowering(schedule, fixed, program, mapped)
        return mapped

    def _lowered(self, model: scop.Scop, program: tir.Program, fixed: Nest, plan: Plan) -> Mapped:
        request = self._request
        mapped = lower_all(model, program, fixed, plan, check_bounds=self._check_bounds)
        used = {k.name: k.shared_bytes for k in mapped.kernels}
        check_shared_bytes(used, request.options, request.target, self._run.report)
        return mapped

    def _emit(
        self,
        model: scop.Scop,
        program: tir.Program,
        mapped: Mapped,
        opened: tuple[tir.Precondition, ...],
    ) -> Artifact:
        if self._plan is None:
            raise InternalError("there is no plan to describe")
        context = Context(model, program, check_bounds=self._check_bounds)
        needed = workspace(context, mapped.kernels)
        comment = unit_comment(program, self._request.sizes, self._plan)
        unit = Unit(
            program.name,
            mapped.kernels,
            (*program.preconditions, *opened, *int_limits(context, mapped.kernels)),
            needed,
            comment,
            self._request.sizes,
            mapped.fast,
            self._request.naming,
        )
        self._artifact = emit(context, unit)
        return self._artifact


def _cuda(artifact: Artifact) -> str:
    return artifact.cuda_source
