"""The execution order of a program: isl's scheduler under a deadline, with fall-backs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tcc.sched import islx, legality, tree
from tcc.sched.dependences import Dependences
from tcc.sched.fusion import Cluster, Fusion, Problem
from tcc.sched.join import join_loops
from tcc.sched.loop_form import PLAIN, LoopForms
from tcc.sched.read_schedule import read_schedule
from tcc.sched.scop import Scop
from tcc.sched.segments import WINDOW, fusion_segments
from tcc.sched.tidy import tidy
from tcc.sched.worker import solve_within

PROGRAM_ORDER = "program order"
_BOUNDED = islx.ScheduleOptions(max_coefficient=4, max_constant_term=4)


@dataclass(frozen=True)
class Scheduled:
    """A schedule tree, how it was found, and what the user should know about that."""

    tree: tree.Node
    strategy: str
    notes: tuple[str, ...] = ()

    @property
    def fell_back(self) -> bool:
        """Whether no search ended within its deadline."""
        return self.strategy == PROGRAM_ORDER


def compute_schedule(
    scop: Scop,
    dependences: Dependences,
    fusion: Fusion,
    deadline_s: float = 5.0,
    *,
    inside: Fusion | None = None,
    forms: LoopForms = PLAIN,
) -> Scheduled:
    """Find a schedule with parallel outer loops, for all sizes at once.

    Each attempt of isl has `deadline_s` seconds: first freely, then with bounded coefficients;
    then program order remains. `min` fuses nothing and needs no search; as `inside`, it keeps the
    loops inside of the parallel ones apart. `forms` says over what statements may share loops.

    Requires: causality holds.
    Establishes: every dependence goes forward in the tree and coincident members carry none
    (both checked); every leaf has one statement.
    """
    plain = tree.source_statements(scop)
    segments = fusion_segments(scop, dependences, [p.statements for p in plain], fusion)
    if fusion is Fusion.MIN or all(len(s) == 1 for s in segments):
        return _in_program_order(scop, dependences, fusion.value, [])
    notes: list[str] = []
    if any(len(s) == WINDOW for s in segments):
        notes.append(f"long program: scheduled in parts of {WINDOW} statements")
    for name, options in (
        (fusion.value, islx.ScheduleOptions()),
        (f"{fusion.value}, bounded coefficients", _BOUNDED),
    ):
        problem = replace(_problem(scop, dependences, segments, fusion, options), forms=forms)
        answer = solve_within(problem, deadline_s)
        if answer is not None:
            share = inside is not Fusion.MIN
            found = _assemble(scop, dependences, segments, answer, forms, share=share)
            return Scheduled(found, name, tuple(notes))
        notes.append(f"no schedule by strategy `{name}` within {deadline_s:g} s")
    notes.append("the statements run one after the other, in program order")
    return _in_program_order(scop, dependences, PROGRAM_ORDER, notes)


def _in_program_order(
    scop: Scop, dependences: Dependences, name: str, notes: list[str]
) -> Scheduled:
    found = tree.program_order(scop)
    legality.check_tree(dependences, found)
    return Scheduled(found, name, tuple(notes))


def _problem(
    scop: Scop,
    dependences: Dependences,
    segments: Sequence[Sequence[Cluster]],
    fusion: Fusion,
    options: islx.ScheduleOptions,
) -> Problem:
    domain = islx.union_set(scop.parameters, (s.domain for s in scop.statements))
    constraints = islx.Constraints(
        domain,
        dependences.validity,
        dependences.coincidence,
        scop.context,
    )
    return Problem(
        constraints,
        tuple(tuple(s) for s in segments if len(s) > 1),
        {s.name: len(s.parallel) for s in scop.statements},
        fusion,
        options,
    )


def _assemble(
    scop: Scop,
    dependences: Dependences,
    segments: Sequence[Sequence[Cluster]],
    answer: list[list[str]],
    forms: LoopForms,
    *,
    share: bool,
) -> tree.Node:
    """The segments one after the other; a statement that shares nothing keeps its own loops."""
    alone = {part.statements: part for part in tree.source_statements(scop)}
    solved = iter(answer)
    parts: list[tree.Filter] = []
    for segment in segments:
        if len(segment) == 1:
            parts.append(alone[segment[0]])
        else:
            parts += [read_schedule(scop, islx.parse_schedule(text)) for text in next(solved)]
    plain = [alone.get(part.statements, part) for part in tree.flatten(parts)]
    found = tidy(dependences, tree.in_sequence(plain), forms, share=share)
    found = join_loops(dependences, found) if share else found
    legality.check_tree(dependences, found)
    return found
