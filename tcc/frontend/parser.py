"""Parses a file: definitions with their headers. Goes on after an error, so that all are found."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TypeVar

from tcc.diagnostics import Label, Report, error
from tcc.frontend.ast import Definition, Module, Name, Number, Output, Parameter, TensorType
from tcc.frontend.cursor import Cursor, Panic
from tcc.frontend.lexer import tokenize
from tcc.frontend.mistakes import (
    AFTER_DIMENSION,
    AFTER_INPUT,
    AFTER_OUTPUT,
    DEF,
    DEF_NAME,
    DIMENSION,
    INPUT_NAME,
    OUTPUT,
    OUTPUT_NAME,
    OUTPUTS,
)
from tcc.frontend.statements import body, starts_statement
from tcc.frontend.suggest import closest
from tcc.frontend.tokens import TokenKind
from tcc.scalar import SPELLINGS, ScalarType
from tcc.source import Source, Span

T = TypeVar("T")
_OUTPUT_STARTS = (TokenKind.TYPE, TokenKind.NAME)


def parse(source: Source, report: Report) -> Module:
    """Parse a file; errors go to the report in order of position.

    The module has the definitions without errors: those of a file with errors can be analysed
    further, but a call may refer to a definition that is missing for its errors.
    """
    lexical = Report()
    cursor = Cursor(source, tokenize(source, lexical))
    definitions = _definitions(cursor)
    report.add(*sorted((*lexical.items, *cursor.errors), key=lambda d: d.primary.span.start))
    places = [d.primary.span.start for d in lexical.items]
    sound = (d for d in definitions if not _any_within(places, d.span))
    return Module(source, tuple(sound))


def _any_within(places: list[int], span: Span) -> bool:
    return bisect_left(places, span.start) < bisect_left(places, span.end)


def _definitions(cursor: Cursor) -> list[Definition]:
    found: list[Definition] = []
    if cursor.at_end:
        cursor.errors.append(
            error(
                "E0109",
                "the file has no definition",
                Span(cursor.source, 0, 0),
                "expected `def`",
                help=("a program starts as in `def copy(float(N) A) -> (B) { B(i) = A(i) }`",),
            )
        )
    unclosed = 0
    while not cursor.at_end:
        errors = len(cursor.errors)
        if cursor.at("def"):
            definition = _definition(cursor)
            found += [definition] if definition and errors == len(cursor.errors) else []
            unclosed += cursor.at("def") and errors != len(cursor.errors)
        while unclosed and cursor.accept("}"):  # of a def around the last one
            unclosed -= 1
        if not cursor.at("def") and not cursor.at_end:
            if errors == len(cursor.errors):
                cursor.unexpected(DEF)
            _skip_to(cursor, "def")
    return found


def _skip_to(cursor: Cursor, *texts: str) -> None:
    while not (cursor.at_end or cursor.at(*texts)):
        cursor.advance()


def _definition(cursor: Cursor) -> Definition | None:
    """One definition; None when its header has an error, though its body is parsed then, too."""
    start = cursor.advance()
    header = None
    try:
        header = _header(cursor)
        cursor.expect("{")
    except Panic:
        if not (header and starts_statement(cursor)):
            _skip_to(cursor, "{", "def")
            if not cursor.accept("{"):
                return None
    statements = body(cursor)
    return Definition(*header, statements, cursor.since(start)) if header else None


def _header(cursor: Cursor) -> tuple[Name, tuple[Parameter, ...], tuple[Output, ...]]:
    """From the name to the outputs."""
    name = cursor.name(DEF_NAME)
    cursor.expect("(")
    errors = len(cursor.errors)
    inputs = () if cursor.accept(")") else _list(cursor, _parameter, AFTER_INPUT)
    if len(cursor.errors) > errors and not cursor.at("->"):
        cursor.panic()
    cursor.expect("->")
    cursor.expect("(", expected=OUTPUTS)
    return name, inputs, _list(cursor, _output, AFTER_OUTPUT)


def _list(cursor: Cursor, item: Callable[[Cursor], T], after: str) -> tuple[T, ...]:
    """Inputs or outputs up to the `)` of the `(` just read; recovers from errors in each."""
    opened = Label(cursor.previous.span, "opened here")
    found = []
    while True:
        try:
            found.append(item(cursor))
            if not cursor.at(",", ")"):
                cursor.fail(after, opened)
        except Panic:
            _skip_item(cursor, (TokenKind.TYPE,) if item is _parameter else _OUTPUT_STARTS)
        if not cursor.accept(","):
            break
    cursor.expect(")", opened, expected=after)
    return tuple(found)


def _skip_item(cursor: Cursor, starts: tuple[TokenKind, ...]) -> None:
    """Skip to the end of an input or output with an error, or panic where there is none."""
    while not (cursor.at(",") and cursor.peek(1).kind in starts):
        if cursor.at(")") and cursor.peek(1).text in ("->", "{"):
            return
        if cursor.at_end or cursor.at("->", "{", "def"):
            cursor.panic()
        cursor.advance()


def _parameter(cursor: Cursor) -> Parameter:
    if cursor.token.kind is TokenKind.NAME:
        return _untyped(cursor)
    if cursor.token.kind is not TokenKind.TYPE:
        cursor.fail("the type of an input")
    return Parameter(_type(cursor), cursor.name(INPUT_NAME))


def _output(cursor: Cursor) -> Output:
    if cursor.token.kind is TokenKind.TYPE:
        return Output(_type(cursor), cursor.name(OUTPUT_NAME))
    return Output(None, cursor.name(OUTPUT))


def _type(cursor: Cursor) -> TensorType:
    """A tensor type; the next token is taken for its scalar type."""
    start = cursor.advance()
    dimensions: list[Name | Number] = []
    if (opened := cursor.accept("(")) and not cursor.accept(")"):
        dimensions.append(_dimension(cursor))
        while cursor.accept(","):
            dimensions.append(_dimension(cursor))
        cursor.expect(")", Label(opened.span, "opened here"), expected=AFTER_DIMENSION)
    scalar = SPELLINGS.get(start.text, ScalarType.FLOAT32)
    return TensorType(scalar, tuple(dimensions), cursor.since(start))


def _dimension(cursor: Cursor) -> Name | Number:
    token = cursor.token
    if token.kind is TokenKind.NUMBER and token.text.isdigit():
        cursor.advance()
        return Number(token.text, token.span)
    return cursor.name(DIMENSION)


def _untyped(cursor: Cursor) -> Parameter:
    """An input that starts with a name: either an unknown type, or none."""
    word = cursor.token
    if cursor.peek(1).kind is TokenKind.TYPE:
        message = f"`{word.text}` is not a type"
        help = ("remove it",)
        cursor.errors.append(error("E0111", message, word.span, "expected a type", help=help))
        cursor.advance()
        return _parameter(cursor)
    guess = closest(word.text, SPELLINGS)
    followed = cursor.peek(1).kind is TokenKind.NAME or cursor.peek(1).text == "("
    if followed:
        help_lines = (f"did you mean `{guess}`?" if guess else "write a type, such as `float`",)
        message = f"`{word.text}` is not a type"
    else:
        help_lines = (
            f"write `float {word.text}` for a scalar, `float(N) {word.text}` for a vector",
        )
        message = f"input `{word.text}` has no type"
    if followed or not _repeats(cursor):
        cursor.errors.append(error("E0111", message, word.span, "expected a type", help=help_lines))
    if followed and not guess:
        cursor.panic()
    dummy = TensorType(ScalarType.FLOAT32, (), word.span)
    return Parameter(_type(cursor) if followed else dummy, cursor.name(INPUT_NAME))


def _repeats(cursor: Cursor) -> bool:
    """Whether an untyped input continues a list that was reported at its first name.

    Such a list may be dimensions that have lost their parenthesis: inputs, in contrast, end where
    `->` or a typed input follows.
    """
    reported = cursor.errors[-1].primary.span if cursor.errors else None
    back = -2
    while cursor.peek(back).kind is TokenKind.NAME and cursor.peek(back).span != reported:
        back -= 2
    if cursor.peek(back).span != reported:
        return False
    ahead = 0
    while cursor.peek(ahead).kind is TokenKind.NAME and cursor.peek(ahead + 1).text == ",":
        ahead += 2
    ends = cursor.peek(ahead).kind is TokenKind.TYPE or cursor.peek(ahead + 2).text == "->"
    return not ends
