"""A lexer for Pygments that colours programs; MkDocs, Sphinx and rich find it by its entry point.

The tokens are those of the compiler: what it does not read shows as an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from pygments.lexer import Lexer
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, Whitespace
from pygments.token import _TokenType as Kind

from tcc.diagnostics import Report
from tcc.frontend.builtins import BUILTINS
from tcc.frontend.lexer import scan
from tcc.frontend.tokens import Token, TokenKind
from tcc.source import Source

_PUNCTUATION = frozenset("(){}[],;.")
_OPERATIONS = frozenset({"min", "max"})  # reserved words that are called like functions
_KINDS = {
    TokenKind.NUMBER: Number,
    TokenKind.TYPE: Keyword.Type,
    TokenKind.KEYWORD: Keyword,
    TokenKind.COMMENT: Comment.Single,
    TokenKind.INVALID: Error,
}


class TcLexer(Lexer):
    """Tensor comprehensions, as `tcc` reads them."""

    name = "Tensor Comprehensions"
    aliases = ("tc", "tensor-comprehensions")
    filenames = ("*.tc",)
    mimetypes = ("text/x-tc",)
    url = "https://arxiv.org/abs/1802.04730"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Kind, str]]:
        """Offset, kind and text of everything in a program, white space included."""
        at, last = 0, ""
        for token in scan(Source("<text>", text), Report()):
            if token.span.start > at:
                yield at, Whitespace, text[at : token.span.start]
            if token.span.text:
                yield token.span.start, _kind(token, last), token.span.text
            at, last = token.span.end, token.text


def _kind(token: Token, last: str) -> Kind:
    """The colour class of a token; `last` is the text of the one before."""
    match token.kind:
        case TokenKind.NAME if last == "def":
            return Name.Function
        case TokenKind.NAME:
            return Name.Builtin if token.text in BUILTINS else Name
        case TokenKind.KEYWORD if token.text in _OPERATIONS:
            return Name.Builtin
        case TokenKind.SYMBOL:
            return Punctuation if token.text in _PUNCTUATION else Operator
        case kind:
            return _KINDS[kind]
