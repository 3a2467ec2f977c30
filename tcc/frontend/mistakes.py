"""What to say about a token that cannot stand where it stands: knows what people tend to write."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tcc.diagnostics import Diagnostic, Label, error
from tcc.frontend.tokens import ASSIGNMENTS, REDUCTIONS, Token, TokenKind
from tcc.source import Span

DEF = "`def`"
DEF_NAME = "a name for the def"
INPUT_NAME = "a name for the input"
OUTPUT = "an output"
OUTPUT_NAME = "a name for the output"
DIMENSION = "a size or an integer"
OUTPUTS = "`(` before the outputs"
INDEX = "an index variable"
AFTER_DIMENSION = "`,` or `)` after the dimension"
AFTER_INPUT = "`,` or `)` after the input"
AFTER_OUTPUT = "`,` or `)` after the output"
ASSIGNMENT = "an assignment operator"
EXPRESSION = "an expression"
STATEMENT = "a statement or `}`"
AFTER_STATEMENT = "an operator or the next statement"
CLAUSE = "`i in low:high`, `x = value` or `exists`"
RANGE = "`:` between the bounds"

LONGEST = 40
"""Characters of the user's text that a message repeats."""


@dataclass(frozen=True)
class Unexpected:
    """What could have come, the token that came, and its neighbours."""

    expected: str
    found: Token
    previous: Token
    following: Token

    @property
    def joined(self) -> str:
        """The last character before the token and the first of it, when nothing is between."""
        touching = self.previous.span.end == self.found.span.start
        return self.previous.span.text[-1:] + self.found.span.text[:1] if touching else ""


def syntax_error(situation: Unexpected, secondary: tuple[Label, ...] = ()) -> Diagnostic:
    """The error for an unexpected token; its span starts at that token."""
    for rule in (_separator, _bracket, _reserved, _assignment):
        diagnostic = rule(situation)
        if diagnostic is not None:
            return replace(diagnostic, secondary=secondary)
    return error(
        "E0103",
        f"expected {situation.expected}, found {describe(situation.found)}",
        situation.found.span,
        f"expected {situation.expected}",
        secondary=secondary,
        help=_advice(situation),
    )


def describe(token: Token) -> str:
    """A token for a message."""
    return token.kind.value if token.kind is TokenKind.END else f"`{quoted(token.span)}`"


