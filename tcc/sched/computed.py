"""Subscripts that are computed from indices and sizes but are not affine stay inside, by trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

from tcc.diagnostics import Report, error
from tcc.frontend import tir
from tcc.frontend.domain import OUTSIDE
from tcc.frontend.subscripts import affine_form
from tcc.scalar import ScalarType
from tcc.sched.guards import guarded_reads
from tcc.sched.scop import Part, Scop, ScopStatement, bounds
from tcc.sched.witness import is_reported

MOST_POINTS = 1 << 16
"""Values of the index variables of one subscript that are tried, 0.2 s; of more the corners."""


def check_computed(scop: Scop, sizes: Mapping[str, int], report: Report) -> None:
    """Report reads such as `A(i * i)` that leave their tensor at the given sizes.

    Those below a condition or over triangles, and those that hang on data or open sizes, are not
    looked at; beyond MOST_POINTS points only the corners of the box are.
    """
    for statement in scop.statements:
        if statement.part is Part.INIT:
            continue
        boxes = _boxes(statement, sizes)
        if boxes is None:
            continue
        for read, guard in guarded_reads(statement.source.value, statement.space):
            if guard is None and not is_reported(report, read.span):
                _check(read, scop, sizes, boxes, report)


def _boxes(statement: ScopStatement, sizes: Mapping[str, int]) -> dict[str, range] | None:
    ranges = statement.source.ranges
    if not all(r.low.variables | r.high.variables <= sizes.keys() for r in ranges.values()):
        return None
    return {n: range(r.low.evaluate(sizes), r.high.evaluate(sizes)) for n, r in ranges.items()}


def _check(
    read: tir.Read,
    scop: Scop,
    sizes: Mapping[str, int],
    boxes: Mapping[str, range],
    report: Report,
) -> None:
    extents = bounds(scop.program.tensors[read.tensor])
    for dim, subscript in enumerate(read.subscripts):
        low, high = extents[dim]
        if affine_form(subscript) is not None or not _is_computed(subscript, sizes):
            continue
        if not low.variables | high.variables <= sizes.keys():
            continue
        inside = range(low.evaluate(sizes), high.evaluate(sizes))
        for values in _points(subscript, boxes):
            index = _evaluate(subscript, {**sizes, **values})
            if index is not None and index not in inside:
                _report(read, dim, values, index, inside, report)
                return


def _is_computed(subscript: tir.Expression, sizes: Mapping[str, int]) -> bool:
    """Whether it is made of index variables, given sizes and integer operators only."""
    for node in tir.walk(subscript):
        match node:
            case tir.Index() | tir.Unary("-") | tir.Literal(int()):
                pass
            case tir.Size(value) if value.variables <= sizes.keys():
                pass
            case tir.Cast(operand, to) if operand.type.is_signed and to.is_signed:
                pass
            case tir.Binary("+" | "-" | "*" | "/" | "%" | "min" | "max", _, _, kind) if (
                kind.is_integer and kind.is_signed
            ):
                pass
            case _:
                return False
    return True


def _points(subscript: tir.Expression, boxes: Mapping[str, range]) -> Iterator[dict[str, int]]:
    names = list(dict.fromkeys(e.name for e in tir.walk(subscript) if isinstance(e, tir.Index)))
    boxed = [boxes[n] for n in names]
    few = prod(map(len, boxed)) <= MOST_POINTS
    tried = product(*(b if few else (b[0], b[-1]) for b in boxed))
    return (dict(zip(names, p, strict=True)) for p in tried)


def _evaluate(expression: tir.Expression, values: Mapping[str, int]) -> int | None:
    """Its value, which wraps in its type; None where it divides by zero."""
    match expression:
        case tir.Index(name):
            return values[name]
        case tir.Size(value):
            return value.evaluate(values)
        case tir.Literal(int() as value):
            return value
        case tir.Unary(_, operand, kind):
            inner = _evaluate(operand, values)
            return None if inner is None else _wrapped(-inner, kind)
        case tir.Cast(operand, kind):
            inner = _evaluate(operand, values)
            return None if inner is None else _wrapped(inner, kind)
        case tir.Binary(operator, left, right, kind):
            a, b = _evaluate(left, values), _evaluate(right, values)
            found = None if a is None or b is None else _combined(operator, a, b)
            return None if found is None else _wrapped(found, kind)
        case _:
            return None


def _wrapped(value: int, kind: ScalarType) -> int:
    low, high = kind.integer_range
    return (value - low) % (high - low + 1) + low


def _combined(operator: str, a: int, b: int) -> int | None:
    if operator in ("/", "%") and b == 0:
        return None
    results = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a // b,
        "%": lambda: a % b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
    }
    return results[operator]()


def _report(
    read: tir.Read, dim: int, at: Mapping[str, int], index: int, inside: range, report: Report
) -> None:
    text = read.span.text if "\n" not in read.span.text else read.tensor
    side = "before the start" if index < inside.start else "beyond the end"
    where = ", ".join(f"{n} = {v}" for n, v in at.items())
    note = f"at {where}, subscript {dim} is {index}" if where else f"subscript {dim} is {index}"
    label = f"subscript {dim} must stay in {inside.start}:{inside.stop}"
    message = f"`{text}` reads {side} of `{read.tensor}`"
    help = ("guard the read by a condition on its subscript: `c ? a : 0`",)
    report.add(error(OUTSIDE, message, read.span, label, notes=(note,), help=help))
