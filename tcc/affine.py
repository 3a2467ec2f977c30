"""Integer quasi-affine expressions over named variables: ranges, extents, subscripts, addresses.

An `Affine` is a sum of integer multiples of atoms plus a constant, in a normal form: two equal
sums are equal values. Atoms are variables, floor divisions by a positive constant, minima and
maxima, and products (sizes only; isl sees a product as an opaque parameter).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import TypeAlias, assert_never


@dataclass(frozen=True)
class Var:
    """A size, an index variable or a kernel variable."""

    name: str


@dataclass(frozen=True)
class Floor:
    """`floor(numerator / denominator)` with a denominator of at least 2."""

    numerator: Affine
    denominator: int


@dataclass(frozen=True)
class Extremum:
    """`min(...)` or `max(...)` of at least two expressions, in a fixed order."""

    kind: str
    items: tuple[Affine, ...]


@dataclass(frozen=True)
class Product:
    """A product of at least two atoms, in a fixed order."""

    factors: tuple[Atom, ...]


Atom: TypeAlias = Var | Floor | Extremum | Product


@dataclass(frozen=True)
class Affine:
    """`sum(coefficient * atom) + constant`; build with `var`, `const` and the operators."""

    terms: tuple[tuple[Atom, int], ...] = ()
    constant: int = 0

    # -- queries ---------------------------------------------------------------------------

    @property
    def is_constant(self) -> bool:
        """True when no atom is left."""
        return not self.terms

    @property
    def value(self) -> int:
        """The value of a constant; an error otherwise."""
        if self.terms:
            raise ValueError(f"{self} is no constant")
        return self.constant

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names that occur, at any depth."""
        return frozenset().union(*(_atom_variables(a) for a, _ in self.terms))

    def coefficient(self, name: str) -> int:
        """The coefficient of a variable at the top level (0 when it does not occur there)."""
        return next((c for a, c in self.terms if a == Var(name)), 0)

    def without(self, names: Iterable[str]) -> Affine:
        """The sum without the top-level terms of these variables."""
        drop = {Var(n) for n in names}
        return Affine(tuple((a, c) for a, c in self.terms if a not in drop), self.constant)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The value under an assignment of all variables; KeyError when one is missing."""
        return self.constant + sum(c * _evaluate_atom(a, values) for a, c in self.terms)

    def bounds(self, ranges: Mapping[str, tuple[int | None, int | None]]) -> Interval:
        """An interval that contains every value, from intervals of the variables (None: open)."""
        low: int | None = self.constant
        high: int | None = self.constant
        for atom, coefficient in self.terms:
            a_low, a_high = _atom_bounds(atom, ranges)
            if coefficient < 0:
                a_low, a_high = a_high, a_low
            low = None if low is None or a_low is None else low + coefficient * a_low
            high = None if high is None or a_high is None else high + coefficient * a_high
        return low, high

    # -- construction ----------------------------------------------------------------------

    def __add__(self, other: Affine | int) -> Affine:
        other = lift(other)
        if not other.terms:
            return Affine(self.terms, self.constant + other.constant) if other.constant else self
        if not self.terms:
            return Affine(other.terms, self.constant + other.constant)
        sums = dict(self.terms)
        for atom, coefficient in other.terms:
            sums[atom] = sums.get(atom, 0) + coefficient
        return _make(sums, self.constant + other.constant)

    __radd__ = __add__

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + lift(other) * -1

    def __rsub__(self, other: Affine | int) -> Affine:
        return lift(other) - self

    def __mul__(self, other: Affine | int) -> Affine:
        other = lift(other)
        if other.is_constant:
            factor = other.constant
            terms = tuple((a, c * factor) for a, c in self.terms) if factor else ()
            return Affine(terms, self.constant * factor)
        if self.is_constant:
            return other * self
        total = lift(0)
        for a, c in (*self.terms, (None, self.constant)):
            for b, d in (*other.terms, (None, other.constant)):
                total = total + _multiply_atoms(a, b) * (c * d)
        return total

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Affine:
        """Floor division by a positive integer; multiples of it leave the floor."""
        if divisor <= 0:
            raise ValueError("divisor must be positive")
        if divisor == 1:
            return self
        whole = {a: c // divisor for a, c in self.terms if c % divisor == 0}
        rest = {a: c for a, c in self.terms if c % divisor}
        quotient, remainder = divmod(self.constant, divisor)
        outside = _make(whole, quotient)
        if not rest:
            return outside
        inner = _make(rest, remainder)
        atom = inner.terms[0][0]
        if len(inner.terms) == 1 and inner.terms[0][1] == 1 and isinstance(atom, Floor):
            # floor((floor(x/a) + r) / d) = floor((x + a r) / (a d))
            nested = atom.numerator + remainder * atom.denominator
            return outside + nested // (atom.denominator * divisor)
        return outside + Affine(((Floor(inner, divisor), 1),))

    def __mod__(self, divisor: int) -> Affine:
        return self - (self // divisor) * divisor

    def substitute(self, values: Mapping[str, Affine]) -> Affine:
        """Replace variables; names that are not mapped stay."""
        if not self.variables.intersection(values):
            return self
        total = lift(self.constant)
        for atom, coefficient in self.terms:
            total = total + _substitute_atom(atom, values) * coefficient
        return total

    # -- text ------------------------------------------------------------------------------

    def __str__(self) -> str:
        return self.text()

    def text(self, spell: Callable[[str], str] = str) -> str:
        """For people: `H - KH + 1`, `3 - N`, `(I_0 + 122) / 123`, `n % 8` for `n - 8 * (n / 8)`."""
        rest, found = remainders(self)
        parts = [(c < 0, _times(abs(c), _atom_text(a, spell), a)) for a, c in rest.terms]
        for floor, count in found:
            body = f"{_dividend_text(floor, spell)} % {floor.denominator}"
            parts.append((count < 0, _times(abs(count), body, floor)))
        parts.sort(key=lambda part: part[0])
        if rest.constant or not parts:
            leads = rest.constant > 0 and all(negative for negative, _ in parts)
            parts.insert(0 if leads else len(parts), (rest.constant < 0, str(abs(rest.constant))))
        negative, first = parts[0]
        divides = " / " in first or " % " in first
        text = (f"-({first})" if divides else f"-{first}") if negative else first
        return text + "".join(f" {'-' if n else '+'} {body}" for n, body in parts[1:])


Interval: TypeAlias = tuple[int | None, int | None]


def var(name: str) -> Affine:
    """The variable `name`."""
    return Affine(((Var(name), 1),))


def const(value: int) -> Affine:
    """An integer constant."""
    return Affine((), value)


def lift(value: Affine | int) -> Affine:
    """An integer as a constant; an expression as it is."""
    return value if isinstance(value, Affine) else Affine((), value)


def minimum(*items: Affine | int) -> Affine:
    """The smallest of the expressions; equal ones and known differences fold."""
    return _extremum("min", items)


def maximum(*items: Affine | int) -> Affine:
    """The largest of the expressions; equal ones and known differences fold."""
    return _extremum("max", items)


def ceil_div(numerator: Affine | int, divisor: int) -> Affine:
    """Ceiling division by a positive integer."""
    return (lift(numerator) + (divisor - 1)) // divisor


def _extremum(kind: str, items: Iterable[Affine | int]) -> Affine:
    pick = min if kind == "min" else max
    by_terms: dict[tuple[tuple[Atom, int], ...], int] = {}
    for item in _flatten(kind, items):
        old = by_terms.get(item.terms)
        by_terms[item.terms] = item.constant if old is None else pick(old, item.constant)
    flat = sorted((Affine(t, c) for t, c in by_terms.items()), key=_order)
    if len(flat) == 1:
        return flat[0]
    return Affine(((Extremum(kind, tuple(flat)), 1),))


def _flatten(kind: str, items: Iterable[Affine | int]) -> Iterable[Affine]:
    for raw in items:
        item = lift(raw)
        if len(item.terms) == 1 and item.terms[0][1] == 1:
            atom = item.terms[0][0]
            if isinstance(atom, Extremum) and atom.kind == kind:
                yield from (inner + item.constant for inner in atom.items)
                continue
        yield item


def _make(sums: Mapping[Atom, int], constant: int) -> Affine:
    kept = [(a, c) for a, c in sums.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda t: _atom_order(t[0]))
    return Affine(tuple(kept), constant)


def _multiply_atoms(a: Atom | None, b: Atom | None) -> Affine:
    if a is None:
        return lift(1) if b is None else Affine(((b, 1),))
    if b is None:
        return Affine(((a, 1),))
    factors = [*(a.factors if isinstance(a, Product) else (a,))]
    factors += b.factors if isinstance(b, Product) else (b,)
    return Affine(((Product(tuple(sorted(factors, key=_atom_order))), 1),))


def _atom_variables(atom: Atom) -> frozenset[str]:
    match atom:
        case Var(name):
            return frozenset((name,))
        case Floor(numerator, _):
            return numerator.variables
        case Extremum(_, items):
            return frozenset().union(*(i.variables for i in items))
        case Product(factors):
            return frozenset().union(*(_atom_variables(f) for f in factors))
        case _:
            assert_never(atom)


def _evaluate_atom(atom: Atom, values: Mapping[str, int]) -> int:
    match atom:
        case Var(name):
            return values[name]
        case Floor(numerator, denominator):
            return numerator.evaluate(values) // denominator
        case Extremum(kind, items):
            return (min if kind == "min" else max)(i.evaluate(values) for i in items)
        case Product(factors):
            return reduce(lambda p, f: p * _evaluate_atom(f, values), factors, 1)
        case _:
            assert_never(atom)


def _substitute_atom(atom: Atom, values: Mapping[str, Affine]) -> Affine:
    match atom:
        case Var(name):
            return values.get(name, Affine(((atom, 1),)))
        case Floor(numerator, denominator):
            return numerator.substitute(values) // denominator
        case Extremum(kind, items):
            return _extremum(kind, [i.substitute(values) for i in items])
        case Product(factors):
            return reduce(lambda p, f: p * _substitute_atom(f, values), factors, lift(1))
        case _:
            assert_never(atom)


def _atom_bounds(atom: Atom, ranges: Mapping[str, Interval]) -> Interval:
    match atom:
        case Var(name):
            return ranges.get(name, (None, None))
        case Floor(numerator, denominator):
            ends = numerator.bounds(ranges)
            low, high = (None if end is None else end // denominator for end in ends)
            return low, high
        case Extremum(kind, items):
            return _extremum_bounds(kind, [i.bounds(ranges) for i in items])
        case Product(factors):
            bounds = [_atom_bounds(f, ranges) for f in factors]
            return reduce(_multiply_bounds, bounds)
        case _:
            assert_never(atom)


def _extremum_bounds(kind: str, bounds: list[Interval]) -> Interval:
    lows = [b[0] for b in bounds if b[0] is not None]
    highs = [b[1] for b in bounds if b[1] is not None]
    if kind == "min":
        return min(lows) if len(lows) == len(bounds) else None, min(highs, default=None)
    return max(lows, default=None), max(highs) if len(highs) == len(bounds) else None


def _multiply_bounds(a: Interval, b: Interval) -> Interval:
    ends = (a[0], a[1], b[0], b[1])
    if None not in ends:
        corners = [x * y for x in a for y in b if x is not None and y is not None]
        return min(corners), max(corners)
    if a[0] is not None and b[0] is not None and a[0] >= 0 and b[0] >= 0:
        high = None if a[1] is None or b[1] is None else a[1] * b[1]
        return a[0] * b[0], high
    return None, None


def _atom_text(atom: Atom, spell: Callable[[str], str]) -> str:
    match atom:
        case Var(name):
            return spell(name)
        case Floor(_, denominator):
            return f"{_dividend_text(atom, spell)} / {denominator}"
        case Extremum(kind, items):
            return f"{kind}({', '.join(i.text(spell) for i in items)})"
        case Product(factors):
            return " * ".join(_factor_text(f, spell) for f in factors)
        case _:
            assert_never(atom)


def _dividend_text(floor: Floor, spell: Callable[[str], str]) -> str:
    terms, inner = floor.numerator.terms, floor.numerator.text(spell)
    simple = len(terms) == 1 and terms[0][1] == 1 and not floor.numerator.constant
    return inner if simple and not isinstance(terms[0][0], Floor) else f"({inner})"


def _times(count: int, text: str, atom: Atom) -> str:
    if count == 1:
        return text
    return f"{count} * ({text})" if isinstance(atom, Floor) else f"{count} * {text}"


def remainders(expression: Affine) -> tuple[Affine, list[tuple[Floor, int]]]:
    """The expression without its remainders `k * (n - d * (n / d))`, and those as (n / d, k)."""
    found: list[tuple[Floor, int]] = []
    for atom, coefficient in expression.terms:
        if not isinstance(atom, Floor) or coefficient % atom.denominator:
            continue
        count = -coefficient // atom.denominator
        rest = expression - (atom.numerator - Affine(((atom, atom.denominator),))) * count
        if len(rest.terms) == len(expression.terms) - 1 - len(atom.numerator.terms):
            found.append((atom, count))
            expression = rest
    return expression, found


def _factor_text(atom: Atom, spell: Callable[[str], str]) -> str:
    text = _atom_text(atom, spell)
    return f"({text})" if isinstance(atom, Floor) else text


def _atom_order(atom: Atom) -> tuple[int, str]:
    return (0, atom.name) if isinstance(atom, Var) else _compound_order(atom)


@lru_cache(maxsize=4096)
def _compound_order(atom: Atom) -> tuple[int, str]:
    return (Var, Floor, Extremum, Product).index(type(atom)), _atom_text(atom, str)


def _order(expression: Affine) -> tuple[bool, str]:
    return (expression.is_constant, expression.text())
