"""Resolves the names of one statement: its index variables, its `where` names and ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tcc.diagnostics import Diagnostic, Label, error
from tcc.frontend import ast
from tcc.frontend.builtins import BUILTINS
from tcc.frontend.names import right_sides
from tcc.frontend.scope import OPERATORS, Scope
from tcc.frontend.suggest import suggestion
from tcc.source import Span


@dataclass(frozen=True)
class StatementNames:
    """What the names of a statement stand for, where the scope of the def does not say.

    `indices` are on the left; `loops` are the reduction indices in order of first appearance;
    `extra` occur under `exists` only. `unknown` names have been reported. `places` has the first
    occurrence of each index on the right. `ok` is False when anything was reported.
    """

    indices: tuple[str, ...]
    loops: tuple[str, ...]
    extra: tuple[str, ...]
    lets: Mapping[str, ast.LetClause]
    ranges: Mapping[str, ast.RangeClause]
    unknown: frozenset[str]
    places: Mapping[str, Span]
    ok: bool


@dataclass
class _Uses:
    """Index candidates of an expression, `where` names expanded: first place, in a subscript?"""

    places: dict[str, Span] = field(default_factory=dict)
    subscripted: set[str] = field(default_factory=set)

    def add(self, name: str, span: Span, in_subscript: bool) -> None:
        old = self.places.get(name)
        if old is None or span.start < old.start:
            self.places[name] = span
        if in_subscript:
            self.subscripted.add(name)

    def include(self, other: _Uses, in_subscript: bool = False) -> None:
        for name, span in other.places.items():
            self.add(name, span, in_subscript or name in other.subscripted)


RANGE_TWICE = "given a range twice"


def resolve(statement: ast.Assign, scope: Scope) -> StatementNames:
    """The names of a statement; what does not resolve is reported once."""
    return _Resolver(statement, scope).run()


class _Resolver:
    def __init__(self, statement: ast.Assign, scope: Scope) -> None:
        self._statement = statement
        self._scope = scope
        self._left: dict[str, Span] = {}
        self._lets: dict[str, ast.LetClause] = {}
        self._let_uses: dict[str, _Uses] = {}
        self._ranges: dict[str, ast.RangeClause] = {}
        self._bounds: dict[str, _Uses] = {}
        self._exists = _Uses()
        self._early: set[str] = set()  # reported names; their uses are not looked at
        self._ok = True

    def run(self) -> StatementNames:
        self._read_left()
        for clause in self._statement.clauses:
            self._read_clause(clause)
        value = self._uses(self._statement.value)
        everything = self._everything(value)
        unknown = self._report_unknown(everything)
        loops = self._closure(value.places, everything)
        extra = self._closure((*loops, *self._exists.places), everything)
        self._report_idle_ranges({*self._left, *loops, *extra, *unknown})
        for name in (*self._left, *loops, *extra):
            if name not in unknown:
                self._scope.indices.setdefault(
                    name, everything.places.get(name) or self._left[name]
                )
        return StatementNames(
            tuple(self._left),
            tuple(n for n in loops if n not in unknown),
            tuple(n for n in extra if n not in loops and n not in unknown),
            self._lets,
            self._ranges,
            unknown | self._early,
            everything.places,
            self._ok,
        )

    # -- left side and clauses -------------------------------------------------------------

    def _read_left(self) -> None:
        for name in self._statement.indices or ():
            if name.text in self._left:
                self._clash("E0202", name, "already an index on the left", self._left[name.text])
            elif name.text == self._statement.target.text:
                target = self._statement.target
                self._clash("E0203", name, "the tensor that is written", target.span)
            elif not self._check_free(name, "an index"):
                self._early.add(name.text)
            self._left.setdefault(name.text, name.span)

    def _read_clause(self, clause: ast.Clause) -> None:
        match clause:
            case ast.ExistsClause(value, _):
                self._exists.include(self._uses(value))
            case ast.LetClause(name, value, _):
                uses = self._uses(value)
                if self._check_let(name):
                    self._lets[name.text] = clause
                    self._let_uses[name.text] = uses
                elif name.text not in self._lets and name.text not in self._left:
                    self._early.add(name.text)
            case ast.RangeClause(index, low, high, _):
                bounds = self._uses(low)
                bounds.include(self._uses(high))
                if self._check_range(index):
                    self._ranges[index.text] = clause
                self._bounds.setdefault(index.text, _Uses()).include(bounds)

    def _check_let(self, name: ast.Name) -> bool:
        text = name.text
        if text in self._lets:
            return self._clash("E0202", name, "already defined", self._lets[text].name.span)
        if text in self._left:
            return self._clash("E0203", name, "an index", self._left[text])
        if text in self._ranges:
            return self._clash("E0203", name, "an index", self._ranges[text].index.span)
        return self._check_free(name, "a `where` name")

    def _check_range(self, name: ast.Name) -> bool:
        text = name.text
        if text in self._ranges:
            return self._clash("E0202", name, RANGE_TWICE, self._ranges[text].index.span)
        if text in self._lets:
            where = self._lets[text].name.span
            return self._clash("E0203", name, "a `where` name, not an index", where)
        return text in self._left or self._check_free(name, "an index")

    def _check_free(self, name: ast.Name, wanted: str) -> bool:
        if name.text in self._scope.unclear:
            self._ok = False
            return False
        meaning = self._scope.meaning(name.text)
        if meaning is None:
            return True
        self._ok = False
        message = f"`{name.text}` is {meaning} and cannot be {wanted}"
        notes = ("a name has one meaning: nothing hides a size, a tensor or a builtin function",)
        help = (f"choose another name, such as `{_fresh(name.text, self._taken())}`",)
        self._scope.report.add(error("E0203", message, name.span, meaning, notes=notes, help=help))
        return False

    def _clash(self, code: str, name: ast.Name, what: str, earlier: Span) -> bool:
        self._ok = False
        message = f"`{name.text}` is {what}"
        labels = (Label(earlier, "here"),)
        help = ("give one of them another name",)
        if what == RANGE_TWICE:
            help = ("remove one of the clauses",)
        self._scope.report.add(
            error(code, message, name.span, "again", secondary=labels, help=help)
        )
        return False

    def _taken(self) -> Iterator[str]:
        yield from self._scope.readable()
        yield from self._scope.targets
        yield from self._left
        yield from (c.name.text for c in self._statement.clauses if isinstance(c, ast.LetClause))

    # -- uses ------------------------------------------------------------------------------

    def _uses(self, expression: ast.Expression) -> _Uses:
        found = _Uses()
        self._visit(expression, False, found)
        return found

    def _visit(self, expression: ast.Expression, in_subscript: bool, found: _Uses) -> None:
        match expression:
            case ast.Variable(name):
                self._visit_variable(name, in_subscript, found)
            case ast.Apply(name, _, _) if name.text not in BUILTINS and name.text not in OPERATORS:
                in_subscript = True
            case _:
                pass
        for child in ast.children(expression):
            self._visit(child, in_subscript, found)

    def _visit_variable(self, name: ast.Name, in_subscript: bool, found: _Uses) -> None:
        text = name.text
        if text in self._lets:
            found.include(self._let_uses[text], in_subscript)
        elif text in self._early:
            return
        elif self._is_later_let(text):
            self._report_early(name)
        elif text in self._left or self._may_be_index(text):
            found.add(text, name.span, in_subscript)

    def _may_be_index(self, text: str) -> bool:
        return self._scope.meaning(text) is None and text not in self._scope.unclear

    def _is_later_let(self, text: str) -> bool:
        clauses = self._statement.clauses
        return text not in self._left and any(
            isinstance(c, ast.LetClause) and c.name.text == text for c in clauses
        )

    def _report_early(self, name: ast.Name) -> None:
        self._ok = False
        self._early.add(name.text)
        message = f"`{name.text}` is used before `where` defines it"
        notes = ("a clause sees the names that clauses before it define",)
        help = (f"move the clause that defines `{name.text}` before this one",)
        self._scope.report.add(
            error("E0201", message, name.span, "not defined yet", notes=notes, help=help)
        )

    def _everything(self, value: _Uses) -> _Uses:
        total = _Uses()
        for uses in (value, self._exists, *self._let_uses.values(), *self._bounds.values()):
            total.include(uses)
        return total

    def _closure(self, start: Iterable[str], everything: _Uses) -> tuple[str, ...]:
        """Names reachable through range bounds, without the left side, in order of appearance."""
        reached: set[str] = set()
        pending = [*start, *self._left]
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending += self._bounds[name].places if name in self._bounds else ()
        places = everything.places
        found = [n for n in reached if n not in self._left]
        return tuple(sorted(found, key=lambda n: places[n].start))

    # -- reports ---------------------------------------------------------------------------

    def _report_unknown(self, everything: _Uses) -> frozenset[str]:
        """Names that can be no index: in no subscript, and without a range."""
        unknown = {
            name: span
            for name, span in everything.places.items()
            if name not in self._left
            and name not in everything.subscripted
            and name not in self._bounds
        }
        near = (*self._left, *self._lets, *everything.subscripted, *self._scope.readable())
        for name, span in unknown.items():
            self._ok = False
            if self._scope.is_tensor(name):
                self._scope.report.add(not_written(name, span))
                continue
            notes = ("an index occurs in a subscript, or has a range in `where`",)
            help = suggestion(name, near)
            added, stated = f"`float {name}`", f"`where {name} in 0:8`"
            help = help or (f"add it to the inputs, {added}, or state its range, {stated}",)
            message = f"cannot find `{name}`"
            label = "not a size, a tensor or an index"
            self._scope.report.add(error("E0201", message, span, label, notes=notes, help=help))
        return frozenset(unknown)

    def _report_idle_ranges(self, used: set[str]) -> None:
        for name, clause in self._ranges.items():
            if name in used:
                continue
            self._ok = False
            message = f"the range of `{name}` has no effect: `{name}` is used nowhere"
            help = ("remove the clause",)
            label = "not an index of this statement"
            self._scope.report.add(error("E0219", message, clause.index.span, label, help=help))


def not_written(name: str, span: Span) -> Diagnostic:
    """The error for a tensor that is read too early."""
    message = f"`{name}` is read before it is written"
    notes = ("statements run in the order in which they are written",)
    help = (f"assign `{name}` in a statement above, or add it to the inputs",)
    return error("E0220", message, span, "no statement above writes it", notes=notes, help=help)


def _fresh(name: str, taken: Iterable[str]) -> str:
    """A name that is not taken, close to a given one."""
    used = set(taken)
    candidates = [name.lower(), f"{name}_", *(f"{name}_{k}" for k in range(1, 1000))]
    return next(c for c in candidates if c not in used and c not in BUILTINS)


def expanded(statement: ast.Assign) -> tuple[int, int]:
    """Nodes and depth of the largest right side with every `where` name replaced."""
    measures: dict[str, tuple[int, int]] = {}
    for clause in statement.clauses:
        if isinstance(clause, ast.LetClause):
            measures.setdefault(clause.name.text, _measure(clause.value, measures))
    sides = [_measure(e, measures) for e in right_sides(statement)]
    return max(s[0] for s in sides), max(s[1] for s in sides)


def _measure(
    expression: ast.Expression, measures: Mapping[str, tuple[int, int]]
) -> tuple[int, int]:
    if isinstance(expression, ast.Variable):
        return measures.get(expression.name.text, (1, 1))
    below = [_measure(c, measures) for c in ast.children(expression)]
    return 1 + sum(b[0] for b in below), 1 + max((b[1] for b in below), default=0)
