"""How large open sizes may be, so that what kernels compute in int stays an int.

Tiles round up: of an index that runs to N, a kernel may compute N + 127. Where sizes have values,
such sums are computed in long long (`AffinePrinter`); where they are open, the launcher refuses the
few sizes next to 2^31 for which they would overflow, and loops would run over nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import TypeAlias, assert_never

from tcc.affine import Affine, Atom, Extremum, Floor, Interval, Product, Var, const, remainders, var
from tcc.kernel.context import NARROW
from tcc.kernel.prove import Scope, interval

Number: TypeAlias = int | Fraction
Bound: TypeAlias = Mapping[str, Number]
"""A sum of multiples of sizes and of their products, by their text; the constant is at ONE."""
Terms: TypeAlias = frozenset[tuple[str, Number]]
ONE = ""
OF_TYPE = NARROW // 8
"""A constant as large comes from the range of a type."""


class SizeLimits:
    """Collects what kernels compute in int.

    `names` has the size that a kernel parameter is a fraction of, with the denominator.
    """

    def __init__(self, names: Mapping[str, tuple[str, int]]) -> None:
        self._names = names
        self._whole = {p: var(size) // by for p, (size, by) in names.items()}
        self._sizes = frozenset(size for size, _ in names.values())
        self._forms = {size: var(size) for size, _ in names.values()}
        self._found: dict[Terms, Number] = {}
        self._of_scope: dict[str, tuple[Scope, Bound]] = {}

    def note(self, form: Affine, scopes: Sequence[Scope], sizes: Mapping[str, Interval]) -> None:
        """A sum that a kernel computes at some place: its terms on the way, too."""
        if not sizes:
            return
        rest, found = remainders(form)
        for sign in (1, -1):
            terms = tuple((atom, sign * c) for atom, c in rest.terms if sign * c > 0)
            if not terms:
                continue
            constant = max(sign * rest.constant, 0)
            constant += sum(max(sign * c, 0) * (floor.denominator - 1) for floor, c in found)
            self._record(self._most(Affine(terms, constant), scopes, sizes))

    def conditions(self) -> Iterator[Affine]:
        """What must not be negative for all that to be ints.

        Sizes are from 1 to NARROW, and their products at most that (`int_limits`).
        """
        alone: dict[str, int] = {}
        for terms, constant in _strongest(self._found):
            scale = lcm(*(c.denominator for _, c in terms))
            room = int((NARROW - constant) * scale // 1)
            factors = {product: int(c * scale) for product, c in sorted(terms)}
            if len(factors) == 1:
                ((product, factor),) = factors.items()
                alone[product] = min(room // factor, alone.get(product, NARROW))
            else:
                total = sum((self._forms[p] * f for p, f in factors.items()), const(0))
                yield const(room) - total
        yield from (const(most) - self._forms[product] for product, most in alone.items())

    def _record(self, bound: Bound) -> None:
        """Remember that a bound must be an int. Sizes are at least 1, which terms below 0 use.

        Nothing follows from a variable of which only its type is known, such as a subscript from
        data, a part of it, or a number of blocks divided by that of one of two dimensions.
        """
        terms = [(p, c) for p, c in bound.items() if p and c > 0]
        constant = sum(c for p, c in bound.items() if not p or c < 0)
        if terms and constant < OF_TYPE and constant + sum(c for _, c in terms) * NARROW > NARROW:
            key = frozenset(terms)
            self._found[key] = max(constant, self._found.get(key, constant))

    # -- upper bounds ----------------------------------------------------------------------

    def _most(self, form: Affine, scopes: Sequence[Scope], sizes: Mapping[str, Interval]) -> Bound:
        """An upper bound of a sum."""
        rest, found = remainders(form)
        constant = rest.constant + sum(max(c, 0) * (floor.denominator - 1) for floor, c in found)
        total: dict[str, Number] = {ONE: constant}
        for atom, factor in rest.terms:
            if factor > 0 or self._is_size(atom, scopes):
                bound = self._most_of(atom, scopes, sizes)
            else:
                low = interval(Affine(((atom, 1),)), scopes, sizes)[0]
                bound = {ONE: min(low or 0, 0)}
            for product, c in bound.items():
                total[product] = total.get(product, 0) + factor * c
        return total

    def _most_of(self, atom: Atom, scopes: Sequence[Scope], sizes: Mapping[str, Interval]) -> Bound:
        match atom:
            case Var(name):
                at = _scope_of(name, scopes)
                return self._size(name) if at is None else self._last(at, scopes, sizes)
            case Floor(numerator, denominator):
                whole = self._most(numerator, scopes, sizes)
                return {product: Fraction(c, denominator) for product, c in whole.items()}
            case Extremum(kind, items):
                bounds = [self._most(item, scopes, sizes) for item in items]
                return min(bounds, key=_at_largest) if kind == "min" else _join(bounds)
            case Product():
                form = Affine(((atom, 1),)).substitute(self._whole)
                if not form.variables <= self._sizes:
                    return {ONE: 0}  # part of an offset, which has 64 bits where it needs them
                self._forms[str(form)] = form
                return {str(form): 1}
            case _:
                assert_never(atom)

    def _is_size(self, atom: Atom, scopes: Sequence[Scope]) -> bool:
        return isinstance(atom, Var) and _scope_of(atom.name, scopes) is None

    def _size(self, parameter: str) -> Bound:
        name, denominator = self._names[parameter]
        return {name: Fraction(1, denominator)}

    def _last(self, at: int, scopes: Sequence[Scope], sizes: Mapping[str, Interval]) -> Bound:
        """The last value of a kernel variable, looked up as long as it is in scope."""
        scope = scopes[at]
        known = self._of_scope.get(scope.var)
        if known is None or known[0] is not scope:
            known = scope, self._most(scope.high - 1, scopes[:at], sizes)
            self._of_scope[scope.var] = known
        return known[1]


def _scope_of(name: str, scopes: Sequence[Scope]) -> int | None:
    """The place of a kernel variable among the scopes; None for a size."""
    return next((n for n in range(len(scopes) - 1, -1, -1) if scopes[n].var == name), None)


def _join(bounds: list[Bound]) -> Bound:
    """A bound of all."""
    keys = dict.fromkeys(product for bound in bounds for product in bound)
    return {key: max(bound.get(key, 0) for bound in bounds) for key in keys}


def _at_largest(bound: Bound) -> Number:
    """A bound where all sizes are as large as they can be."""
    return sum(c * NARROW if p else c for p, c in bound.items())


def _strongest(found: Mapping[Terms, Number]) -> Iterator[tuple[Terms, Number]]:
    """Those of the sums that no other one is at least as large as; in a fixed order."""
    items = [(terms, dict(terms), constant) for terms, constant in found.items()]
    items.sort(key=lambda item: sorted(item[0]))
    for terms, own, constant in items:
        others = (other for other in items if other[0] != terms)
        if not any(
            larger >= constant and all(has.get(p, 0) >= c for p, c in own.items())
            for _, has, larger in others
        ):
            yield terms, constant
