"""Under which condition each read of an expression happens: `?:`, `&&` and `||` are lazy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.sched import islx

_COMPLEMENT = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True)
class Guard:
    """A condition on index variables and sizes in isl's syntax.

    Not `exact` when data decide, too: the constraint is then weaker than the condition.
    """

    constraint: str
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
            yield from _reads(then, space, _both(guard, _guard(condition, space, True)))
            yield from _reads(otherwise, space, _both(guard, _guard(condition, space, False)))
        case tir.Binary("&&" | "||" as operator, left, right, _):
            yield from _reads(left, space, guard)
            outcome = operator == "&&"
            yield from _reads(right, space, _both(guard, _guard(left, space, outcome)))
        case _:
            if isinstance(expression, tir.Read):
                yield expression, guard
            for child in tir.children(expression):
                yield from _reads(child, space, guard)


def _both(first: Guard | None, second: Guard) -> Guard:
    if first is None:
        return second
    constraint = f"({first.constraint}) and ({second.constraint})"
    return Guard(constraint, first.exact and second.exact)


def _guard(condition: tir.Expression, space: islx.Space, outcome: bool) -> Guard:
    """When the condition may have this outcome."""
    match condition:
        case tir.Literal(value, _):
            return Guard("true" if bool(value) is outcome else "false", True)
        case tir.Unary("!", operand, _):
            return _guard(operand, space, not outcome)
        case tir.Binary("&&" | "||" as operator, left, right, _):
            word = "and" if (operator == "&&") is outcome else "or"
            a, b = _guard(left, space, outcome), _guard(right, space, outcome)
            return Guard(f"({a.constraint}) {word} ({b.constraint})", a.exact and b.exact)
        case tir.Binary(operator, left, right, _) if operator in _COMPLEMENT:
            a_form, b_form = affine_form(left), affine_form(right)
            if a_form is not None and b_form is not None:
                sign = operator if outcome else _COMPLEMENT[operator]
                sign = "=" if sign == "==" else sign
                return Guard(f"{space.text(a_form)} {sign} {space.text(b_form)}", True)
    return Guard("true", False)
