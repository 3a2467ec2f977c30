"""The explicit ranges of a statement: typed bounds, as affine forms of sizes and outer indices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tcc.affine import Affine, const
from tcc.diagnostics import error
from tcc.frontend import ast, tir
from tcc.frontend.ranges import range_variables
from tcc.frontend.resolve import StatementNames
from tcc.frontend.rewrite import substitute_sizes
from tcc.frontend.scope import Scope
from tcc.frontend.spelling import expression_text
from tcc.frontend.subscripts import affine_form
from tcc.frontend.typecheck import Typer


def explicit_ranges(
    names: StatementNames, typer: Typer, scope: Scope
) -> dict[str, tir.Range] | None:
    """The ranges of the `where` clauses; None after an error."""
    ranges: dict[str, tir.Range] = {}
    for name, clause in names.ranges.items():
        low = _bound(clause.low, clause, typer, scope)
        high = _bound(clause.high, clause, typer, scope)
        if low is not None and high is not None:
            ranges[name] = tir.Range(low, high)
    sound = len(ranges) == len(names.ranges)
    return ranges if _is_ordered(ranges, names, scope) and sound else None


def loop_order(loops: tuple[str, ...], ranges: Mapping[str, tir.Range]) -> tuple[str, ...]:
    """The reduction indices, each after those that its range depends on."""
    order: list[str] = []
    pending = list(loops)
    while pending:
        name = next(n for n in pending if not range_variables(ranges[n]) & set(pending) - {n})
        order.append(name)
        pending.remove(name)
    return tuple(order)


def _bound(
    expression: ast.Expression, clause: ast.RangeClause, typer: Typer, scope: Scope
) -> Affine | None:
    value = typer.bound(expression, f"a bound of `{clause.index.text}`")
    if value is None:
        return None
    data = next((n for n in tir.walk(value.expression) if isinstance(n, tir.Read)), None)
    if data is not None:
        message = f"a range cannot depend on data: `{data.tensor}` is a tensor"
        notes = ("bounds are made of integers, sizes and other index variables",)
        help = (f"guard the value instead: `{clause.index.text} < ... ? ... : ...`",)
        place = expression.span
        if place.start <= data.span.start < place.end:  # else a `where` name holds it
            place = data.span
        scope.report.add(error("E0303", message, place, "data", notes=notes, help=help))
        return None
    form = affine_form(value.expression)
    if form is None:
        known = {n: const(v) for n, v in scope.known.items()}
        form = affine_form(substitute_sizes(value.expression, known))
    if form is None:
        message = f"the bound `{expression_text(expression)}` is not affine"
        notes = (
            "a bound adds sizes, indices and integers, and may multiply or divide by integers",
        )
        help = ("multiply by integers only, or give the sizes in it a value",)
        scope.report.add(
            error("E0305", message, expression.span, "not affine", notes=notes, help=help)
        )
    return form


def _is_ordered(ranges: Mapping[str, tir.Range], names: StatementNames, scope: Scope) -> bool:
    """Report left-hand ranges that are no box, and ranges that depend on themselves."""
    sound = True
    indices = {*names.indices, *names.loops, *names.extra}
    for name, range_ in ranges.items():
        clause = names.ranges[name]
        used = range_variables(range_) & indices
        if name in names.indices and used:
            message = f"the range of `{name}` depends on `{min(used)}`"
            notes = (f"`{name}` is a left-hand index: its range is made of sizes and integers",)
            place = next(_variables(clause, used), clause.index)
            help = ("bound it by sizes, and choose the value by a condition: `c ? a : b`",)
            scope.report.add(
                error("E0304", message, place.span, "an index variable", notes=notes, help=help)
            )
            sound = False
        elif name not in names.indices and _reaches(name, name, ranges):
            message = f"the range of `{name}` depends on itself"
            help = ("bound it by sizes and by indices whose ranges do not depend on it",)
            place = clause.index
            scope.report.add(error("E0304", message, place.span, "goes in a circle", help=help))
            sound = False
    return sound


def _reaches(start: str, goal: str, ranges: Mapping[str, tir.Range]) -> bool:
    seen: set[str] = set()
    pending = [start]
    while pending:
        name = pending.pop()
        for used in range_variables(ranges[name]) & ranges.keys():
            if used == goal:
                return True
            if used not in seen:
                seen.add(used)
                pending.append(used)
    return False


def _variables(clause: ast.RangeClause, names: frozenset[str]) -> Iterator[ast.Name]:
    for bound in (clause.low, clause.high):
        yield from _named(bound, names)


def _named(expression: ast.Expression, names: frozenset[str]) -> Iterator[ast.Name]:
    if isinstance(expression, ast.Variable) and expression.name.text in names:
        yield expression.name
    for child in ast.children(expression):
        yield from _named(child, names)
