"""What a def demands of its sizes: proved, broken, or left to a check in the launcher."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tcc.affine import Affine, Floor
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
        expression = _without_floor(requirement.expression)
        verdict = decide(expression, known, given)
        if verdict is None:
            given.append(expression)
            opened.append(tir.Precondition(expression, requirement.reason, requirement.span))
        elif not verdict:
            failed = True
            report.add(_failure(requirement, known))
    return None if failed else tuple(opened)


def _without_floor(expression: Affine) -> Affine:
    """`H / 2 - 1 >= 0` as `H - 2 >= 0`."""
    if len(expression.terms) != 1:
        return expression
    (atom, coefficient), constant = expression.terms[0], expression.constant
    if not isinstance(atom, Floor):
        return expression
    if coefficient > 0:
        least = -(constant // coefficient)
        return _without_floor(atom.numerator - least * atom.denominator)
    most = constant // -coefficient
    return _without_floor(most * atom.denominator + (atom.denominator - 1) - atom.numerator)


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
