"""Parses expressions: recursive descent, with precedence climbing for the binary operators."""

from __future__ import annotations

from tcc.diagnostics import Label, error
from tcc.frontend.ast import (
    Apply,
    Binary,
    Cast,
    Conditional,
    Expression,
    Extent,
    Name,
    Number,
    Unary,
    Variable,
)
from tcc.frontend.cursor import Cursor
from tcc.frontend.mistakes import EXPRESSION, square_bracket
from tcc.frontend.spelling import expression_text
from tcc.frontend.tokens import COMPARISON, PRECEDENCE, Token, TokenKind
from tcc.scalar import SPELLINGS

SHORT = 40
"""Tokens of a comparison chain up to which the help spells it out."""


def expression(cursor: Cursor) -> Expression:
    """Any expression; its span excludes parentheses around the whole of it."""
    cursor.enter()
    start = cursor.token
    result = _binary(cursor, 1)
    if cursor.accept("?"):
        then = expression(cursor)
        cursor.expect(":")
        otherwise = expression(cursor)
        result = Conditional(result, then, otherwise, cursor.since(start))
    cursor.leave()
    return result


def arguments(cursor: Cursor, closing: str = ")") -> tuple[Expression, ...]:
    """Expressions up to the closing bracket of the opening one just read; may be none."""
    opened = Label(cursor.previous.span, "opened here")
    if cursor.accept(closing):
        return ()
    found = [expression(cursor)]
    while cursor.accept(","):
        found.append(expression(cursor))
    cursor.expect(closing, opened, expected=f"`,` or `{closing}`")
    return tuple(found)


def _binary(cursor: Cursor, minimum: int) -> Expression:
    """Operators of at least this precedence, to the left; comparisons do not chain."""
    start, begin = cursor.token, cursor.position
    left = _unary(cursor)
    compared: Binary | None = None
    while (level := PRECEDENCE.get(cursor.token.text, 0)) >= minimum:
        operator = cursor.advance()
        right = _binary(cursor, level + 1)
        if level == COMPARISON and compared:
            _report_chain(cursor, compared, operator, right, begin)
        left = Binary(operator.text, left, right, operator.span, cursor.since(start))
        compared = left if level == COMPARISON else None
    return left


def _report_chain(
    cursor: Cursor, first: Binary, second: Token, right: Expression, begin: int
) -> None:
    """`first` is a comparison, which began at token `begin`; `second` compares its result."""
    help_lines: tuple[str, ...] = ("join two comparisons by `&&`",)
    if cursor.position - begin <= SHORT:
        again = Binary(second.text, first.right, right, second.span, right.span)
        both = Binary("&&", first, again, second.span, first.span)
        help_lines = (f"write `{expression_text(both)}`",)
    cursor.errors.append(
        error(
            "E0104",
            f"comparisons do not chain: `{second.text}` follows `{first.operator}`",
            second.span,
            "second comparison",
            secondary=(Label(first.operator_span, "first comparison"),),
            help=help_lines,
        )
    )


def _unary(cursor: Cursor) -> Expression:
    if not cursor.at("-", "!"):
        return _primary(cursor)
    cursor.enter()
    operator = cursor.advance()
    operand = _unary(cursor)
    cursor.leave()
    return Unary(operator.text, operand, operator.span, cursor.since(operator))


def _primary(cursor: Cursor) -> Expression:
    token = cursor.token
    if token.kind is TokenKind.NUMBER:
        cursor.advance()
        return Number(token.text, token.span)
    if token.kind is TokenKind.NAME:
        return _named(cursor)
    if token.kind is TokenKind.TYPE:
        cursor.advance()
        operand = _operand(cursor)
        return Cast(SPELLINGS[token.text], token.span, operand, cursor.since(token))
    if cursor.at("min", "max"):
        return _extremum(cursor)
    if cursor.at("("):
        return _operand(cursor)
    return cursor.fail(EXPRESSION)


def _operand(cursor: Cursor) -> Expression:
    """One expression in parentheses."""
    opened = Label(cursor.expect("(").span, "opened here")
    inner = expression(cursor)
    cursor.expect(")", opened)
    return inner


def _extremum(cursor: Cursor) -> Expression:
    """`min(a, b)` or `max(a, b)`."""
    word = cursor.advance()
    opened = Label(cursor.expect("(").span, f"`{word.text}` takes two arguments")
    first = expression(cursor)
    cursor.expect(",", opened)
    second = expression(cursor)
    cursor.expect(")", opened)
    return Apply(Name(word.text, word.span), (first, second), cursor.since(word))


def _named(cursor: Cursor) -> Expression:
    """A variable, a read or call, or an extent."""
    token = cursor.advance()
    name = Name(token.text, token.span)
    if cursor.accept("("):
        return Apply(name, arguments(cursor), cursor.since(token))
    if cursor.at("["):
        cursor.errors.append(square_bracket(cursor.advance()))
        return Apply(name, arguments(cursor, "]"), cursor.since(token))
    if not cursor.accept("."):
        return Variable(name)
    number = cursor.token
    if not (number.kind is TokenKind.NUMBER and number.text.isdigit()):
        cursor.fail(f"the number of a dimension after `{name.text}.`")
    cursor.advance()
    return Extent(name, int(number.text), number.span, cursor.since(token))
