"""One inequality and one index variable: solve for it, or eliminate it over its range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from tcc.affine import Affine, Atom, Extremum, Floor, Product, Var, maximum, minimum
from tcc.frontend.tir import Range


@dataclass(frozen=True)
class Interval:
    """Lower bounds `v >= low` and upper bounds `v < high`, all of which must hold."""

    lows: tuple[Affine, ...] = ()
    highs: tuple[Affine, ...] = ()

    def and_(self, other: Interval) -> Interval:
        """Both."""
        return Interval(self.lows + other.lows, self.highs + other.highs)

    @property
    def range(self) -> Range | None:
        """The half-open range, or None where a side is open."""
        if not self.lows or not self.highs:
            return None
        return Range(maximum(*self.lows), minimum(*self.highs))


def conjuncts(condition: Affine, sizes: frozenset[str]) -> tuple[Affine, ...]:
    """`condition >= 0` as several inequalities: minima over index variables come apart."""
    for atom, coefficient in condition.terms:
        if not isinstance(atom, Extremum) or _atom_variables(atom) <= sizes:
            continue
        if (atom.kind == "min") == (coefficient > 0):
            rest = _without(condition, atom)
            parts = (rest + item * coefficient for item in atom.items)
            return tuple(c for part in parts for c in conjuncts(part, sizes))
    return (condition,)


def solve(condition: Affine, name: str) -> Interval:
    """The values of a variable for which `condition >= 0`; exact, or no bound at all.

    The variable must occur in one atom only: `i % d` bounds nothing, and `i + i / 2` is left to
    an explicit range.
    """
    holding = [(a, c) for a, c in condition.terms if name in _atom_variables(a)]
    if len(holding) != 1:
        return Interval()
    atom, coefficient = holding[0]
    rest = _without(condition, atom)
    if coefficient > 0:
        return _at_least(atom, -(rest // coefficient), name)
    return _at_most(atom, rest // -coefficient, name)


def _at_least(atom: Atom, least: Affine, name: str) -> Interval:
    match atom:
        case Var():
            return Interval(lows=(least,))
        case Floor(numerator, denominator):
            return solve(numerator - least * denominator, name)
        case Extremum() | Product():
            return Interval()
        case _:
            assert_never(atom)


def _at_most(atom: Atom, most: Affine, name: str) -> Interval:
    match atom:
        case Var():
            return Interval(highs=(most + 1,))
        case Floor(numerator, denominator):
            return solve(most * denominator + (denominator - 1) - numerator, name)
        case Extremum() | Product():
            return Interval()
        case _:
            assert_never(atom)


def least(expression: Affine, name: str, range_: Range) -> tuple[Affine, bool]:
    """A lower bound of the expression over a range of one variable, and whether it is attained."""
    return _extreme(expression, name, range_, low=True)


def greatest(expression: Affine, name: str, range_: Range) -> tuple[Affine, bool]:
    """An upper bound of the expression over a range of one variable, and whether it is attained."""
    return _extreme(expression, name, range_, low=False)


def _extreme(expression: Affine, name: str, range_: Range, *, low: bool) -> tuple[Affine, bool]:
    if name not in expression.variables:
        return expression, True
    modulus = _split_modulus(expression, name)
    if modulus is None:
        return _bound(expression, name, range_, low=low), _occurrences(expression, name) == 1
    rest, factor, numerator, divisor = modulus
    smallest, greatest_ = Affine(), Affine((), divisor - 1)
    bottom = _bound(numerator, name, range_, low=True)
    if bottom.is_constant and bottom.value >= 0:
        greatest_ = minimum(greatest_, _bound(numerator, name, range_, low=False))
    remainder = smallest if low == (factor > 0) else greatest_
    return _bound(rest, name, range_, low=low) + remainder * factor, False


def _bound(expression: Affine, name: str, range_: Range, *, low: bool) -> Affine:
    total = Affine((), expression.constant)
    for atom, coefficient in expression.terms:
        bound = _atom_bound(atom, name, range_, low=low == (coefficient > 0))
        total = total + bound * coefficient
    return total


def _atom_bound(atom: Atom, name: str, range_: Range, *, low: bool) -> Affine:
    if name not in _atom_variables(atom):
        return Affine(((atom, 1),))
    match atom:
        case Var():
            return range_.low if low else range_.high - 1
        case Floor(numerator, denominator):
            return _bound(numerator, name, range_, low=low) // denominator
        case Extremum(kind, items):
            pick = minimum if kind == "min" else maximum
            return pick(*(_bound(i, name, range_, low=low) for i in items))
        case Product():
            raise AssertionError("products hold sizes only")
        case _:
            assert_never(atom)


def _split_modulus(expression: Affine, name: str) -> tuple[Affine, int, Affine, int] | None:
    """`rest + factor * (numerator mod divisor)`, where the variable is taken out of a remainder."""
    for atom, coefficient in expression.terms:
        if not isinstance(atom, Floor) or name not in atom.numerator.variables:
            continue
        numerator, divisor = atom.numerator, atom.denominator
        if coefficient % divisor:
            continue
        factor = -coefficient // divisor
        rest = expression - numerator * factor + Affine(((atom, divisor * factor),))
        if _occurrences(rest, name) < _occurrences(expression, name) - 1:
            return rest, factor, numerator, divisor
    return None


def _occurrences(expression: Affine, name: str) -> int:
    return sum(_atom_occurrences(atom, name) for atom, _ in expression.terms)


def _atom_occurrences(atom: Atom, name: str) -> int:
    match atom:
        case Var(other):
            return int(other == name)
        case Floor(numerator, _):
            return _occurrences(numerator, name)
        case Extremum(_, items):
            return sum(_occurrences(i, name) for i in items)
        case Product(factors):
            return sum(_atom_occurrences(f, name) for f in factors)
        case _:
            assert_never(atom)


def _atom_variables(atom: Atom) -> frozenset[str]:
    return Affine(((atom, 1),)).variables


def _without(expression: Affine, atom: Atom) -> Affine:
    kept = tuple((a, c) for a, c in expression.terms if a != atom)
    return Affine(kept, expression.constant)
