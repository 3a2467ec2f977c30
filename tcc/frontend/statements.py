"""Parses the body of a def: statements with their clauses, and where to go on after an error."""

from __future__ import annotations

from collections.abc import Iterator

from tcc.diagnostics import Label, error
from tcc.frontend.ast import (
    Apply,
    Assign,
    CallStatement,
    Clause,
    ExistsClause,
    Expression,
    LetClause,
    Name,
    RangeClause,
    Statement,
    Variable,
)
from tcc.frontend.cursor import Cursor, Panic
from tcc.frontend.depth import MAX_DEPTH, too_deep
from tcc.frontend.expressions import arguments, expression
from tcc.frontend.mistakes import (
    AFTER_STATEMENT,
    ASSIGNMENT,
    CLAUSE,
    INDEX,
    RANGE,
    STATEMENT,
    WRONG_ASSIGNMENT,
    quoted,
    square_bracket,
)
from tcc.frontend.tokens import ASSIGNMENTS, Token, TokenKind

LOOKAHEAD = 64
"""Tokens searched for the assignment of what may be the next statement."""


def body(cursor: Cursor) -> tuple[Statement, ...]:
    """Statements up to the `}` of the `{` just read; recovers from errors in each of them."""
    before = cursor.previous
    opened = (Label(before.span, "opened here"),) if before.text == "{" else ()
    statements = []
    while not cursor.accept("}"):
        if cursor.at_end or cursor.at("def"):
            cursor.unexpected("`}`", *opened)
            break
        if cursor.at(";"):
            cursor.unexpected(AFTER_STATEMENT)
            cursor.advance()
            continue
        try:
            statements.append(_statement(cursor))
        except Panic:
            _skip_to_statement(cursor)
    return tuple(statements)


def starts_statement(cursor: Cursor) -> bool:
    """Whether a statement could start here: a left side and an assignment operator follow."""
    if cursor.token.kind is not TokenKind.NAME:
        return False
    at = 1
    if cursor.peek(at).text in ("(", "["):
        at = _after_parenthesis(cursor, at)
    while cursor.peek(at).text == "," and cursor.peek(at + 1).kind is TokenKind.NAME:
        at += 2
    operator = cursor.peek(at)
    wrong = WRONG_ASSIGNMENT.match(cursor.source.text, operator.span.start)
    return operator.text in ASSIGNMENTS or (wrong is not None and wrong.group()[0] not in "<>=")


def _after_parenthesis(cursor: Cursor, at: int) -> int:
    """The place behind the parenthesis that closes the one at `at`, as far as one looks."""
    depth = 0
    for place in range(at, at + LOOKAHEAD):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(cursor.peek(place).text, 0)
        if depth == 0:
            return place + 1
    return at


def _skip_to_statement(cursor: Cursor) -> None:
    """Skip to the next statement of this body, or to its end."""
    depth = 0
    while not (cursor.at_end or cursor.at("def") or (cursor.at("}") and depth == 0)):
        if depth == 0 and _separates(cursor.previous, cursor.token) and starts_statement(cursor):
            return
        depth += {"{": 1, "}": -1}.get(cursor.advance().text, 0)


def _separates(before: Token, after: Token) -> bool:
    """Whether a statement with an error in it can end between these tokens."""
    if before.kind in (TokenKind.NAME, TokenKind.NUMBER, TokenKind.INVALID):
        return True
    if before.text in (")", "]", ";", "{", "}"):
        return True
    return before.text not in (",", "where") and before.span.line < after.span.line


def _statement(cursor: Cursor) -> Statement:
    start, before = cursor.token, cursor.previous
    if start.kind is not TokenKind.NAME:
        cursor.fail(STATEMENT if before.text in ("{", ";") else AFTER_STATEMENT)
    target = cursor.name(STATEMENT)
    if cursor.at(","):
        return _call(cursor, start, target)
    errors = len(cursor.errors)
    indices = _indices(cursor)
    if len(cursor.errors) > errors and cursor.token.text not in ASSIGNMENTS:
        cursor.panic()
    operator = _assignment(cursor, start, before)
    value = expression(cursor)
    equivalent = _equivalent(cursor)
    clauses = _clauses(cursor)
    statement = Assign(
        target,
        indices,
        operator.text,
        operator.span,
        value,
        equivalent,
        clauses,
        cursor.since(start),
    )
    _check_depth(cursor, statement)
    return statement


