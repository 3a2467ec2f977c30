"""Characters to tokens. Numbers are strict, and nothing depends on line breaks but comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tcc.diagnostics import Diagnostic, Report, error
from tcc.frontend.tokens import KEYWORDS, SYMBOLS, Token, TokenKind
from tcc.scalar import SPELLINGS
from tcc.source import Source, Span

MAX_NUMBER_LENGTH = 400
MAX_EXPONENT = 5000

_TOKEN = re.compile(
    r"""
    (?P<space> [ \t\r\n\f\v]+ | (?<![\s\S])\ufeff )
  | (?P<comment> \#[^\n]* )
  | (?P<foreign> //[^\n]* | /\*[\s\S]*?\*/ | /\*[^\n]* )
  | (?P<number> (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)? )
  | (?P<string> "[^"\n]*" )
  | (?P<symbol> """
    + "|".join(re.escape(s) for s in SYMBOLS)
    + r""" )
  | (?P<word> [^\W\d]\w* )
  | (?P<other> [\s\S] )
    """,
    re.VERBOSE,
)
_DIGITS = re.compile("[0-9]+")
_TAIL = re.compile(r"\w*")

_LOOKALIKES = {
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{MULTIPLICATION SIGN}": "*",
    "\N{MIDDLE DOT}": "*",
    "\N{DIVISION SIGN}": "/",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{NOT EQUAL TO}": "!=",
    "\N{RIGHTWARDS ARROW}": "->",
}
_ADVICE = {
    "&": ("`and` is written `&&`",),
    "|": ("`or` is written `||`",),
    "^": ("a power is written `pow(a, b)`",),
    "'": ("an index has no prime: name it `i2`, for example",),
    "\N{REPLACEMENT CHARACTER}": ("save the file as UTF-8",),
}


def tokenize(source: Source, report: Report) -> tuple[Token, ...]:
    """All tokens but comments, END last. Errors go to the report; the result is always usable."""
    return tuple(t for t in scan(source, report) if t.kind is not TokenKind.COMMENT)


def comments(source: Source) -> tuple[Span, ...]:
    """The comments, each from its `#` to the last character that is no white space."""
    found = (t.span for t in scan(source, Report()) if t.kind is TokenKind.COMMENT)
    return tuple(Span(source, s.start, s.start + len(s.text.rstrip())) for s in found)


def scan(source: Source, report: Report) -> Iterator[Token]:
    """All tokens in order, comments included.

    After a name, a point starts `T.k`, and what follows it is an integer.
    """
    at, text = 0, source.text
    before = last = Token(TokenKind.END, "", Span(source, 0, 0))
    while match := _TOKEN.match(text, at):
        kind, found = match.lastgroup, match.group()
        if last.kind is TokenKind.NAME and text[at] == ".":
            kind, found = "symbol", "."
        elif last.text == "." and before.kind is TokenKind.NAME and kind == "number":
            found = (_DIGITS.match(text, at) or match).group()
        if kind == "number":
            tail = _TAIL.match(text, at + len(found))
            found += tail.group() if tail else ""
        span = Span(source, at, at + len(found))
        at = span.end
        token = _token(str(kind), span, last, report)
        if token is None:
            continue
        yield token
        if token.kind is not TokenKind.COMMENT:
            before, last = last, token
    yield Token(TokenKind.END, "", Span(source, len(text), len(text)))


def _token(kind: str, span: Span, last: Token, report: Report) -> Token | None:
    """The token of one match, or None for what only separates tokens."""
    match kind:
        case "space":
            return None
        case "comment":
            return Token(TokenKind.COMMENT, span.text, span)
        case "symbol":
            return Token(TokenKind.SYMBOL, span.text, span)
        case "number":
            return _number(span, report)
        case "word":
            return _word(span, report)
        case "foreign":
            report.add(_foreign_comment(span))
            return Token(TokenKind.INVALID, span.text, span)
        case "string":
            help = ("remove the quotes: names and numbers stand without them",)
            report.add(error("E0101", "the language has no strings", span, "a string", help=help))
            return Token(TokenKind.INVALID, span.text, span)
        case _:
            return _other(span, last, report)


def _word(span: Span, report: Report) -> Token:
    text = span.text
    if not text.isascii():
        offset = next(i for i, c in enumerate(text) if not c.isascii())
        report.add(
            error(
                "E0101",
                f"{_show(text[offset])} cannot be part of a name",
                Span(span.source, span.start + offset, span.start + offset + 1),
                "not an ASCII letter, digit or `_`",
                help=("write names in ASCII: letters, digits and `_`",),
            )
        )
    if text in SPELLINGS:
        return Token(TokenKind.TYPE, text, span)
    return Token(TokenKind.KEYWORD if text in KEYWORDS else TokenKind.NAME, text, span)


def _number(span: Span, report: Report) -> Token:
    """A number; a malformed one is reported and stands for 0."""
    problem = _malformed(span)
    if problem is None:
        return Token(TokenKind.NUMBER, span.text, span)
    report.add(problem)
    return Token(TokenKind.NUMBER, "0", span)


def _malformed(span: Span) -> Diagnostic | None:
    text = span.text
    match = re.fullmatch(r"([0-9.]+)(?:[eE]([+-]?[0-9]+))?(\w*)", text)
    mantissa, exponent, tail = match.groups() if match else (text, None, "")
    if tail:
        return error(
            "E0102",
            f"`{text}` is not a number",
            span,
            "a number ends before a letter",
            help=(_number_advice(mantissa, tail),),
        )
    if len(text) > MAX_NUMBER_LENGTH or (exponent and abs(int(exponent)) > MAX_EXPONENT):
        message, help = "this number is out of range of every type", "write a smaller number"
        if len(text) > MAX_NUMBER_LENGTH:
            help = f"write it with at most {MAX_NUMBER_LENGTH} characters"
        return error("E0102", message, span, "too long", help=(help,))
    return None


def _number_advice(mantissa: str, tail: str) -> str:
    if tail[0] in "eE":
        return f"an exponent has digits: `{mantissa}e3`"
    if mantissa == "0" and tail[0] in "xX":
        return "write it in decimal; there are no hexadecimal numbers"
    if tail in ("f", "F", "h", "l", "L", "u", "U", "d"):
        return f"write `{mantissa}`; a literal takes the type of its context"
    return f"for a product, write `{mantissa} * {tail}`"


def _foreign_comment(span: Span) -> Diagnostic:
    opening = Span(span.source, span.start, span.start + 2)
    advice = ["comments start with `#` and end with the line"]
    if opening.text == "//":
        advice.append("for a quotient that rounds down, write `/` between integers")
    message = f"`{opening.text}` does not start a comment"
    return error("E0107", message, opening, "no comment", help=tuple(advice))


def _other(span: Span, last: Token, report: Report) -> Token | None:
    """A character that starts no token: reported once for a run of them."""
    character = span.text
    meant = _LOOKALIKES.get(character)
    adjacent = last.kind is TokenKind.INVALID and last.span.end == span.start
    if not adjacent or meant:
        report.add(_unexpected(span, meant))
    if meant:
        return Token(TokenKind.SYMBOL, meant, span)
    if character.isspace() or character in "\u200b\u2060\ufeff":
        return None
    return Token(TokenKind.INVALID, character, span)


def _unexpected(span: Span, meant: str | None) -> Diagnostic:
    character = span.text
    if character == "\N{REPLACEMENT CHARACTER}":
        message = "the file is not valid UTF-8 here"
    else:
        message = f"unexpected character {_show(character)}"
    advice = (
        (f"write `{meant}`",)
        if meant
        else _ADVICE.get(character, ("write a name, a number or an operator",))
    )
    return error("E0101", message, span, "not part of the language", help=advice)


def _show(character: str) -> str:
    """A character for a message: its code point where it has no glyph of its own."""
    visible = character.isprintable() and not character.isspace()
    return f"`{character}`" if visible else f"U+{ord(character):04X}"
