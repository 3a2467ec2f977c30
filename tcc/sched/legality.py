"""Checks by isl that an execution order keeps every dependence; a violation is a fault of tcc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import islpy as isl

from tcc.affine import Affine, const
from tcc.errors import InternalError
from tcc.sched import islx, tree
from tcc.sched.dependences import Dependence, Dependences

Vector: TypeAlias = tuple[Affine, ...]


@dataclass(frozen=True)
class Placement:
    """Where and when the instances of one statement run, over its iterators and sizes.

    Kernels run one after the other. Inside a kernel, instances with different `parallel` vectors
    (block and thread) run at the same time; those with one vector run in the order of `time`,
    in which a shorter vector counts as followed by zeros.
    """

    kernel: int
    parallel: Vector
    time: Vector


def check_schedule(
    dependences: Dependences, times: Mapping[str, Vector], parallel: int = 0
) -> None:
    """Every dependence goes forward in time, at no distance in the first `parallel` components.

    Raises InternalError with the smallest violation.
    """
    check_kernels(
        dependences,
        {s: Placement(0, time[:parallel], time[parallel:]) for s, time in times.items()},
    )


def check_kernels(dependences: Dependences, placement: Mapping[str, Placement]) -> None:
    """Every dependence goes to a later kernel, or forward in time within one thread.

    Instances that accumulate into one element may swap, but run in one kernel on one thread and
    at different times. Raises InternalError with the smallest violation.
    """
    _check_lengths(placement)
    for dependence in dependences.pairs:
        source, sink = placement[dependence.source], placement[dependence.sink]
        if source.kernel > sink.kernel:
            raise _violation(dependence, dependence.relation, "runs in a later kernel")
        if source.kernel < sink.kernel:
            continue
        compared = _Compared(dependences, dependence)
        apart = compared.distant(source.parallel, sink.parallel)
        if not apart.is_empty():
            raise _violation(dependence, apart, "runs on another thread")
        late = compared.late(source.time, sink.time)
        if not late.is_empty():
            raise _violation(dependence, late, "does not run earlier")


def check_tree(dependences: Dependences, node: tree.Node) -> None:
    """Every dependence goes forward, and none has a distance in a coincident member.

    No two iterations of a statement have the same time. Raises InternalError with the smallest
    violation.
    """
    names = [s.name for s in dependences.scop.statements]
    times = tree.times(node, names)
    for statement in dependences.scop.statements:
        vector = statement.space.vector(times[statement.name])
        domain = statement.domain.intersect_params(dependences.scop.context)
        if not vector.intersect_domain(domain).is_injective():
            raise InternalError(f"iterations of {statement.name} run at the same time")
    check_schedule(dependences, times)
    _check_members(dependences, node, dict.fromkeys(names, ()))


def no_distance(
    dependences: Dependences, statements: Sequence[str], values: Mapping[str, Affine]
) -> bool:
    """Whether dependent instances of these statements always have equal values."""
    return all(
        _Compared(dependences, d).distant((values[d.source],), (values[d.sink],)).is_empty()
        for d in dependences.among(statements)
    )


def _check_lengths(placement: Mapping[str, Placement]) -> None:
    lengths: dict[int, int] = {}
    for place in placement.values():
        if lengths.setdefault(place.kernel, len(place.parallel)) != len(place.parallel):
            raise InternalError(f"parallel vectors of different lengths in kernel {place.kernel}")


def _check_members(dependences: Dependences, node: tree.Node, prefix: Mapping[str, Vector]) -> None:
    match node:
        case tree.Leaf():
            return
        case tree.Sequence(children):
            for part in children:
                inside = {s: prefix[s] for s in part.statements}
                _check_members(dependences, part.child, inside)
        case tree.Band(members, _, child):
            parallel = [m for m in members if m.coincident]
            for dependence in dependences.among(prefix) if parallel else ():
                _check_coincident(dependences, dependence, parallel, prefix)
            deeper = {s: (*v, *(m.partial[s] for m in members)) for s, v in prefix.items()}
            _check_members(dependences, child, deeper)
        case _:
            assert_never(node)


def _check_coincident(
    dependences: Dependences,
    dependence: Dependence,
    members: list[tree.Member],
    prefix: Mapping[str, Vector],
) -> None:
    source, sink = dependence.source, dependence.sink
    compared = _Compared(dependences, dependence)
    together = compared.together(prefix[source], prefix[sink])
    values = [tuple(m.partial[s] for m in members) for s in (source, sink)]
    apart = compared.distant(values[0], values[1]).intersect(together)
    if not apart.is_empty():
        raise _violation(dependence, apart, "is not in the same iteration of a parallel loop")


class _Compared:
    """One dependence, split by values that its two statements have at the two instances."""

    def __init__(self, dependences: Dependences, dependence: Dependence) -> None:
        self._dependence = dependence
        by_name = dependences.scop.by_name
        self._source = by_name[dependence.source].space
        self._sink = by_name[dependence.sink].space

    def together(self, source: Vector, sink: Vector) -> isl.Map:
        """The pairs of instances with equal vectors."""
        relation = self._dependence.relation
        if not source and not sink:
            return relation
        first, second = self._source.vector(source), self._sink.vector(sink)
        return relation.intersect(first.apply_range(second.reverse()))

    def distant(self, source: Vector, sink: Vector) -> isl.Map:
        """The pairs of instances with different vectors."""
        return self._dependence.relation.subtract(self.together(source, sink))

    def late(self, source: Vector, sink: Vector) -> isl.Map:
        """The pairs whose source is not earlier; at the same time where the order is free."""
        length = max(len(source), len(sink))
        source, sink = _padded(source, length), _padded(sink, length)
        if self._dependence.relaxed:
            return self.together(source, sink)
        first, second = self._source.vector(source), self._sink.vector(sink)
        return self._dependence.relation.subtract(first.lex_lt_map(second))


def _padded(vector: Vector, length: int) -> Vector:
    return vector + (const(0),) * (length - len(vector))


def _violation(dependence: Dependence, pairs: isl.Map, fault: str) -> InternalError:
    witness = islx.smallest_point(pairs.wrap())
    where = f" at {witness[0]}, instances {witness[1]}" if witness else ""
    return InternalError(
        f"{dependence.source} must run before {dependence.sink} for `{dependence.tensor}` "
        f"but {fault}{where}"
    )
