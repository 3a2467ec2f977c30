"""Interval analysis of a program: may a subscript read from data leave its tensor?

Values are intervals with both ends included; infinite ends are floats. A program is harmless for
given intervals of its inputs when no subscript that depends on data can leave its dimension, and
no integer divisor can be zero. Subscripts without data are the compiler's business.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tcc.frontend import tir
from tcc.run.reference import index_box
from tcc.scalar import ScalarType

Number: TypeAlias = int | float
Interval: TypeAlias = tuple[Number, Number]

_OPEN: Interval = (-math.inf, math.inf)
_TRUTH: Interval = (0, 1)


def is_harmless(
    program: tir.Program, sizes: Mapping[str, int], inputs: Mapping[str, Interval]
) -> bool:
    """Whether inputs in these intervals keep every data-dependent subscript inside its tensor."""
    values = dict(inputs)
    for statement in program.statements:
        scope = _Scope(program, sizes, values, _indices(statement, sizes))
        found = scope.interval(statement.value)
        if not scope.harmless:
            return False
        kind = program.tensors[statement.target].type
        total = _cast(_total(statement, found, scope), kind)
        old = values.get(statement.target)
        values[statement.target] = total if old is None else _hull(total, old)
    return True


def steering_inputs(program: tir.Program) -> tuple[str, ...]:
    """The inputs and in/out tensors whose values may reach a subscript or an integer divisor."""
    read_by: dict[str, set[str]] = {}
    steering: set[str] = set()
    for statement in program.statements:
        read_by.setdefault(statement.target, set()).update(_reads(statement.value))
        for node in tir.walk(statement.value):
            for part in _critical(node):
                steering.update(_reads(part))
    waiting = sorted(steering)
    while waiting:
        new = read_by.get(waiting.pop(), set()) - steering
        steering |= new
        waiting += sorted(new)
    return tuple(t for t in (*program.inputs, *program.inouts) if t in steering)


def _critical(node: tir.Expression) -> tuple[tir.Expression, ...]:
    match node:
        case tir.Read(_, subscripts, _, _):
            return subscripts
        case tir.Binary("/" | "%", left, right, _) if left.type.is_integer:
            return (right,)
        case _:
            return ()


def _reads(expression: tir.Expression) -> Iterator[str]:
    return (e.tensor for e in tir.walk(expression) if isinstance(e, tir.Read))


def _indices(statement: tir.Statement, sizes: Mapping[str, int]) -> dict[str, Interval]:
    """The values of every index variable."""
    names = statement.indices + statement.reductions
    box = index_box(statement, sizes)
    return {n: (low, max(low, high - 1)) for n, (low, high) in zip(names, box, strict=True)}


def _total(statement: tir.Statement, term: Interval, scope: _Scope) -> Interval:
    """What a statement may leave in its target, from one value of its right side."""
    if statement.operator == "=":
        return term
    count = math.prod(1 + scope.indices[r][1] - scope.indices[r][0] for r in statement.reductions)
    kind = statement.value.type
    start = scope.values.get(statement.target, _range(kind))
    if statement.initialise:
        start = (0, 0) if statement.operator == "+" else term
    match statement.operator:
        case "+":
            # A triangular range may be empty, so the sum may have fewer terms.
            return _add(start, (min(0, _times(count, term[0])), max(0, _times(count, term[1]))))
        case "min" | "max":
            triangular = any(
                statement.ranges[r].extent.variables & scope.indices.keys()
                for r in statement.reductions
            )
            return _range(kind) if triangular else _hull(start, term)
        case _:
            return _range(kind)


@dataclass
class _Scope:
    program: tir.Program
    sizes: Mapping[str, int]
    values: Mapping[str, Interval]
    indices: Mapping[str, Interval]
    harmless: bool = True

    def interval(self, e: tir.Expression) -> Interval:
        """An interval that has every value of an expression."""
        match e:
            case tir.Literal(value, _):
                exact = int(value) if isinstance(value, int) else float(value)
                return exact, exact
            case tir.Index(name):
                return self.indices[name]
            case tir.Size(affine):
                size = affine.evaluate(self.sizes)
                return size, size
            case tir.Read():
                return self._read(e)
            case tir.Unary(operator, operand, kind):
                inner = self.interval(operand)
                return _TRUTH if operator == "!" else _wrapped((-inner[1], -inner[0]), kind)
            case tir.Binary():
                return self._binary(e)
            case tir.Select(condition, then, otherwise, _):
                self.interval(condition)
                return _hull(self.interval(then), self.interval(otherwise))
            case tir.Call(function, arguments, kind):
                found = [self.interval(a) for a in arguments]
                return _magnitude(found[0]) if function == "abs" else _range(kind)
            case tir.Cast(operand, kind):
                return _cast(self.interval(operand), kind)
            case _:
                assert_never(e)

    def _read(self, read: tir.Read) -> Interval:
        tensor = self.program.tensors[read.tensor]
        for subscript, extent, origin in zip(
            read.subscripts, tensor.shape, tensor.origin, strict=True
        ):
            low, high = self.interval(subscript)
            if any(True for _ in _reads(subscript)):
                first = origin.evaluate(self.sizes)
                inside = first <= low and high < first + extent.evaluate(self.sizes)
                self.harmless = self.harmless and inside
        return self.values.get(read.tensor, _range(read.type))

    def _binary(self, e: tir.Binary) -> Interval:
        a, b = self.interval(e.left), self.interval(e.right)
        kind = e.left.type
        match e.operator:
            case "+":
                return _wrapped(_add(a, b), kind)
            case "-":
                return _wrapped(_add(a, (-b[1], -b[0])), kind)
            case "*":
                return _wrapped(_corners(a, b), kind)
            case "min":
                return min(a[0], b[0]), min(a[1], b[1])
            case "max":
                return max(a[0], b[0]), max(a[1], b[1])
            case "/" | "%" if kind.is_integer:
                return self._divide(e.operator, a, b, kind)
            case "/":
                return _OPEN
            case _:
                return _TRUTH

    def _divide(self, operator: str, a: Interval, b: Interval, kind: ScalarType) -> Interval:
        if b[0] <= 0 <= b[1]:
            self.harmless = False
            return _range(kind)
        if b[0] < 0:
            return _range(kind)
        if operator == "%":
            return a if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)
        quotients = [x // y for x in a for y in b]
        return min(quotients), max(quotients)


def _range(kind: ScalarType) -> Interval:
    return _OPEN if kind.is_float else kind.integer_range


def _wrapped(value: Interval, kind: ScalarType) -> Interval:
    """Anything, once an integer may overflow."""
    low, high = _range(kind)
    return value if low <= value[0] and value[1] <= high else (low, high)


def _cast(value: Interval, kind: ScalarType) -> Interval:
    """Casts truncate toward zero; a float saturates where an integer would wrap."""
    if kind.is_float:
        return value
    if kind is ScalarType.BOOL:
        return _TRUTH
    low, high = kind.integer_range
    if any(isinstance(v, float) for v in value):
        first, last = (min(max(v, low), high) for v in value)
        return math.trunc(first), math.trunc(last)
    return _wrapped(value, kind)


def _hull(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def _magnitude(a: Interval) -> Interval:
    low = 0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))
    return low, max(abs(a[0]), abs(a[1]))


def _add(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _times(a: Number, b: Number) -> Number:
    return 0 if a == 0 or b == 0 else a * b


def _corners(a: Interval, b: Interval) -> Interval:
    products = [_times(x, y) for x in a for y in b]
    return min(products), max(products)
