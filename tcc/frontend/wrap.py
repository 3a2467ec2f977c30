"""Breaks the text of a long statement into lines."""

from __future__ import annotations

from collections.abc import Iterable

from tcc.frontend.ast import Assign, Binary, Conditional, Expression, Statement
from tcc.frontend.spelling import clause_text, expression_text, statement_parts, statement_text
from tcc.frontend.tokens import COMPARISON, PRECEDENCE, TERNARY

WIDTH = 100
INDENT = "    "
DEEPER = WIDTH - 2 * len(INDENT)
"""Room on all but the first line of a statement."""


def wrapped(statement: Statement) -> list[str]:
    """The lines of a statement, to be indented by one level; all but the first go one deeper.

    Breaks at the outermost operators of the value and between clauses; a single piece that is
    longer than a line stays whole.
    """
    text = statement_text(statement)
    if len(INDENT) + len(text) <= WIDTH or not isinstance(statement, Assign):
        return [text]
    left, _, equivalent, _ = statement_parts(statement)
    first, *others = _pieces(statement.value)
    lines = _filled([f"{left} {first}", *others], WIDTH - len(INDENT))
    lines += [equivalent] if equivalent else []
    clauses = [clause_text(c) for c in statement.clauses]
    if clauses:
        separated = [*(f"{c}," for c in clauses[:-1]), clauses[-1]]
        lines += _filled([f"where {separated[0]}", *separated[1:]], DEEPER)
    return [lines[0], *(f"{INDENT}{line}" for line in lines[1:])]


def _pieces(value: Expression) -> list[str]:
    """The text of a value, cut before its outermost operators."""
    match value:
        case Conditional(condition, then, otherwise, _):
            first, *others = _pieces(otherwise)
            head = expression_text(condition, TERNARY + 1)
            return [head, f"? {expression_text(then)}", f": {first}", *others]
        case Binary(operator, left, right, _, _):
            level = PRECEDENCE[operator]
            same = isinstance(left, Binary) and PRECEDENCE[left.operator] == level != COMPARISON
            start = (
                _pieces(left) if same else [expression_text(left, level + (level == COMPARISON))]
            )
            return [*start, f"{operator} {expression_text(right, level + 1)}"]
        case _:
            return [expression_text(value)]


def _filled(pieces: Iterable[str], first: int) -> list[str]:
    """As many pieces on a line as fit; `first` is the room on the first line."""
    lines: list[str] = []
    for piece in pieces:
        room = first if len(lines) == 1 else DEEPER
        if lines and len(lines[-1]) + 1 + len(piece) <= room:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    return lines
