"""Which values an integer expression can have: what needs no care about overflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tcc.affine import Affine, Interval
from tcc.kernel import ir

Range: TypeAlias = tuple[int, int]
Bounds: TypeAlias = Callable[[Affine], Interval]


def overflows(node: ir.Binary | ir.Unary, bounds: Bounds) -> bool:
    """Whether `+`, `-` or `*` may leave its integer type; `bounds` is of affine forms."""
    found = _unwrapped(node, bounds)
    least, largest = node.type.integer_range
    return found is None or found[0] < least or found[1] > largest


def value_range(expression: ir.Expression, bounds: Bounds) -> Range:
    """The smallest and the largest value of an integer expression, wrapped to its type."""
    whole = expression.type.integer_range
    found = _unwrapped(expression, bounds)
    return whole if found is None or found[0] < whole[0] or found[1] > whole[1] else found


def _unwrapped(expression: ir.Expression, bounds: Bounds) -> Range | None:
    match expression:
        case ir.Const(value, _):
            return int(value), int(value)
        case ir.Int(value):
            return _within(bounds(value), expression.type.integer_range)
        case ir.Cast(operand, _) if not operand.type.is_float:
            return value_range(operand, bounds)
        case ir.Checked(operand, _, _):
            return value_range(operand, bounds)
        case ir.Unary("-", operand, _):
            low, high = value_range(operand, bounds)
            return -high, -low
        case ir.Binary("+" | "-" | "*" | "min" | "max" as operator, left, right, _):
            return _result(operator, value_range(left, bounds), value_range(right, bounds))
        case ir.Binary("%", _, ir.Const(value, _), _) if value > 0:
            return 0, int(value) - 1
        case ir.Binary("/" | "%" as operator, left, right, _):
            return _quotient(operator, value_range(left, bounds), value_range(right, bounds))
        case ir.Select(_, then, otherwise, _):
            a, b = value_range(then, bounds), value_range(otherwise, bounds)
            return min(a[0], b[0]), max(a[1], b[1])
        case _:
            return None


def _within(interval: Interval, whole: Range) -> Range:
    """Affine forms are over indices and sizes: they stay in their type."""
    low, high = interval
    return (
        whole[0] if low is None else max(low, whole[0]),
        whole[1] if high is None else min(high, whole[1]),
    )


def _quotient(operator: str, a: Range, b: Range) -> Range | None:
    """Of numbers that are not negative; a division by 0 has no value."""
    if a[0] < 0 or b[0] < 0:
        return None
    return (0, a[1]) if operator == "/" else (0, min(a[1], max(b[1] - 1, 0)))


def _result(operator: str, a: Range, b: Range) -> Range:
    match operator:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case _:
            corners = [x * y for x in a for y in b]
            return min(corners), max(corners)
