"""Infers the ranges of index variables: the largest box in which no read leaves its tensor.

The algorithm of the original (section 2.1 of its description in the docs): explicit ranges are
taken as they are; then in rounds, each variable that stands alone in some inequality is solved
for, with all solutions of a round intersected, and eliminated from the rest at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.frontend.scope import Symbol
from tcc.frontend.solve import Interval, conjuncts, least, solve
from tcc.frontend.subscripts import affine_form


@dataclass(frozen=True)
class Condition:
    """`expression >= 0` keeps subscript `dimension` of a read on one side inside the tensor.

    `expression` starts out over index variables and sizes; inference eliminates the variables.
    `is_exact` turns False where an elimination asked for more than needed. `is_checked` is False
    for reads that may not happen, because a guard decides or `exists` holds them.
    """

    expression: Affine
    read: tir.Read
    dimension: int
    is_upper: bool
    is_checked: bool
    is_exact: bool = True

    def over(self, name: str, range_: tir.Range) -> Condition:
        """What must hold for the whole range of a variable."""
        if name not in self.expression.variables:
            return self
        bound, attained = least(self.expression, name, range_)
        return replace(self, expression=bound, is_exact=self.is_exact and attained)


@dataclass(frozen=True)
class Inference:
    """`ranges` of all variables but the `unsolved`; `open` conditions no range took care of."""

    ranges: Mapping[str, tir.Range]
    unsolved: tuple[str, ...]
    open: tuple[Condition, ...]


def reads(expression: tir.Expression, *, guarded: bool = False) -> Iterator[tuple[tir.Read, bool]]:
    """Every read, outside in, left to right, and whether a guard decides if it happens."""
    match expression:
        case tir.Select(condition, then, otherwise, _):
            yield from reads(condition, guarded=guarded)
            yield from reads(then, guarded=True)
            yield from reads(otherwise, guarded=True)
        case tir.Binary("&&" | "||", left, right, _):
            yield from reads(left, guarded=guarded)
            yield from reads(right, guarded=True)
        case _:
            if isinstance(expression, tir.Read):
                yield expression, guarded
            for child in tir.children(expression):
                yield from reads(child, guarded=guarded)


def conditions(
    read: tir.Read, symbol: Symbol, sizes: frozenset[str], *, is_checked: bool
) -> Iterator[Condition]:
    """The inequalities of the affine subscripts of a read; a gather bounds nothing."""
    for dimension, subscript in enumerate(read.subscripts):
        form = affine_form(subscript)
        if form is None or symbol.shape is None:
            continue
        position = form - symbol.origin[dimension]
        room = symbol.shape[dimension] - 1 - position
        for side, is_upper in ((position, False), (room, True)):
            for part in conjuncts(side, sizes):
                yield Condition(part, read, dimension, is_upper, is_checked)


def infer(
    variables: Sequence[str],
    explicit: Mapping[str, tir.Range],
    conditions: Sequence[Condition],
) -> Inference:
    """Ranges of the variables. Bounds of explicit ranges may contain other variables."""
    ranges = dict(explicit)
    open_ = list(conditions)
    for name in _dependents_first(explicit):
        open_ = [c.over(name, explicit[name]) for c in open_]
    unsolved = {v for v in variables if v not in ranges}
    while unsolved:
        solved = _round(unsolved, open_)
        if not solved:
            break
        open_ = [c for c in open_ if not _is_met(c, unsolved, solved)]
        unsolved -= solved.keys()
        for name, range_ in solved.items():
            open_ = [c.over(name, range_) for c in open_]
        ranges |= solved
    left = tuple(v for v in variables if v in unsolved)
    return Inference(ranges, left, tuple(open_))


def _round(unsolved: set[str], open_: Sequence[Condition]) -> dict[str, tir.Range]:
    """The variables that the conditions in which they stand alone bound on both sides."""
    solved: dict[str, tir.Range] = {}
    for name in sorted(unsolved):
        interval = Interval()
        for condition in open_:
            if condition.expression.variables & unsolved == {name}:
                interval = interval.and_(solve(condition.expression, name))
        if interval.range is not None:
            solved[name] = interval.range
    return solved


def _is_met(condition: Condition, unsolved: set[str], solved: Mapping[str, tir.Range]) -> bool:
    """True where a condition has given its bound to a range, which therefore meets it."""
    alone = condition.expression.variables & unsolved
    if len(alone) != 1 or not alone <= solved.keys():
        return False
    bound = solve(condition.expression, *alone)
    return bool(bound.lows or bound.highs)


def _dependents_first(ranges: Mapping[str, tir.Range]) -> tuple[str, ...]:
    """The names so ordered that a range stands before those its bounds mention."""
    order: list[str] = []
    pending = list(ranges)
    while pending:
        used = {v for n in pending for v in range_variables(ranges[n])}
        ready = [n for n in pending if n not in used]
        order += ready
        pending = [n for n in pending if n not in ready]
    return tuple(order)


def range_variables(range_: tir.Range) -> frozenset[str]:
    """The sizes and index variables in the bounds of a range."""
    return range_.low.variables | range_.high.variables
