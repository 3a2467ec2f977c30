"""Under which condition each read of an expression happens: `?:`, `&&` and `||` are lazy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TypeGuard

import islpy as isl

from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.scalar import ScalarType
from tcc.sched import islx

MOST_PIECES = 64
"""Convex pieces of a condition; the time of everything that uses it grows with their square."""
_EXACT_BELOW = {ScalarType.FLOAT32: 2**24, ScalarType.FLOAT64: 2**53}
_SWAPPED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_COMPLEMENT = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, eq=False)
class Guard:
    """The instances for which a condition holds.

    Not `exact` when data decide, too, or when the condition falls into too many pieces: there
    are then more instances than those for which it holds.
    """

    instances: isl.Set  # { S[i] }
    exact: bool


def guarded_reads(
    expression: tir.Expression, space: islx.Space
) -> Iterator[tuple[tir.Read, Guard | None]]:
    """Every read below an expression, outside in, left to right; None: it always happens."""
    return _reads(expression, space, None)


def _reads(
    expression: tir.Expression, space: islx.Space, guard: Guard | None
) -> Iterator[tuple[tir.Read, Guard | None]]:
    match expression:
        case tir.Select(condition, then, otherwise, _):
            yield from _reads(condition, space, guard)
            yield from _reads(then, space, _below(guard, condition, space, True))
            yield from _reads(otherwise, space, _below(guard, condition, space, False))
        case tir.Binary("&&" | "||" as operator, left, right, _):
            yield from _reads(left, space, guard)
            yield from _reads(right, space, _below(guard, left, space, operator == "&&"))
        case _:
            if isinstance(expression, tir.Read):
                yield expression, guard
            for child in tir.children(expression):
                yield from _reads(child, space, guard)


def _below(
    guard: Guard | None, condition: tir.Expression, space: islx.Space, outcome: bool
) -> Guard:
    inner = guard_of(condition, space, outcome)
    return inner if guard is None else _both(guard, inner)


def guard_of(condition: tir.Expression, space: islx.Space, outcome: bool) -> Guard:
    """When the condition may have this outcome."""
    match condition:
        case tir.Literal(value, _):
            return Guard(space.set() if bool(value) is outcome else space.set(["false"]), True)
        case tir.Unary("!", operand, _):
            return guard_of(operand, space, not outcome)
        case tir.Binary("&&" | "||" as operator, left, right, _):
            combine = _both if (operator == "&&") is outcome else _either
            return combine(guard_of(left, space, outcome), guard_of(right, space, outcome))
        case tir.Select(test, then, otherwise, _):
            first = _both(guard_of(test, space, True), guard_of(then, space, outcome))
            second = _both(guard_of(test, space, False), guard_of(otherwise, space, outcome))
            return _either(first, second)
        case tir.Binary("==" | "!=" as operator, left, right, _) if left.type is ScalarType.BOOL:
            return _same(left, right, space, (operator == "==") is outcome)
        case tir.Binary(operator, left, right, _) if operator in _COMPLEMENT:
            return _compared(operator if outcome else _COMPLEMENT[operator], left, right, space)
        case tir.Cast(operand, ScalarType.BOOL) if operand.type.is_integer:
            zero = tir.Literal(0, operand.type)
            return _compared("!=" if outcome else "==", operand, zero, space)
    return Guard(space.set(), False)


def _same(left: tir.Expression, right: tir.Expression, space: islx.Space, outcome: bool) -> Guard:
    """When two conditions have equal (else: different) outcomes."""
    both = _both(guard_of(left, space, True), guard_of(right, space, outcome))
    neither = _both(guard_of(left, space, False), guard_of(right, space, not outcome))
    return _either(both, neither)


def _compared(
    operator: str, left: tir.Expression, right: tir.Expression, space: islx.Space
) -> Guard:
    if isinstance(left, tir.Literal):
        left, right, operator = right, left, _SWAPPED[operator]
    if _is_converted(left) and _is_exact_bound(right, left.type):
        if operator in ("==", "!=") and right.value != int(right.value):
            return Guard(space.set([] if operator == "!=" else ["false"]), True)
        left, right = left.operand, _integer_bound(operator, right)
    a, b = affine_form(left), affine_form(right)
    if a is None or b is None or not (left.type.is_signed and right.type.is_signed):
        return Guard(space.set(), False)  # an unsigned -1 is large
    sign = "=" if operator == "==" else operator
    return Guard(space.set([f"{space.text(a)} {sign} {space.text(b)}"]), True)


def _is_converted(value: tir.Expression) -> TypeGuard[tir.Cast]:
    return isinstance(value, tir.Cast) and value.operand.type.is_integer


def _is_exact_bound(value: tir.Expression, kind: ScalarType) -> TypeGuard[tir.Literal]:
    """A float so small that rounding an integer to `kind` does not carry it across.

    Rounding is monotonic, and integers up to 2^24 (2^53 in float64) are exact.
    """
    limit = _EXACT_BELOW.get(kind, 0)
    return (
        isinstance(value, tir.Literal)
        and isinstance(value.value, Fraction | int)
        and -limit < value.value < limit
    )


def _integer_bound(operator: str, bound: tir.Literal) -> tir.Literal:
    """The integer with which an integer compares as it does with the number."""
    value = Fraction(bound.value)
    return tir.Literal(ceil(value) if operator in ("<", ">=") else floor(value), ScalarType.INT64)


def _both(first: Guard, second: Guard) -> Guard:
    exact = first.exact and second.exact
    together = first.instances.intersect(second.instances).coalesce()
    if together.n_basic_set() <= MOST_PIECES:
        return Guard(together, exact)
    return Guard(first.instances, False)


def _either(first: Guard, second: Guard) -> Guard:
    exact = first.exact and second.exact
    together = first.instances.union(second.instances).coalesce()
    if together.n_basic_set() <= MOST_PIECES:
        return Guard(together, exact)
    return Guard(isl.Set.universe(together.get_space()), False)
