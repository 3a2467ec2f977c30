"""Checks by isl that a nest runs every statement instance once and in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from tcc.affine import Affine, var
from tcc.errors import InternalError
from tcc.sched import islx
from tcc.sched.dependences import Dependences
from tcc.sched.legality import check_kernels
from tcc.sched.nest import Dim, Instance, Loop, Nest, Node
from tcc.sched.place import place
from tcc.sched.scop import Scop, ScopStatement


@dataclass(frozen=True)
class _Place:
    """Where a nest has a statement, below which loops; the parallel ones come first."""

    instance: Instance
    loops: tuple[Dim, ...]


def check_nest(dependences: Dependences, nest: Nest) -> None:
    """Every statement instance runs exactly once, and every dependence goes forward.

    Raises InternalError with the smallest violation.
    """
    check_once(dependences.scop, nest)
    check_kernels(dependences, place(nest))


def check_once(scop: Scop, nest: Nest) -> None:
    """Every instance of every statement is at one point of one kernel.

    A point is a value of each loop around the statement, parallel ones included; guards keep
    points that belong to no instance from running. Raises InternalError with the smallest
    instance that runs at no point, or at a second one.
    """
    places = [p for k in nest.kernels for p in _places(k.body, k.parallel)]
    found = sorted(p.instance.statement for p in places)
    if found != sorted(scop.by_name):
        raise InternalError(f"the statements {', '.join(scop.by_name)} run as {', '.join(found)}")
    for here in places:
        statement = scop.by_name[here.instance.statement]
        domain = statement.domain.intersect_params(scop.context)
        _check_none(domain.subtract(_reached(statement, here)), statement, "never runs")
        _check_none(_repeated(statement, here, domain), statement, "runs more than once")


def _places(nodes: Sequence[Node], loops: tuple[Dim, ...]) -> Iterator[_Place]:
    for node in nodes:
        if isinstance(node, Loop):
            yield from _places(node.body, (*loops, node.dim))
        else:
            yield _Place(node, loops)


def _reached(statement: ScopStatement, place: _Place) -> isl.Set:
    """{ S[i] }: the instances whose values of the loop variables are inside the loops."""
    space, instance = statement.space, place.instance

    def text(expression: Affine) -> str:
        return space.text(expression.substitute(instance.values))

    back = [f"{text(e)} = {islx.spell(i)}" for i, e in instance.iterators.items()]
    return space.set([*_inside(place, text), *back])


def _repeated(statement: ScopStatement, place: _Place, domain: isl.Set) -> isl.Set:
    """{ P[loops] }: points at which an instance runs that belongs to another point."""
    instance = place.instance
    names = tuple(d.name for d in place.loops)
    space = islx.Space(statement.space.parameters, "P", names)
    iterators = [instance.iterators[i] for i in statement.iterators]
    run = space.relation(statement.name, iterators).intersect_range(domain).domain()
    own = [
        f"{space.text(instance.values[n].substitute(instance.iterators))} = {islx.spell(n)}"
        for n in names
    ]
    return run.intersect(space.set(_inside(place, space.text))).subtract(space.set(own))


def _inside(place: _Place, text: Callable[[Affine], str]) -> list[str]:
    """The constraints of the loops and of the instance, spelled by `text`."""
    limits = [f"{text(d.low)} <= {text(var(d.name))} < {text(d.high)}" for d in place.loops]
    return limits + [f"{text(c)} = 0" for c in place.instance.conditions]


def _check_none(points: isl.Set, statement: ScopStatement, fault: str) -> None:
    if points.is_empty():
        return
    witness = islx.smallest_point(points)
    where = f" at {witness[0]}, {witness[1]}" if witness else ""
    raise InternalError(f"an instance of {statement.name} {fault}{where}")
