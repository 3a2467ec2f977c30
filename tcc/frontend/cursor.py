"""A place in the token sequence, and the errors found so far."""

from __future__ import annotations

from typing import NoReturn

from tcc.diagnostics import Diagnostic, Label, error
from tcc.frontend.ast import Name
from tcc.frontend.depth import MAX_NESTING
from tcc.frontend.mistakes import Unexpected, syntax_error
from tcc.frontend.tokens import Token, TokenKind
from tcc.source import Source, Span


class Panic(Exception):
    """Leaves what is being parsed; the error is recorded, and the catcher finds where to go on."""


class Cursor:
    """Reads tokens left to right; `errors` are in order of discovery."""

    def __init__(self, source: Source, tokens: tuple[Token, ...]) -> None:
        self.source = source
        self.errors: list[Diagnostic] = []
        self.position = 0
        self._tokens = tokens
        self._nesting = 0

    @property
    def token(self) -> Token:
        """The next token, not yet read."""
        return self._tokens[self.position]

    @property
    def previous(self) -> Token:
        """The token read last; the first one before anything was read."""
        return self._tokens[max(self.position - 1, 0)]

    def peek(self, ahead: int) -> Token:
        """The token so many places after the next one (or before it), END beyond the end."""
        return self._tokens[min(self.position + ahead, len(self._tokens) - 1)]

    @property
    def at_end(self) -> bool:
        """Whether everything was read."""
        return self.token.kind is TokenKind.END

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these symbols or keywords."""
        return self.token.text in texts

    def advance(self) -> Token:
        """Read the next token; END stays."""
        token = self.token
        if token.kind is not TokenKind.END:
            self.position += 1
        return token

    def accept(self, text: str) -> Token | None:
        """Read this symbol or keyword if it comes next."""
        return self.advance() if self.token.text == text else None

    def expect(self, text: str, *secondary: Label, expected: str = "") -> Token:
        """Read this symbol or keyword, or fail; `expected` replaces the text in the message."""
        return self.accept(text) or self.fail(expected or f"`{text}`", *secondary)

    def name(self, expected: str) -> Name:
        """Read an identifier, or fail; a reserved word is reported, and taken for one."""
        if self.token.kind is not TokenKind.NAME:
            found = self.unexpected(expected)
            if found is None or found.code != "E0110":
                self.panic()
            if self.peek(1).kind is TokenKind.NAME:
                self.advance()
        token = self.advance()
        return Name(token.text, token.span)

    def since(self, start: Token) -> Span:
        """From the start of a token to the end of the one read last."""
        return start.span.to(self.previous.span)

    def enter(self) -> None:
        """Begin one more level of nesting, or fail."""
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            self.errors.append(
                error(
                    "E0108",
                    f"this is nested more than {MAX_NESTING} levels deep",
                    self.token.span,
                    "one level too many",
                    help=("name a part of it with `where x = ...`",),
                )
            )
            self.panic()

    def leave(self) -> None:
        """End a level of nesting."""
        self._nesting -= 1

    def unexpected(self, expected: str, *secondary: Label) -> Diagnostic | None:
        """Record that something else was expected here.

        Where the lexer has reported an error in this token or the one before, that is enough.
        """
        repaired = self.previous.text != self.previous.span.text
        if self.token.kind is TokenKind.INVALID or repaired:
            return None
        situation = Unexpected(expected, self.token, self.previous, self.peek(1))
        self.errors.append(syntax_error(situation, secondary))
        return self.errors[-1]

    def fail(self, expected: str, *secondary: Label) -> NoReturn:
        """Record that something else was expected here, and panic."""
        self.unexpected(expected, *secondary)
        self.panic()

    def panic(self) -> NoReturn:
        """Leave what is being parsed."""
        self._nesting = 0
        raise Panic
