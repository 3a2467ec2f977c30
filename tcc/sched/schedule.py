"""The execution order of a program: isl's scheduler under a deadline, with fall-backs."""

from __future__ import annotations

from dataclasses import dataclass

from tcc.sched import islx, legality, tree
from tcc.sched.dependences import Dependences
from tcc.sched.fusion import WINDOW, Fusion, Problem
from tcc.sched.read_schedule import read_schedule
from tcc.sched.scop import Scop
from tcc.sched.tidy import tidy
from tcc.sched.worker import solve_within

_BOUND = 4
"""Largest coefficient and constant of the second attempt."""


@dataclass(frozen=True)
class Scheduled:
    """A schedule tree, how it was found, and what the user should know about that."""

    tree: tree.Node
    strategy: str
    notes: tuple[str, ...] = ()


def compute_schedule(
    scop: Scop, dependences: Dependences, fusion: Fusion, deadline_s: float = 5.0
) -> Scheduled:
    """Find a schedule with parallel outer loops, for all sizes at once.

    Each attempt of isl has `deadline_s` seconds: first freely; then with bounded coefficients and
    without pulling uses to their definitions, which is what large constants make slow (a
    four-layer MLP with fixed sizes: above 100 s, and 0.03 s without); then program order remains.
    `min` fuses nothing and needs no search.

    Requires: causality holds.
    Establishes: every dependence goes forward in the tree and coincident members carry none
    (both checked); every leaf has one statement.
    """
    statements = scop.program.statements
    if fusion is Fusion.MIN or len(statements) == 1:
        return _in_program_order(scop, dependences, fusion.value, [])
    notes: list[str] = []
    if len(statements) > WINDOW:
        notes.append(f"long program: scheduled in parts of {WINDOW} statements")
    for name, simple in ((fusion.value, False), (f"{fusion.value}, simplified", True)):
        texts = solve_within(_problem(scop, dependences, fusion, simple=simple), deadline_s)
        if texts is not None:
            return Scheduled(_assemble(scop, dependences, texts), name, tuple(notes))
        notes.append(f"no schedule by strategy `{name}` within {deadline_s:g} s")
    notes.append("the statements run one after the other, in program order")
    return _in_program_order(scop, dependences, "program order", notes)


def _in_program_order(
    scop: Scop, dependences: Dependences, name: str, notes: list[str]
) -> Scheduled:
    found = tree.program_order(scop)
    legality.check_tree(dependences, found)
    return Scheduled(found, name, tuple(notes))


def _problem(scop: Scop, dependences: Dependences, fusion: Fusion, *, simple: bool) -> Problem:
    domain = islx.union_set(scop.parameters, (s.domain for s in scop.statements))
    clusters: dict[str, list[str]] = {}
    for statement in scop.statements:
        clusters.setdefault(statement.source.name, []).append(statement.name)
    constraints = islx.Constraints(
        domain,
        dependences.validity,
        islx.union_map(scop.parameters, ()) if simple else dependences.proximity,
        dependences.coincidence,
        scop.context,
    )
    bounded = islx.ScheduleOptions(max_coefficient=_BOUND, max_constant_term=_BOUND)
    return Problem(
        constraints,
        tuple(tuple(c) for c in clusters.values()),
        tuple(len(s.indices) for s in scop.program.statements),
        fusion,
        bounded if simple else islx.ScheduleOptions(),
    )


def _assemble(scop: Scop, dependences: Dependences, texts: list[str]) -> tree.Node:
    parts = [read_schedule(scop, islx.parse_schedule(text)) for text in texts]
    found = tidy(dependences, tree.in_sequence(parts))
    legality.check_tree(dependences, found)
    return found
