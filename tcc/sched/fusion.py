"""Which statements share loops: isl's scheduler under the fusion strategies of the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

import islpy as isl

from tcc.sched import islx
from tcc.sched.islx import Constraints, ScheduleOptions
from tcc.sched.loop_form import PLAIN, LoopForm, LoopForms
from tcc.sched.read_schedule import node_type

_Type = isl.schedule_node_type


class Fusion(Enum):
    """How eagerly statements are fused; the values are the option file's."""

    MAX = "max"
    """Fuse whatever has a common outer parallel loop."""

    PRESERVE3COINCIDENT = "preserve3coincident"
    """Fuse where three parallel loops remain, or as many as the statements have alone."""

    MIN = "min"
    """Fuse nothing."""

    @property
    def wanted(self) -> int:
        """Parallel loops that fused statements must share, unless they have fewer alone."""
        return {Fusion.MAX: 1, Fusion.PRESERVE3COINCIDENT: 3, Fusion.MIN: 0}[self]


Cluster = tuple[str, ...]
"""The statements of the model for one source statement: an update with its initialisation."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What isl has to schedule, complete: it can be solved in another process.

    Each segment is a run of clusters in program order that may be fused; `parallel` is the number
    of left-hand indices by statement.
    """

    constraints: Constraints
    segments: tuple[tuple[Cluster, ...], ...]
    parallel: Mapping[str, int]
    fusion: Fusion
    options: ScheduleOptions
    forms: LoopForms = PLAIN

    def to_data(self) -> dict[str, Any]:
        """The problem as JSON data."""
        return {
            "constraints": self.constraints.texts(),
            "segments": self.segments,
            "parallel": self.parallel,
            "fusion": self.fusion.value,
            "options": asdict(self.options),
            "forms": asdict(self.forms),
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Problem:
        """The inverse of `to_data`."""
        return Problem(
            Constraints.parse(data["constraints"]),
            tuple(tuple(tuple(c) for c in segment) for segment in data["segments"]),
            data["parallel"],
            Fusion(data["fusion"]),
            ScheduleOptions(**data["options"]),
            LoopForms(**{name: LoopForm(**form) for name, form in data["forms"].items()}),
        )


def solve(problem: Problem) -> list[list[isl.Schedule]]:
    """For each segment, schedules of disjoint groups of its statements, to be run in this order.

    A segment is fused as a whole if that keeps enough parallel loops; else its statements are
    fused one after the other, as long as they do.
    """
    return [list(_segment(problem, segment)) for segment in problem.segments]


def _segment(problem: Problem, segment: Sequence[Cluster]) -> Iterator[isl.Schedule]:
    whole = _schedule(problem, segment)
    if all(_is_worth_it(problem, g) for g in _groups(whole)):
        yield whole
    else:
        yield from _greedy(problem, segment)


def _greedy(problem: Problem, segment: Sequence[Cluster]) -> Iterator[isl.Schedule]:
    group = [segment[0]]
    best = _schedule(problem, group)
    for cluster in segment[1:]:
        wider = _schedule(problem, [*group, cluster])
        groups = _groups(wider)
        if len(groups) == 1 and _is_worth_it(problem, groups[0]):
            group, best = [*group, cluster], wider
        else:
            yield best
            group, best = [cluster], _schedule(problem, [cluster])
    yield best


def _schedule(problem: Problem, clusters: Sequence[Cluster]) -> isl.Schedule:
    constraints = problem.constraints.restrict([s for c in clusters for s in c])
    return islx.compute_schedule(constraints, problem.options)


def _is_worth_it(problem: Problem, group: isl.ScheduleNode) -> bool:
    """Whether fused statements keep enough parallel loops, all of a form that is allowed.

    Parallel loops of a form that is allowed only inside come after those, and count for nothing.
    """
    alone = max(problem.parallel[s] for s in islx.set_names(group.get_domain()))
    count = _coincident_count(group)
    outer = [_is_allowed(group, k, problem.forms.outer) for k in range(count)]
    leading = outer.index(False) if False in outer else count
    inside = range(leading, count)
    return leading >= min(problem.fusion.wanted, alone) and all(
        _is_allowed(group, k, problem.forms.inner) for k in inside
    )


def _is_allowed(band: isl.ScheduleNode, position: int, form: LoopForm) -> bool:
    """Whether a member has an allowed form for every statement, but for an offset."""
    pieces = band.band_get_partial_schedule().get_at(position).get_pw_aff_list()
    each = [a for k in range(pieces.n_pw_aff()) for _, a in pieces.get_at(k).get_pieces()]
    return all(not a.involves_locals() and form.allows(_factors(a)) for a in each)


def _factors(value: isl.Aff) -> list[int]:
    dims = range(value.dim(isl.dim_type.in_))
    every = [value.get_coefficient_val(isl.dim_type.in_, k).to_python() for k in dims]
    return [f for f in every if f]


def _groups(schedule: isl.Schedule) -> list[isl.ScheduleNode]:
    """The parts of a schedule that share outer loops."""
    top = schedule.get_root().child(0)
    if node_type(top) in (_Type.sequence, _Type.set):
        return [top.child(k).child(0) for k in range(top.n_children())]
    return [top]


def _coincident_count(node: isl.ScheduleNode) -> int:
    if node_type(node) != _Type.band:
        return 0
    flags = [bool(node.band_member_get_coincident(k)) for k in range(node.band_n_member())]
    return flags.index(False) if False in flags else len(flags)
