"""Dependences by enumeration, from the typed program alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import islpy as isl

from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.sched.islx import Parameters

Instance = tuple[str, tuple[int, ...]]
Element = tuple[str, tuple[int, ...]]
Step = tuple[Instance, frozenset[Element], frozenset[Element]]


def steps(program: tir.Program, sizes: Mapping[str, int]) -> list[Step]:
    """Every instance in program order, with the elements it reads and writes."""
    found: list[Step] = []
    for s in program.statements:
        if s.initialise and s.reductions:
            for point in points(s, s.indices, dict(sizes)):
                here = tuple(point[i] for i in s.indices)
                found.append(((f"{s.name}_init", here), frozenset(), frozenset({(s.target, here)})))
        for point in points(s, s.indices + s.reductions, dict(sizes)):
            here = tuple(point[i] for i in s.indices + s.reductions)
            written = (s.target, tuple(point[i] for i in s.indices))
            reads = set(reads_of(program, s.value, point, sizes))
            if s.operator != "=" and (s.reductions or not s.initialise):
                reads.add(written)
            found.append(((s.name, here), frozenset(reads), frozenset({written})))
    return found


def points(
    statement: tir.Statement, names: tuple[str, ...], at: dict[str, int]
) -> Iterator[dict[str, int]]:
    if not names:
        yield at
        return
    bounds = statement.ranges[names[0]]
    for value in range(bounds.low.evaluate(at), bounds.high.evaluate(at)):
        yield from points(statement, names[1:], {**at, names[0]: value})


def reads_of(
    program: tir.Program,
    expression: tir.Expression,
    point: Mapping[str, int],
    sizes: Mapping[str, int],
) -> Iterator[Element]:
    """All elements that may be read; conditions on indices are respected."""
    match expression:
        case tir.Select(condition, then, otherwise, _):
            yield from reads_of(program, condition, point, sizes)
            outcome = decided(condition, point)
            if outcome is not False:
                yield from reads_of(program, then, point, sizes)
            if outcome is not True:
                yield from reads_of(program, otherwise, point, sizes)
        case tir.Binary("&&" | "||" as operator, left, right, _):
            yield from reads_of(program, left, point, sizes)
            if decided(left, point) is not (operator == "||"):
                yield from reads_of(program, right, point, sizes)
        case _:
            if isinstance(expression, tir.Read):
                yield from elements(program, expression, point, sizes)
            for child in tir.children(expression):
                yield from reads_of(program, child, point, sizes)


def elements(
    program: tir.Program, read: tir.Read, point: Mapping[str, int], sizes: Mapping[str, int]
) -> Iterator[Element]:
    tensor = program.tensors[read.tensor]
    ranges = []
    for subscript, extent, origin in zip(read.subscripts, tensor.shape, tensor.origin, strict=True):
        form = affine_form(subscript)
        low = origin.evaluate(sizes)
        everything = range(low, low + extent.evaluate(sizes))
        ranges.append(everything if form is None else [form.evaluate(point)])
    found: list[tuple[int, ...]] = [()]
    for choices in ranges:
        found = [(*f, c) for f in found for c in choices]
    yield from ((read.tensor, f) for f in found)


def decided(condition: tir.Expression, point: Mapping[str, int]) -> bool | None:
    """The value of a condition on indices and sizes; None where data decide."""
    match condition:
        case tir.Literal(value, _):
            return bool(value)
        case tir.Unary("!", operand, _):
            inner = decided(operand, point)
            return None if inner is None else not inner
        case tir.Binary("&&" | "||" as operator, left, right, _):
            outcomes = {decided(left, point), decided(right, point)}
            ends = operator == "||"
            return ends if ends in outcomes else None if None in outcomes else not ends
        case tir.Binary("==" | "!=" | "<" | "<=" | ">" | ">=" as operator, left, right, _):
            a, b = affine_form(left), affine_form(right)
            if a is None or b is None:
                return None
            x, y = a.evaluate(point), b.evaluate(point)
            sides = {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y}
            return sides.get(operator, x != y)
        case _:
            return None


def conflicts(program: tir.Program, sizes: Mapping[str, int]) -> set[tuple[Instance, Instance]]:
    """Ordered pairs of instances that touch one element, at least one writing it."""
    return {
        (first, second)
        for (first, reads, writes), (second, later_reads, later_writes) in combinations(
            steps(program, sizes), 2
        )
        if writes & later_reads or reads & later_writes or writes & later_writes
    }


def pairs(
    parameters: Parameters, relation: isl.Map, sizes: Mapping[str, int]
) -> set[tuple[Instance, Instance]]:
    """The pairs of { S[i] -> T[j] } at given sizes."""
    at = relation.intersect_params(parameters.fixed(sizes))
    if at.is_empty():
        return set()
    source, sink = (str(at.get_tuple_name(d)) for d in (isl.dim_type.in_, isl.dim_type.out))
    split = at.dim(isl.dim_type.in_)
    flat = at.wrap().flatten()
    found: list[tuple[int, ...]] = []

    def keep(point: isl.Point) -> None:
        dims = range(flat.dim(isl.dim_type.set))
        found.append(tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in dims))

    flat.project_out_all_params().foreach_point(keep)
    return {((source, p[:split]), (sink, p[split:])) for p in found}


def closure(relation: set[tuple[Instance, Instance]]) -> set[tuple[Instance, Instance]]:
    """The transitive closure of an acyclic relation whose nodes are few."""
    after: dict[Instance, set[Instance]] = {}
    for first, second in relation:
        after.setdefault(first, set()).add(second)
    done: dict[Instance, set[Instance]] = {}

    def reach(node: Instance) -> set[Instance]:
        if node not in done:
            direct = after.get(node, set())
            done[node] = direct.union(*(reach(n) for n in direct))
        return done[node]

    return {(n, m) for n in after for m in reach(n)}
