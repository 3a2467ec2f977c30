"""Proofs about affine conditions inside loop nests, by extremes and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tcc.affine import Affine, Interval


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
    symbolic bounds cancel; what is left is bounded by intervals. Nothing is known of a variable
    that is neither in scope nor a size.
    """
    for scope in reversed(scopes):
        factor = expression.coefficient(scope.var)
        if scope.var in expression.without((scope.var,)).variables:
            return interval(expression, scopes, sizes)[0]
        if factor:
            end = scope.low if factor > 0 else scope.high - 1
            expression = expression.without((scope.var,)) + end * factor
    return expression.bounds(sizes)[0]


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
