"""Which statements share loops: isl's scheduler under the fusion strategies of the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, assert_never

import islpy as isl

from tcc.sched import islx
from tcc.sched.islx import Constraints, ScheduleOptions
from tcc.sched.read_schedule import node_type

_Type = isl.schedule_node_type
_ENOUGH = 3
WINDOW = 64
"""Source statements in one search: isl's time grows with the cube of their number."""


class Fusion(Enum):
    """How eagerly statements are fused; the values are the option file's."""

    MAX = "max"
    """Fuse whatever has a common outer parallel loop."""

    PRESERVE3COINCIDENT = "preserve3coincident"
    """Fuse where three parallel loops remain, or as many as the statements have alone."""

    MIN = "min"
    """Fuse nothing."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One scheduling problem, complete: it can be solved in another process.

    `clusters` are the statements in program order, an initialisation together with its update;
    `parallel` is the number of left-hand indices of each cluster.
    """

    constraints: Constraints
    clusters: tuple[tuple[str, ...], ...]
    parallel: tuple[int, ...]
    fusion: Fusion
    options: ScheduleOptions

    def to_data(self) -> dict[str, Any]:
        """The problem as JSON data."""
        return {
            "constraints": self.constraints.texts(),
            "clusters": self.clusters,
            "parallel": self.parallel,
            "fusion": self.fusion.value,
            "bounds": (self.options.max_coefficient, self.options.max_constant_term),
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Problem:
        """The inverse of `to_data`."""
        coefficient, constant = data["bounds"]
        return Problem(
            Constraints.parse(data["constraints"]),
            tuple(tuple(c) for c in data["clusters"]),
            tuple(data["parallel"]),
            Fusion(data["fusion"]),
            ScheduleOptions(max_coefficient=coefficient, max_constant_term=constant),
        )


def solve(problem: Problem) -> list[isl.Schedule]:
    """Schedules of disjoint groups of statements, to be run in this order.

    Longer programs are scheduled in windows of program order, and nothing is fused across them.
    """
    count = len(problem.clusters)
    windows = (range(k, min(k + WINDOW, count)) for k in range(0, count, WINDOW))
    return [schedule for window in windows for schedule in _solve(problem, window)]


def _solve(problem: Problem, chosen: Sequence[int]) -> Iterator[isl.Schedule]:
    match problem.fusion:
        case Fusion.MAX:
            yield _schedule(problem, chosen)
        case Fusion.MIN:
            for cluster in chosen:
                yield _schedule(problem, [cluster])
        case Fusion.PRESERVE3COINCIDENT:
            whole = _schedule(problem, chosen)
            if all(_keeps_parallelism(problem, g) for g in _groups(whole)):
                yield whole
            else:
                yield from _greedy(problem, chosen)
        case _:
            assert_never(problem.fusion)


def _greedy(problem: Problem, chosen: Sequence[int]) -> Iterator[isl.Schedule]:
    """Neighbours in program order join a group as long as it keeps its parallel loops."""
    group = [chosen[0]]
    best = _schedule(problem, group)
    for cluster in chosen[1:]:
        wider = _schedule(problem, [*group, cluster])
        groups = _groups(wider)
        if len(groups) == 1 and _keeps_parallelism(problem, groups[0]):
            group, best = [*group, cluster], wider
        else:
            yield best
            group, best = [cluster], _schedule(problem, [cluster])
    yield best


def _schedule(problem: Problem, chosen: Sequence[int]) -> isl.Schedule:
    constraints = problem.constraints
    if len(chosen) < len(problem.clusters):
        constraints = constraints.restrict([s for c in chosen for s in problem.clusters[c]])
    return islx.compute_schedule(constraints, problem.options)


def _keeps_parallelism(problem: Problem, group: isl.ScheduleNode) -> bool:
    names = islx.set_names(group.get_domain())
    alone = max(
        count
        for cluster, count in zip(problem.clusters, problem.parallel, strict=True)
        if any(s in names for s in cluster)
    )
    return _coincident_count(group) >= min(_ENOUGH, alone)


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