def _assignment(cursor: Cursor, start: Token, before: Token) -> Token:
    """The operator; where it is missing, two values may stand side by side on one line."""
    if cursor.token.text in ASSIGNMENTS:
        return cursor.advance()
    follows = before.text != "{" and before.span.line == start.span.line
    labels = (Label(start.span, "this starts a new statement"),) if follows else ()
    found = cursor.unexpected(ASSIGNMENT, *labels)
    if found is None or found.code != "E0105":
        cursor.panic()
    while cursor.token.span.start < found.primary.span.end:
        cursor.advance()
    return cursor.previous


def _call(cursor: Cursor, start: Token, first: Name) -> CallStatement:
    """`P, Q = f(A, B)`, at the first comma."""
    targets = [first]
    while cursor.accept(","):
        targets.append(cursor.name("another target of the call"))
    cursor.expect("=", expected="`=` and the call of a def")
    callee = cursor.name("the name of a def")
    opened = Label(cursor.expect("(").span, "opened here")
    inputs = []
    if not cursor.at(")"):
        inputs.append(cursor.name("the name of a tensor"))
        while cursor.accept(","):
            inputs.append(cursor.name("the name of a tensor"))
    cursor.expect(")", opened, expected="`,` or `)`")
    return CallStatement(tuple(targets), callee, tuple(inputs), cursor.since(start))


def _indices(cursor: Cursor) -> tuple[Name, ...] | None:
    """The subscripts of the left side, None when there is no list of them."""
    if cursor.at("["):
        cursor.errors.append(square_bracket(cursor.token))
    elif not cursor.at("("):
        return None
    opened = cursor.advance()
    closing = {"(": ")", "[": "]"}[opened.text]
    if cursor.accept(closing):
        return ()
    found = [_index(cursor)]
    while cursor.accept(","):
        found.append(_index(cursor))
    cursor.expect(closing, Label(opened.span, "opened here"), expected=f"`,` or `{closing}`")
    return tuple(found)


def _index(cursor: Cursor) -> Name:
    """One subscript of the left side. Whole expressions are parsed, for a better message."""
    start = cursor.token
    if start.kind in (TokenKind.KEYWORD, TokenKind.TYPE) and cursor.peek(1).text in (",", ")"):
        return cursor.name(INDEX)
    found = expression(cursor)
    span = cursor.since(start)
    if isinstance(found, Variable) and found.span == span:
        return found.name
    cursor.errors.append(
        error(
            "E0106",
            f"`{quoted(span)}` is not an index variable",
            span,
            "not a plain index",
            notes=("a statement says what each element is; its subscripts only name the element",),
            help=("write a plain index here, and give its range with `where i in low:high`",),
        )
    )
    return Name("_", span)


def _equivalent(cursor: Cursor) -> Apply | None:
    if not cursor.accept("<=>"):
        return None
    start = cursor.token
    name = cursor.name("the name of a function")
    cursor.expect("(")
    return Apply(name, arguments(cursor), cursor.since(start))


def _clauses(cursor: Cursor) -> tuple[Clause, ...]:
    if not cursor.accept("where"):
        return ()
    found = [_clause(cursor)]
    while cursor.accept(","):
        found.append(_clause(cursor))
    return tuple(found)


def _clause(cursor: Cursor) -> Clause:
    start = cursor.token
    if cursor.accept("exists"):
        return ExistsClause(expression(cursor), cursor.since(start))
    name = cursor.name(CLAUSE)
    if cursor.accept("="):
        return LetClause(name, expression(cursor), cursor.since(start))
    cursor.expect("in", expected="`in` or `=`")
    low = expression(cursor)
    cursor.expect(":", expected=RANGE)
    return RangeClause(name, low, expression(cursor), cursor.since(start))


def _check_depth(cursor: Cursor, statement: Assign) -> None:
    """Reject trees that passes could not recurse over."""
    for root in _expressions(statement):
        deep = too_deep(root)
        if deep:
            cursor.errors.append(
                error(
                    "E0108",
                    f"this expression has more than {MAX_DEPTH} operators inside each other",
                    deep.span,
                    "too deep",
                    notes=("in a sum without parentheses, each term contains all before it",),
                    help=("name a part of it with `where x = ...`, or write two statements",),
                )
            )


def _expressions(statement: Assign) -> Iterator[Expression]:
    yield statement.value
    if statement.equivalent:
        yield statement.equivalent
    for clause in statement.clauses:
        match clause:
            case RangeClause(_, low, high, _):
                yield from (low, high)
            case LetClause(_, value, _) | ExistsClause(value, _):
                yield value
