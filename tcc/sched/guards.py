"""Under which condition each read of an expression happens: `?:`, `&&` and `||` are lazy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import islpy as isl

from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.sched import islx

MOST_PIECES = 64
"""Convex pieces of a condition; the time of everything that uses it grows with their square."""
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
    inner = _guard(condition, space, outcome)
    return inner if guard is None else _both(guard, inner)


def _guard(condition: tir.Expression, space: islx.Space, outcome: bool) -> Guard:
    """When the condition may have this outcome."""
    match condition:
        case tir.Literal(value, _):
            return Guard(space.set() if bool(value) is outcome else space.set(["false"]), True)
        case tir.Unary("!", operand, _):
            return _guard(operand, space, not outcome)
        case tir.Binary("&&" | "||" as operator, left, right, _):
            combine = _both if (operator == "&&") is outcome else _either
            return combine(_guard(left, space, outcome), _guard(right, space, outcome))
        case tir.Binary(operator, left, right, _) if operator in _COMPLEMENT:
            a, b = affine_form(left), affine_form(right)
            if a is not None and b is not None:
                sign = operator if outcome else _COMPLEMENT[operator]
                sign = "=" if sign == "==" else sign
                return Guard(space.set([f"{space.text(a)} {sign} {space.text(b)}"]), True)
    return Guard(space.set(), False)


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
