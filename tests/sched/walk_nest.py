"""Nests run by hand: which instances run where, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tcc.sched.nest import Dim, Instance, Loop, Nest, Node
from tcc.sched.scop import Scop, ScopStatement


@dataclass(frozen=True)
class Visit:
    """One instance: its kernel, its parallel point, its statement and iterators."""

    kernel: int
    parallel: tuple[int, ...]
    statement: str
    point: tuple[int, ...]


def walk(nest: Nest, scop: Scop, sizes: Mapping[str, int]) -> Iterator[Visit]:
    """All instances, kernel by kernel and parallel point by parallel point."""
    statements = {s.name: s for s in scop.statements}
    for number, kernel in enumerate(nest.kernels):
        for at in _points(kernel.parallel, dict(sizes)):
            parallel = tuple(at[d.name] for d in kernel.parallel)
            for instance, here in _instances(kernel.body, at):
                point = _exists(instance, statements[instance.statement], here)
                if point is not None:
                    yield Visit(number, parallel, instance.statement, point)


def _points(dims: tuple[Dim, ...], at: dict[str, int]) -> Iterator[dict[str, int]]:
    if not dims:
        yield at
        return
    for value in _values(dims[0], at):
        yield from _points(dims[1:], {**at, dims[0].name: value})


def _instances(
    nodes: tuple[Node, ...], at: dict[str, int]
) -> Iterator[tuple[Instance, dict[str, int]]]:
    for node in nodes:
        if isinstance(node, Loop):
            for value in _values(node.dim, at):
                yield from _instances(node.body, {**at, node.dim.name: value})
        else:
            yield node, at


def _values(dim: Dim, at: Mapping[str, int]) -> range:
    return range(dim.low.evaluate(at), dim.high.evaluate(at))


def _exists(
    instance: Instance, statement: ScopStatement, at: dict[str, int]
) -> tuple[int, ...] | None:
    """The iterators, where the instance is in the statement's domain."""
    if any(c.evaluate(at) for c in instance.conditions):
        return None
    point = {i: instance.iterators[i].evaluate(at) for i in statement.iterators}
    known = {**at, **point}
    for name, value in point.items():
        limits = statement.source.ranges[name]
        if not limits.low.evaluate(known) <= value < limits.high.evaluate(known):
            return None
    return tuple(point[i] for i in statement.iterators)
