"""What the compiler has to say about a program, as plain data; `render` turns it into text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tcc.source import Span


class Severity(Enum):
    """Whether the program is rejected."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Label:
    """A place and what is there."""

    span: Span
    text: str = ""


@dataclass(frozen=True)
class Diagnostic:
    """One finding: the message stands alone, the labels say where, the help says what to do."""

    severity: Severity
    code: str
    message: str
    primary: Label
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        """1-based line of the primary label."""
        return self.primary.span.line

    @property
    def column(self) -> int:
        """1-based column of the primary label."""
        return self.primary.span.column

    @property
    def is_error(self) -> bool:
        """True when this rejects the program."""
        return self.severity is Severity.ERROR


def error(
    code: str,
    message: str,
    span: Span,
    label: str = "",
    *,
    secondary: tuple[Label, ...] = (),
    notes: tuple[str, ...] = (),
    help: tuple[str, ...] = (),
) -> Diagnostic:
    """Make an error."""
    return Diagnostic(Severity.ERROR, code, message, Label(span, label), secondary, notes, help)


def warning(
    code: str,
    message: str,
    span: Span,
    label: str = "",
    *,
    secondary: tuple[Label, ...] = (),
    notes: tuple[str, ...] = (),
    help: tuple[str, ...] = (),
) -> Diagnostic:
    """Make a warning."""
    return Diagnostic(Severity.WARNING, code, message, Label(span, label), secondary, notes, help)


class Report:
    """Collects the diagnostics of one run, in the order they are found; passes add and go on."""

    def __init__(self) -> None:
        self._items: dict[Diagnostic, None] = {}

    def add(self, *diagnostics: Diagnostic) -> None:
        """Record diagnostics; an exact repetition is dropped."""
        self._items |= dict.fromkeys(diagnostics)

    @property
    def items(self) -> tuple[Diagnostic, ...]:
        """All diagnostics so far."""
        return tuple(self._items)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The errors so far."""
        return tuple(d for d in self._items if d.is_error)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings so far."""
        return tuple(d for d in self._items if not d.is_error)
