"""The words of the language: what a token is, and the fixed spellings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tcc.source import Span


class TokenKind(Enum):
    """The classes of tokens; the value is how a message calls one."""

    NAME = "a name"
    NUMBER = "a number"
    TYPE = "a type"
    KEYWORD = "a reserved word"
    SYMBOL = "a symbol"
    COMMENT = "a comment"
    INVALID = "an invalid character"
    END = "the end of the file"


@dataclass(frozen=True, slots=True)
class Token:
    """One word of the source.

    `text` is its spelling, except where the lexer reported an error and put in what was meant.
    An INVALID token has been reported already. END is empty, at the end of the text.
    """

    kind: TokenKind
    text: str
    span: Span


KEYWORDS = frozenset({"def", "where", "in", "exists", "min", "max"})
REDUCTIONS = ("+=", "*=", "min=", "max=", "+=!", "*=!", "min=!", "max=!")
ASSIGNMENTS = frozenset({"=", *REDUCTIONS})

TERNARY = 0
COMPARISON = 3
UNARY = 6
PRECEDENCE: dict[str, int] = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("<", ">", "<=", ">=", "==", "!="), COMPARISON),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
"""Binding strength of the binary operators; all associate to the left but comparisons, which
do not associate."""

PUNCTUATION = ("->", "<=>", "(", ")", "{", "}", "[", "]", "?", ":", ",", ".", ";", "!")
SYMBOLS = tuple(sorted({*ASSIGNMENTS, *PRECEDENCE, *PUNCTUATION}, key=lambda s: (-len(s), s)))
"""Every symbol, longest first, so that the first match is the longest. Brackets and `;` are no
part of the grammar; as tokens they give better messages."""
