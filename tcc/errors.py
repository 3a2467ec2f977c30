"""What can go wrong, one class for each exit code of the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from tcc.diagnostics import Diagnostic
from tcc.render import ordered, render_text


class TccError(Exception):
    """Base of the expected failures; the message says what the user can do about it."""

    exit_code: ClassVar[int] = 1


class CompileError(TccError):
    """The program, its options or its data are rejected; at least one diagnostic is an error.

    Also raised by `Kernel.run` for arrays that do not fit. `str()` is the rendered text.
    """

    exit_code = 1

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        super().__init__(ordered(diagnostics))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All findings, errors first, warnings after them."""
        items: tuple[Diagnostic, ...] = self.args[0]
        return items

    @property
    def line(self) -> int:
        """1-based line of the first error."""
        return self.diagnostics[0].line

    @property
    def column(self) -> int:
        """1-based column of the first error."""
        return self.diagnostics[0].column

    def __str__(self) -> str:
        return render_text(self.diagnostics)


class UsageError(TccError):
    """The command line or the call makes no sense; diagnostics point into it where they can."""

    exit_code = 2

    def __init__(self, message: str, diagnostics: Iterable[Diagnostic] = ()) -> None:
        super().__init__(message, ordered(diagnostics))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The findings with a place in the command line."""
        items: tuple[Diagnostic, ...] = self.args[1]
        return items

    def __str__(self) -> str:
        return render_text(self.diagnostics) if self.diagnostics else str(self.args[0])


class WrongResult(TccError):
    """The optimized kernel and the reference kernel disagree."""

    exit_code = 3


class RunError(WrongResult):
    """A kernel crashed, hung, or its launcher returned an error."""


class HangError(RunError):
    """A kernel did not end in time."""


class ToolchainError(TccError):
    """A compiler, a library or a GPU that this needs is not there, or does not work."""

    exit_code = 4


class RejectedText(ToolchainError):
    """A compiler that is there does not accept what tcc emitted."""


class InternalError(TccError):
    """A fault in tcc itself: something a check between two passes found."""

    exit_code = 70
