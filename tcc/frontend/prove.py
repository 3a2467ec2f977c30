"""Decides inequalities between sizes: true for all sizes, false for all, or open.

Every size is at least 1. Sound, not complete: bounds of the atoms, case splits over minima and
maxima, and relaxations of floor divisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tcc.affine import Affine, Atom, Extremum, Floor, const

_DEPTH = 6
"""Nested case splits and relaxations; each removes one atom."""
_STEPS = 2000
"""Expressions looked at in one proof, a few milliseconds."""


def decide(
    expression: Affine, known: Mapping[str, int], assumed: Iterable[Affine] = ()
) -> bool | None:
    """Whether `expression >= 0` for all sizes, given the known ones; None where it depends.

    `assumed` are expressions that are known not to be negative.
    """
    values = {name: const(value) for name, value in known.items()}
    fixed = expression.substitute(values)
    if fixed.is_constant:
        return fixed.value >= 0
    if is_nonnegative(fixed):
        return True
    if any(is_nonnegative(fixed - a.substitute(values)) for a in assumed):
        return True
    return False if is_nonnegative(-fixed - 1) else None


def is_nonnegative(expression: Affine) -> bool:
    """True when `expression >= 0` could be proved for all sizes of at least 1."""
    return _Prover().prove(expression, _DEPTH)


class _Prover:
    """One proof; gives up after _STEPS, so that nested splits stay cheap."""

    def __init__(self) -> None:
        self._steps = 0

    def prove(self, expression: Affine, depth: int) -> bool:
        """Bounds of the atoms first, then one split or relaxation."""
        self._steps += 1
        low, _ = expression.bounds(dict.fromkeys(expression.variables, (1, None)))
        if low is not None and low >= 0:
            return True
        if depth == 0 or self._steps > _STEPS:
            return False
        for atom, coefficient in expression.terms:
            if isinstance(atom, Extremum):
                return self._split(expression, atom, coefficient, depth)
        for atom, coefficient in expression.terms:
            if isinstance(atom, Floor):
                return self._relax(expression, atom, coefficient, depth)
        return False

    def _split(self, expression: Affine, atom: Extremum, coefficient: int, depth: int) -> bool:
        """An extremum equals one of its items: all must do, or, on the good side, any."""
        rest = _without(expression, atom)
        cases = (rest + item * coefficient for item in atom.items)
        check = all if (atom.kind == "min") == (coefficient > 0) else any
        return check(self.prove(case, depth - 1) for case in cases)

    def _relax(self, expression: Affine, atom: Floor, coefficient: int, depth: int) -> bool:
        """`n - d + 1 <= d * floor(n / d) <= n`; an integer above -1 is not negative."""
        rest = _without(expression, atom)
        numerator, divisor = atom.numerator, atom.denominator
        if rest.is_constant and coefficient > 0:
            least = -(rest.constant // coefficient)
            return self.prove(numerator - divisor * least, depth - 1)
        if coefficient > 0:
            numerator = numerator - (divisor - 1)
        scaled = rest * divisor + numerator * coefficient
        return self.prove(scaled + (divisor - 1), depth - 1)


def _without(expression: Affine, atom: Atom) -> Affine:
    kept = tuple((a, c) for a, c in expression.terms if a != atom)
    return Affine(kept, expression.constant)