def quoted(span: Span) -> str:
    """The user's text on one line, shortened when long."""
    start = Span(span.source, span.start, min(span.end, span.start + 10 * LONGEST))
    text = " ".join(start.text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def square_bracket(found: Token) -> Diagnostic:
    """The error for `[` or `]`."""
    message = f"`{found.text}` does not belong to the language"
    help = ("write `A(i, j)` for an element",)
    return error("E0112", message, found.span, "a square bracket", help=help)


def _bracket(situation: Unexpected) -> Diagnostic | None:
    return square_bracket(situation.found) if situation.found.text in ("[", "]") else None


def _separator(situation: Unexpected) -> Diagnostic | None:
    if situation.found.text != ";":
        return None
    return error(
        "E0113",
        "`;` does not belong to the language",
        situation.found.span,
        "not needed",
        help=("remove it: statements need no separator",),
    )


def _reserved(situation: Unexpected) -> Diagnostic | None:
    found = situation.found
    names = (DEF_NAME, INPUT_NAME, OUTPUT, OUTPUT_NAME, DIMENSION, INDEX)
    if situation.expected not in names or found.kind not in (TokenKind.KEYWORD, TokenKind.TYPE):
        return None
    starts_item = situation.expected != DEF_NAME and situation.following.text not in (",", ")")
    if found.kind is TokenKind.TYPE and starts_item:
        return None
    return error(
        "E0110",
        f"`{found.text}` is {found.kind.value} and cannot be a name",
        found.span,
        f"expected {situation.expected}",
        help=(f"choose another name, such as `{found.text}_`",),
    )


WRONG_ASSIGNMENT = re.compile(r"(?:min|max|[-+*/%:=<>])[ \t]*=!?")
_INSTEAD = {
    "-=": ("use `+=` and negate the right side",),
    "-=!": ("use `+=!` and negate the right side",),
    ":=": ("write `=`",),
    "==": ("write `=`",),
}


def _assignment(situation: Unexpected) -> Diagnostic | None:
    """`-=`, `/=`, and operators with a blank inside, where an assignment operator should be."""
    found = situation.found.span
    match = WRONG_ASSIGNMENT.match(found.source.text, found.start)
    if situation.expected != ASSIGNMENT or match is None:
        return None
    written, meant = match.group(), "".join(match.group().split())
    message = f"`{written}` is not an assignment operator"
    advice = _INSTEAD.get(meant, ("write it in full, with `=`: `A(i) = A(i) / 2`",))
    if meant in REDUCTIONS:
        message, advice = f"`{meant}` has a blank inside", (f"write `{meant}`",)
    return error(
        "E0105",
        message,
        Span(found.source, found.start, match.end()),
        f"expected {ASSIGNMENT}",
        notes=("the operators are `=`, and `+=`, `*=`, `min=`, `max=`, each also with `!`",),
        help=advice,
    )


def _first(assignment: Token) -> bool:
    """Whether this is the first assignment on its line."""
    source = assignment.span.source
    line = source.text[source.line_starts[assignment.span.line - 1] : assignment.span.start]
    return "=" not in line


_JOINED = {
    "=+": "write `+=`",
    "=*": "write `*=`",
    "=>": "write `>=`",
    "=<": "write `<=`",
    "<>": "write `!=`",
    "**": "a power is written `pow(a, b)`",
    "++": "write one `+`; there is no unary plus",
    "==": "write `==`",
    "..": "a range is written `low:high`",
}
"""Help for two characters that touch, the second one unexpected."""

_ADVICE: dict[tuple[str, str], str] = {
    (EXPRESSION, "+"): "there is no unary plus",
    (OUTPUTS, ""): "write the outputs in parentheses: `-> (B)`",
    (AFTER_DIMENSION, ""): "a dimension is one size or one integer, nothing computed",
    (AFTER_INPUT, "("): "dimensions belong to the type: `float(N) A`",
    (AFTER_OUTPUT, "("): "dimensions belong to the type: `float(N) B`",
    (AFTER_STATEMENT, ":"): "a range is written `i in low:high`",
    (AFTER_STATEMENT, "where"): "a statement has one `where`; separate its clauses by `,`",
    (AFTER_STATEMENT, "<=>"): "`<=>` stands before `where`",
    (RANGE, ""): "a range is written `low:high`",
}
"""Help by what was expected and the token found, or any token."""

_STATEMENT_FORM = "a statement has the form `B(i) = 2 * A(i)`"
_FORMS = {
    DEF: "a file holds defs: `def f(float(N) A) -> (B) { B(i) = 2 * A(i) }`",
    DEF_NAME: "a def has the form `def f(float(N) A) -> (B) { B(i) = 2 * A(i) }`",
    INPUT_NAME: "an input has a type and a name: `float(N) A`",
    OUTPUT: "outputs are names in parentheses: `-> (B)`",
    OUTPUT_NAME: "an output is a name, with or without a type: `float(N) B`",
    DIMENSION: "a dimension is a size such as `N`, or an integer",
    INDEX: "an index is a name of its own, such as `i`",
    ASSIGNMENT: _STATEMENT_FORM,
    EXPRESSION: "write a value here, such as `A(i)` or `2`",
    STATEMENT: _STATEMENT_FORM,
    AFTER_STATEMENT: _STATEMENT_FORM,
    CLAUSE: "a clause has the form `i in 0:N` or `x = 2 * i`",
}
"""The form of what was expected, where no advice suits the token that was found."""


def _advice(situation: Unexpected) -> tuple[str, ...]:
    found = situation.found.text
    if situation.previous.text == "," and found in (")", "]", "}", "{"):
        return ("remove the `,` before it",)
    if situation.expected == AFTER_STATEMENT and found in ASSIGNMENTS and _first(situation.found):
        return ("a line break ends nothing: is the line above complete?",)
    keys = ((situation.expected, found), (situation.expected, ""))
    text = _JOINED.get(situation.joined) or next((_ADVICE[k] for k in keys if k in _ADVICE), None)
    return (text or _FORMS.get(situation.expected) or _insertion(situation),)


def _insertion(situation: Unexpected) -> str:
    """What to write where nothing better is known."""
    if situation.found.kind is TokenKind.END:
        return f"write {situation.expected} at the end"
    return f"write {situation.expected} before {describe(situation.found)}"
