"""Which neighbouring statements could share parallel loops at all, judged without a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import islpy as isl

from tcc.sched.dependences import Dependence, Dependences
from tcc.sched.fusion import Cluster, Fusion
from tcc.sched.scop import Scop

WINDOW = 64
"""Source statements in one search: its time grows with the cube of their number."""


def fusion_segments(
    scop: Scop, dependences: Dependences, clusters: Sequence[Cluster], fusion: Fusion
) -> list[list[Cluster]]:
    """Runs of statements, in program order, among which isl may look for a fusion.

    Two statements with a dependence have a common parallel loop for each equation between their
    left-hand indices that all dependent instances fulfil. A statement joins a run if that leaves
    as many loops as the strategy wants; runs end at WINDOW statements. If it does not, it takes
    along those at the end of the run that have nothing to do with the rest of it.
    """
    judge = _Judge(scop, dependences, clusters, fusion)
    segments: list[list[Cluster]] = []
    for cluster in clusters:
        last = segments[-1] if segments else []
        if last and len(last) < WINDOW and judge.fits([*last, cluster]):
            last.append(cluster)
            continue
        taken = [cluster]
        while (
            len(last) > 1 and judge.is_free(last[-1], last[:-1]) and judge.fits([last[-1], *taken])
        ):
            taken.insert(0, last.pop())
        segments.append(taken)
    return segments


class _Judge:
    def __init__(
        self, scop: Scop, dependences: Dependences, clusters: Sequence[Cluster], fusion: Fusion
    ) -> None:
        self._common = _common_loops(scop, dependences, clusters)
        self._alone = {c: len(scop.by_name[c[0]].parallel) for c in clusters}
        self._fusion = fusion

    def fits(self, group: Sequence[Cluster]) -> bool:
        """Whether every two dependent statements can share the loops that the strategy wants."""
        wanted = min(self._fusion.wanted, max(self._alone[c] for c in group))
        return all(self._common.get(pair, wanted) >= wanted for pair in combinations(group, 2))

    def is_free(self, cluster: Cluster, others: Sequence[Cluster]) -> bool:
        """Whether it depends on none of these earlier statements."""
        return all((other, cluster) not in self._common for other in others)


def _common_loops(
    scop: Scop, dependences: Dependences, clusters: Sequence[Cluster]
) -> Mapping[tuple[Cluster, Cluster], int]:
    """The largest number of common parallel loops of two clusters with a dependence."""
    owner = {name: c for c in clusters for name in c}
    found: dict[tuple[Cluster, Cluster], int] = {}
    for dependence in dependences.pairs:
        pair = owner[dependence.source], owner[dependence.sink]
        if pair[0] != pair[1]:
            count = _equations(scop, dependence)
            found[pair] = min(count, found.get(pair, count))
    return found


def _equations(scop: Scop, dependence: Dependence) -> int:
    """Equations that relate left-hand indices of source and sink."""
    relation = dependence.relation
    for kind, name in ((isl.dim_type.in_, dependence.source), (isl.dim_type.out, dependence.sink)):
        outer = len(scop.by_name[name].parallel)
        relation = relation.project_out(kind, outer, relation.dim(kind) - outer)
    hull = relation.affine_hull()
    return sum(_relates(c) for c in hull.get_constraints())


def _relates(constraint: isl.Constraint) -> bool:
    """Whether this is an equation with indices of both sides."""
    sides = (isl.dim_type.in_, isl.dim_type.out)
    both = all(constraint.involves_dims(s, 0, constraint.dim(s)) for s in sides)
    return bool(constraint.is_equality()) and both
