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
    as many loops as the strategy wants; runs end at WINDOW statements.
    """
    common = _common_loops(scop, dependences, clusters)
    alone = {c: len(scop.by_name[c[0]].parallel) for c in clusters}
    segments: list[list[Cluster]] = []
    for cluster in clusters:
        wider = [*segments[-1], cluster] if segments else [cluster]
        wanted = min(fusion.wanted, max(alone[c] for c in wider))
        fits = all(common.get(pair, wanted) >= wanted for pair in combinations(wider, 2))
        if segments and fits and len(wider) <= WINDOW:
            segments[-1] = wider
        else:
            segments.append([cluster])
    return segments


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
