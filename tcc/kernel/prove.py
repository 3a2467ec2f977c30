"""Proofs about affine conditions inside loop nests, by extremes and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tcc.affine import Affine, Extremum, Interval


@dataclass(frozen=True)
class Scope:
    """What is known of a kernel variable: low <= var < high, over variables further out."""

    var: str
    low: Affine
    high: Affine


def smallest(
    expression: Affine, scopes: Sequence[Scope], sizes: Mapping[str, Interval]
) -> int | None:
    """A lower bound of an expression at every point of the scopes (outermost first), or None.

    Variables that occur linearly are replaced by their extremes from the inside out, so that
    symbolic bounds cancel; what is left is bounded by intervals. Of a loop from the larger of two
    bounds, or to the smaller, either bound will do. Nothing is known of a variable that is neither
    in scope nor a size.
    """
    for position, scope in reversed(list(enumerate(scopes))):
        factor = expression.coefficient(scope.var)
        rest = expression.without((scope.var,))
        if scope.var in rest.variables:
            return interval(expression, scopes, sizes)[0]
        if factor:
            outer = scopes[:position]
            ends = _parts(scope.low, "max") if factor > 0 else _parts(scope.high - 1, "min")
            found = [smallest(rest + end * factor, outer, sizes) for end in ends]
            return max((low for low in found if low is not None), default=None)
    return expression.bounds(sizes)[0]


def _parts(bound: Affine, kind: str) -> tuple[Affine, ...]:
    """Forms that are at most a maximum, or at least a minimum; the bound itself at the end."""
    match bound.terms:
        case ((Extremum(found, items), 1),) if found == kind:
            return (*(item + bound.constant for item in items), bound)
        case _:
            return (bound,)


def interval(
    expression: Affine, scopes: Sequence[Scope], sizes: Mapping[str, Interval]
) -> Interval:
    """An interval that contains the expression at every point of the scopes."""
    known: dict[str, Interval] = dict(sizes)
    for scope in scopes:
        high = scope.high.bounds(known)[1]
        known[scope.var] = (scope.low.bounds(known)[0], None if high is None else high - 1)
    return expression.bounds(known)


def holds(condition: Affine, scopes: Sequence[Scope], sizes: Mapping[str, Interval]) -> bool:
    """Whether `condition >= 0` at every point of the scopes."""
    low = smallest(condition, scopes, sizes)
    return low is not None and low >= 0
