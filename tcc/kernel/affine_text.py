"""Affine expressions as C++ text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import assert_never

from tcc.affine import Affine, Atom, Extremum, Floor, Interval, Product, Var, remainders
from tcc.kernel.prove import Scope, interval
from tcc.kernel.size_limits import SizeLimits
from tcc.kernel.spelling import ATOM, COMPARISON, PRODUCT, SUM, UNARY, Part, wrap
from tcc.scalar import ScalarType

INT = ScalarType.INT32.integer_range


class AffinePrinter:
    """Prints affine expressions at one place; `scopes` bound the variables there.

    `helpers` collects the names of the helper functions that the text calls. What may leave int is
    computed in long long; sizes that are open count as up to `largest_size` for that, which would
    otherwise make all arithmetic long. `long_variables` are declared as long long.
    `limits` collects what is computed in int.
    """

    def __init__(
        self,
        sizes: Mapping[str, Interval],
        helpers: set[str],
        limits: SizeLimits | None = None,
        *,
        largest_size: int = 0,
    ) -> None:
        self.scopes: list[Scope] = []
        self.long_variables: set[str] = set()
        self.helpers = helpers
        self._sizes = sizes
        self._limits = limits
        self._largest_size = largest_size
        self._is_long = False
        self._ends_in: dict[str, tuple[Scope, tuple[int, int]]] = {}

    def affine(self, form: Affine) -> str:
        """An affine expression."""
        return self.affine_part(form)[0]

    def factor(self, form: Affine) -> str:
        """An affine expression as an operand of `*`, `/`, `%` or a cast."""
        return wrap(self.affine_part(form), UNARY)

    def affine_part(self, form: Affine) -> Part:
        """An affine expression: positive terms first, `x - d * (x / d)` as `x % d`."""
        if not self._is_long and self.leaves_int(form):
            with self._long():
                return self._sum(form)
        return self._sum(form)

    def _sum(self, form: Affine) -> Part:
        terms, constant = self._terms(form)
        added = [part for negative, part in terms if not negative]
        taken = [part for negative, part in terms if negative]
        if constant > 0 or not (constant or terms):
            added.append((self._number(constant), ATOM))
        elif constant < 0:
            taken.append((self._number(-constant), ATOM))
        first = added.pop(0) if added else _negative(taken.pop(0))
        if not added and not taken:
            return first
        rest = [f" + {text}" for text, _ in added] + [f" - {text}" for text, _ in taken]
        return first[0] + "".join(rest), SUM

    def condition(self, form: Affine) -> Part:
        """`form >= 0` as a comparison: `a - b` as `b < a + 1`, `a - b - 1` as `b < a`."""
        smaller = Affine(tuple((a, -c) for a, c in form.terms if c < 0))
        larger = Affine(tuple((a, c) for a, c in form.terms if c > 0))
        if not smaller.terms:
            return f"{self.affine(larger)} >= {-form.constant}", COMPARISON
        return f"{self.affine(smaller)} < {self.affine(larger + form.constant + 1)}", COMPARISON

    def minmax(self, kind: str, items: list[str]) -> Part:
        """The extremum of integers as calls of a helper function."""
        function = f"{kind}imum"
        self.helpers.add(function)
        text = items[0]
        for item in items[1:]:
            text = f"{function}({text}, {item})"
        return text, ATOM

    def lowest(self, form: Affine) -> int | None:
        """A lower bound of an expression here."""
        return interval(form, self.scopes, self._sizes)[0]

    def _terms(self, form: Affine) -> tuple[list[tuple[bool, Part]], int]:
        """The terms of a sum, each with whether it is subtracted; the constant."""
        terms: list[tuple[bool, Part]] = []
        for floor, coefficient in form.terms:
            remainder = _remainder(form, floor, coefficient)
            if isinstance(floor, Floor) and remainder is not None:
                whole, divisor, factor = remainder
                form = form - whole * factor + Affine(((floor, -coefficient),))
                text = self._divide("%", whole, divisor)
                terms.append((factor < 0, _multiple(abs(factor), [text])))
        for atom, coefficient in form.terms:
            factors = atom.factors if isinstance(atom, Product) else (atom,)
            parts = [self._factor(f) for f in factors]
            terms.append((coefficient < 0, _multiple(abs(coefficient), parts)))
        return terms, form.constant

    def _factor(self, atom: Atom) -> Part:
        match atom:
            case Var(name):
                return (f"(long long){name}", UNARY) if self._is_long else (name, ATOM)
            case Floor(numerator, denominator):
                return self._divide("/", numerator, denominator)
            case Extremum(kind, items):
                is_long = any(map(self.is_long, items))
                return self._as_int(
                    lambda: self.minmax(kind, [self.affine(i) for i in items]), is_long=is_long
                )
            case Product(factors):
                return _multiple(1, [self._factor(f) for f in factors])
            case _:
                assert_never(atom)

    def _divide(self, operator: str, numerator: Affine, denominator: int) -> Part:
        is_long = self.is_long(numerator)
        return self._as_int(
            lambda: self._quotient(operator, numerator, denominator), is_long=is_long
        )

    def _quotient(self, operator: str, numerator: Affine, denominator: int) -> Part:
        low = self.lowest(numerator)
        if low is not None and low >= 0:
            return f"{self.factor(numerator)} {operator} {self._number(denominator)}", PRODUCT
        function = "floor_div" if operator == "/" else "floor_mod"
        self.helpers.add(function)
        return f"{function}({self.affine(numerator)}, {self._number(denominator)})", ATOM

    # -- more than an int ------------------------------------------------------------------

    def is_long(self, form: Affine) -> bool:
        """Whether the text of a sum is a long long, which a helper function takes in every place.

        A loop variable is one already where the loop would step over the largest int.
        """
        return self.leaves_int(form) or not self.long_variables.isdisjoint(form.variables)

    def leaves_int(self, form: Affine) -> bool:
        """Whether a sum may leave int on the way from its first term to its last."""
        numbers = (form.constant, *(c for _, c in form.terms))
        ends = (*self._partial_sums(form), *numbers)
        if min(ends) <= INT[0] or max(ends) > INT[1]:  # the least int has no literal
            return True
        if self._limits is not None and not self._is_long:
            self._limits.note(form, self.scopes, self._sizes)
        return False

    def _partial_sums(self, form: Affine) -> tuple[int, int]:
        """An interval with all partial sums of a form, in any order."""
        rest, found = remainders(form)
        low, high = min(rest.constant, 0), max(rest.constant, 0)
        for atom, coefficient in rest.terms:
            ends = [coefficient * end for end in self._ends(atom)]
            low, high = low + min(*ends, 0), high + max(*ends, 0)
        for floor, count in found:
            last = count * (floor.denominator - 1)
            low, high = low + min(last, 0), high + max(last, 0)
        return low, high

    def _ends(self, atom: Atom) -> tuple[int, int]:
        """The least and the largest value, as far as constants decide them."""
        match atom:
            case Var(name):
                scope = next((s for s in reversed(self.scopes) if s.var == name), None)
                return (0, self._largest_size) if scope is None else self._ends_of(scope)
            case Floor(numerator, denominator):
                low, high = self._partial_sums(numerator)
                return low // denominator, high // denominator
            case Extremum(_, items):
                lows, highs = zip(*map(self._partial_sums, items), strict=True)
                return min(lows), max(highs)
            case Product(factors):
                return 0, prod(self._ends(f)[1] for f in factors)
            case _:
                assert_never(atom)

    def _ends_of(self, scope: Scope) -> tuple[int, int]:
        """The least and the largest value of a variable, looked up as long as it is in scope."""
        known = self._ends_in.get(scope.var)
        if known is not None and known[0] is scope:
            return known[1]
        ends = self._partial_sums(scope.low)[0], self._partial_sums(scope.high - 1)[1]
        self._ends_in[scope.var] = scope, ends
        return ends

    def _as_int(self, make: Callable[[], Part], *, is_long: bool) -> Part:
        """What `make` prints; where only its operands are long, an int again.

        A sum that takes it as an int has no long term, and all operands of a helper one type.
        """
        if self._is_long or not is_long:
            return make()
        with self._long():
            part = make()
        return f"(int){wrap(part, UNARY)}", UNARY

    @contextmanager
    def _long(self) -> Iterator[None]:
        """Sums, products and quotients in long long."""
        saved, self._is_long = self._is_long, True
        yield
        self._is_long = saved

    def _number(self, value: int) -> str:
        return f"{value}LL" if self._is_long else str(value)


def _remainder(form: Affine, atom: Atom, coefficient: int) -> tuple[Affine, int, int] | None:
    """What of a sum is a remainder: `f * x - f * d * (x / d)` as x, d and f.

    x may be a quotient itself: `(y / 8) % 4` is `y / 8 - 4 * (y / 32)` in normal form.
    """
    if not isinstance(atom, Floor):
        return None
    mine = dict(form.terms)
    for inner, factor in mine.items():
        if isinstance(inner, Floor) and inner.numerator == atom.numerator:
            divisor, rest = divmod(atom.denominator, inner.denominator)
            if divisor > 1 and not rest and coefficient == -factor * divisor:
                return Affine(((inner, 1),)), divisor, factor
    factor, rest = divmod(-coefficient, atom.denominator)
    whole = atom.numerator * factor
    if rest or not all(mine.get(a) == c for a, c in whole.terms):
        return None
    return atom.numerator, atom.denominator, factor


def _multiple(number: int, factors: list[Part]) -> Part:
    if number == 1 and len(factors) == 1:
        return factors[0]
    numbers = [str(number)] if number > 1 else []
    return " * ".join([*numbers, *(wrap(f, UNARY) for f in factors)]), PRODUCT


def _negative(part: Part) -> Part:
    text, level = part
    if text[0].isdigit():
        return f"-{text}", min(level, UNARY)
    return f"-{wrap(part, UNARY)}", UNARY
