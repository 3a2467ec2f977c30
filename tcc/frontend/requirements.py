"""What a def demands of its sizes: proved, broken, or left to a check in the launcher."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tcc.affine import Affine
from tcc.diagnostics import Diagnostic, Label, Report, error
from tcc.frontend import tir
from tcc.frontend.prove import decide
from tcc.source import Span


@dataclass(frozen=True)
class Requirement:
    """`expression >= 0`; `reason` says what it ensures, the rest is the error where it fails."""

    expression: Affine
    reason: str
    code: str
    message: str
    span: Span
    label: str = ""
    secondary: tuple[Label, ...] = ()
    help: tuple[str, ...] = ()


def settle(
    requirements: Iterable[Requirement],
    known: Mapping[str, int],
    assumed: Iterable[tir.Precondition],
    report: Report,
) -> tuple[tir.Precondition, ...] | None:
    """The requirements that stay open, without those that follow from `assumed`.

    Reports each one that fails for every choice of the sizes that are not known; then None.
    """
    given = [p.expression for p in assumed]
    opened: list[tir.Precondition] = []
    failed = False
    for requirement in requirements:
        verdict = decide(requirement.expression, known, given)
        if verdict is None:
            given.append(requirement.expression)
            opened.append(
                tir.Precondition(requirement.expression, requirement.reason, requirement.span)
            )
        elif not verdict:
            failed = True
            report.add(_failure(requirement, known))
    return None if failed else tuple(opened)


def _failure(requirement: Requirement, known: Mapping[str, int]) -> Diagnostic:
    return error(
        requirement.code,
        requirement.message,
        requirement.span,
        requirement.label,
        secondary=requirement.secondary,
        notes=sizes_note(requirement.expression, known),
        help=requirement.help,
    )


def sizes_note(expression: Affine, known: Mapping[str, int]) -> tuple[str, ...]:
    """The given sizes that an expression depends on, as a note."""
    values = [f"{n} = {known[n]}" for n in sorted(expression.variables) if n in known]
    return (f"with {', '.join(values)}",) if values else ()
