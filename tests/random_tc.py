"""Random programs that the compiler must accept, and data for them; also as hypothesis strategy.

All values stay small integers, also those of float type, so that every result is exact in any
order of evaluation and can be compared with `==`. To know that a program is valid, the generator
works with concrete sizes: it tracks the interval of every index and the range of every value.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

from tcc.frontend.promote import match
from tcc.run.numbers import storage_dtype
from tcc.scalar import ScalarType as T

V = TypeVar("V")
SIZE_NAMES = ("N", "M", "K", "P")
INDEX_NAMES = ("i", "j", "k", "l", "r", "s")
FLOAT_TYPES = (T.FLOAT32, T.FLOAT32, T.FLOAT32, T.FLOAT64, T.FLOAT16, T.BFLOAT16)
INT_TYPES = (T.INT32, T.INT8, T.UINT8, T.INT16, T.UINT32, T.INT64)
EXACT_BELOW = {T.FLOAT16: 2**11, T.BFLOAT16: 2**8, T.FLOAT32: 2**24, T.FLOAT64: 2**53}
MAX_POINTS = 3000
MAX_FACTORS = 8


@dataclass(frozen=True)
class Interval:
    """Integers from low to high, both included."""

    low: int
    high: int

    @property
    def count(self) -> int:
        return self.high - self.low + 1

    def contains(self, other: Interval) -> bool:
        return self.low <= other.low and other.high <= self.high


@dataclass(frozen=True)
class Tensor:
    """A tensor that can be read; `values` bounds its elements (None: infinities are possible)."""

    name: str
    type: T
    dims: tuple[Interval, ...]
    sizes: tuple[str, ...]
    values: Interval | None


@dataclass(frozen=True)
class Index:
    """An index variable: its interval over all points, and how its range is written."""

    name: str
    box: Interval
    low: str
    high: str
    outer: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Term:
    """An expression: text, type, bounds of its value, and the indices that it uses.

    A free one is made of float literals and integers only: it takes the float type beside it.
    """

    text: str
    type: T
    values: Interval
    uses: frozenset[str] = frozenset()
    free: bool = False


@dataclass(frozen=True)
class RandomTc:
    """A program, sizes, the inputs' data (in/out tensors included), and what a reader may need."""

    text: str
    sizes: dict[str, int]
    arrays: dict[str, np.ndarray] = field(compare=False)
    outputs: tuple[str, ...]

    def __repr__(self) -> str:
        data = "".join(f"{n} = {a.tolist()}\n" for n, a in self.arrays.items() if a.size <= 64)
        return f"\n{self.text}# sizes: {self.sizes}\n{data}"


@st.composite
def programs(draw: st.DrawFn, max_statements: int = 4) -> RandomTc:
    """A def of one to `max_statements` statements that is valid at its sizes."""
    return Builder(lambda low, high: draw(st.integers(low, high))).program(max_statements)


def numbered(seed: int, max_statements: int = 4) -> RandomTc:
    """The program of a seed; more varied than what hypothesis draws, but nothing shrinks it."""
    return Builder(random.Random(seed).randint).program(max_statements)


class Builder:
    """Builds one program from choices between integers; `number` makes one, ends included."""

    def __init__(self, number: Callable[[int, int], int]) -> None:
        self.number = number
        count = number(1, len(SIZE_NAMES))
        self.sizes = {name: self.size() for name in SIZE_NAMES[:count]}
        self.inputs: list[Tensor] = []
        self.tensors: dict[str, Tensor] = {}
        self.written: dict[str, Tensor] = {}
        self.inouts: dict[str, Tensor] = {}
        self.read: set[str] = set()
        self.last = ""
        self.indices: tuple[Index, ...] = ()
        self.reductions: tuple[Index, ...] = ()
        self.used_plainly: dict[str, bool] = {}
        self.gathers = 0

    def size(self) -> int:
        return self.number(1, 9) if self.number(0, 2) else self.number(31, 33)

    def choose(self, options: Sequence[V]) -> V:
        return options[self.number(0, len(options) - 1)]

    def pick(self, *options: str) -> str:
        return self.choose(options)

    # -- the def -------------------------------------------------------------------------------

    def program(self, max_statements: int) -> RandomTc:
        inputs = [self.input(name) for name in "ABC"[: self.number(1, 3)]]
        inputs += [self.lookup(name) for name in ("G", "H")[: self.number(0, 2)]]
        for tensor in inputs:
            self.declare(tensor)
        return self.finished([self.statement() for _ in range(self.number(1, max_statements))])

    def declare(self, tensor: Tensor) -> Tensor:
        """Make a tensor an input."""
        self.inputs.append(tensor)
        self.tensors[tensor.name] = tensor
        return tensor

    def finished(self, lines: Sequence[str]) -> RandomTc:
        """The program of these statements, with data."""
        unread = [n for n in self.written if n not in self.read or n == self.last]
        more = [
            n for n in self.written if n in self.read and (n in self.inouts or self.number(0, 1))
        ]
        outputs = tuple(n for n in self.written if n in unread or n in more)
        params = ", ".join(_declaration(t) for t in self.inputs)
        body = "".join(f"    {line}\n" for line in lines)
        text = f"def f({params}) -> ({', '.join(outputs)}) {{\n{body}}}\n"
        used = {
            name: n for name, n in self.sizes.items() if any(name in t.sizes for t in self.inputs)
        }
        arrays = {t.name: self.array(t) for t in [*self.inputs, *self.inouts.values()]}
        return RandomTc(text, used, arrays, outputs)

    def input(self, name: str) -> Tensor:
        kind = self.choose(FLOAT_TYPES + INT_TYPES + (T.BOOL,))
        rank = self.number(0, 4)
        values = Interval(0, 3) if kind.kind == "uint" else Interval(-3, 3)
        return self.shaped(name, kind, rank, Interval(0, 1) if kind is T.BOOL else values)

    def lookup(self, name: str) -> Tensor:
        """A tensor of subscripts."""
        kind = self.choose((T.INT32, T.UINT8, T.INT64))
        return self.shaped(name, kind, self.number(0, 2), Interval(0, self.number(0, 8)))

    def shaped(self, name: str, kind: T, rank: int, values: Interval) -> Tensor:
        sizes, points = [], 1
        for _ in range(rank):
            size = self.pick(*self.sizes, *(["3"] if self.number(0, 4) == 0 else []))
            if points * self.extent(size) <= MAX_POINTS:
                sizes.append(size)
                points *= self.extent(size)
        dims = tuple(Interval(0, self.extent(s) - 1) for s in sizes)
        return Tensor(name, kind, dims, tuple(sizes), values)

    def extent(self, size: str) -> int:
        return self.sizes.get(size) or int(size)

    def array(self, tensor: Tensor) -> np.ndarray:
        shape = tuple(d.count for d in tensor.dims)
        bounds = tensor.values or Interval(-3, 3)
        seed = self.number(0, 2**16)
        data = np.random.default_rng(seed).integers(bounds.low, bounds.high + 1, shape)
        return data.astype(storage_dtype(tensor.type))

    # -- statements ----------------------------------------------------------------------------

    def statement(self) -> str:
        rewritten = [n for n in self.written if self.written[n].type is not T.BOOL]
        if rewritten and self.number(0, 2) == 0:
            return self.update(self.written[self.pick(*rewritten)])
        return self.define(f"T{len(self.written)}")

    def define(self, name: str) -> str:
        left = self.left_indices(self.number(0, 3))
        reduces = self.number(0, 2) > 0
        self.open(left, self.reduction_indices(left) if reduces else ())
        value = self.with_reductions(self.expression(3))
        return self.defined(name, value, reduces=reduces)

    def defined(self, name: str, value: Term, *, reduces: bool) -> str:
        """A statement that writes a new tensor over the indices that are no reduction indices."""
        left = tuple(i for i in self.indices if i not in self.reductions)
        operator = self.operator(value.type) if reduces else "="
        inout = reduces and value.type is not T.BOOL and self.number(0, 4) == 0
        start = None
        if inout:
            start = Interval(0, 3) if value.type.kind == "uint" else Interval(-3, 3)
        value, values = self.reduced(value, operator, start)
        dims = tuple(i.box for i in left)
        tensor = Tensor(name, value.type, dims, tuple(map(_size, left)), values)
        line = self.line(tensor, operator + ("" if inout or operator == "=" else "!"), value)
        self.written[name] = self.tensors[name] = tensor
        self.last = name
        if inout:
            self.inouts[name] = replace(tensor, values=start)
        return line

    def update(self, tensor: Tensor) -> str:
        """A statement on a tensor that has values, over its shape or a part of it."""
        left = tuple(self.part(n, d) for n, d in zip(INDEX_NAMES, tensor.dims, strict=False))
        self.open(left, self.reduction_indices(left) if self.number(0, 1) else ())
        del self.tensors[tensor.name]
        value = self.with_reductions(self.expression(2))
        if not self.reductions and self.number(0, 1):
            names = [i.name for i in left]
            itself = self.element(tensor, names, frozenset(names))
            value = self.cast(value, tensor.type) if value.type is T.BOOL else value
            value = self.combine(self.pick("+", "-", "*"), itself, value)
        value = self.cast(value, tensor.type)
        operator = "="
        if self.reductions or self.number(0, 1):
            operator = self.operator(tensor.type)
        fresh = operator != "=" and (tensor.values is None or self.number(0, 2) == 0)
        value, values = self.reduced(value, operator, None if fresh else tensor.values)
        line = self.line(tensor, operator + ("!" if fresh else ""), value)
        joined = _join(tensor.values, values)
        self.written[tensor.name] = self.tensors[tensor.name] = replace(tensor, values=joined)
        self.last = tensor.name
        return line

    def open(self, left: tuple[Index, ...], reductions: tuple[Index, ...]) -> None:
        self.indices, self.reductions = left + reductions, reductions
        self.used_plainly = {}

    def left_indices(self, rank: int) -> tuple[Index, ...]:
        indices: list[Index] = []
        for _ in range(rank):
            name = INDEX_NAMES[len(indices)]
            index = self.size_index(name) if self.number(0, 3) else self.shifted_index(name)
            if points_of(indices) * index.box.count <= MAX_POINTS // 4:
                indices.append(index)
        return tuple(indices)

    def size_index(self, name: str) -> Index:
        used = sorted({s for t in self.tensors.values() for s in t.sizes if s in self.sizes})
        if not used:
            return self.shifted_index(name)
        size = self.pick(*used)
        return Index(name, Interval(0, self.sizes[size] - 1), "0", size)

    def shifted_index(self, name: str) -> Index:
        low, extent = self.number(-3, 4), self.number(1, 6)
        return Index(name, Interval(low, low + extent - 1), str(low), str(low + extent))

    def part(self, name: str, dim: Interval) -> Index:
        low = self.number(dim.low, dim.high) if self.number(0, 1) else dim.low
        high = self.number(low, dim.high) if self.number(0, 1) else dim.high
        return Index(name, Interval(low, high), str(low), str(high + 1))

    def reduction_indices(self, left: tuple[Index, ...]) -> tuple[Index, ...]:
        indices = list(left)
        for _ in range(self.number(1, 2)):
            name = INDEX_NAMES[len(indices)]
            index = self.reduction_index(name, indices)
            if points_of(indices) * index.box.count <= MAX_POINTS:
                indices.append(index)
        return tuple(indices[len(left) :])

    def reduction_index(self, name: str, outer: list[Index]) -> Index:
        if not outer or self.number(0, 3):
            return self.size_index(name) if self.number(0, 2) else self.shifted_index(name)
        other = self.choose(outer)
        needs = frozenset((other.name,))
        if self.number(0, 1):
            low = other.box.low - self.number(0, 2)
            box = Interval(low, max(other.box.high, low))
            return Index(name, box, str(low), f"{other.name} + 1", needs)
        high = other.box.high + self.number(0, 2)
        return Index(name, Interval(other.box.low, high), other.name, str(high + 1), needs)

    def operator(self, kind: T) -> str:
        if kind is T.BOOL:
            return self.pick("min=", "max=")
        small = points_of(self.reductions) <= MAX_FACTORS
        return self.pick("+=", "+=", "min=", "max=", *(["*="] if small else []))

    def reduced(
        self, value: Term, operator: str, start: Interval | None
    ) -> tuple[Term, Interval | None]:
        """The value, kept small enough for the operator, and bounds of the result."""
        points = points_of(self.reductions)
        if operator == "*=":
            value = self.clamp(value, 2)
            high = (
                2**MAX_FACTORS * max(abs(start.low), abs(start.high), 1)
                if start
                else 2**MAX_FACTORS
            )
            return value, self.fit(value.type, Interval(-high, high))
        if operator == "+=":
            if value.type in EXACT_BELOW:
                value = self.clamp(value, max(EXACT_BELOW[value.type] // (2 * points) - 4, 1))
            reach = points * max(abs(value.values.low), abs(value.values.high))
            base = start or Interval(0, 0)
            return value, self.fit(value.type, Interval(base.low - reach, base.high + reach))
        if operator == "=":
            return value, value.values
        triangular = any(i.outer for i in self.indices)
        if triangular and value.type is not T.BOOL:  # perhaps nothing but the identity
            return value, None
        return value, _join(start, value.values) if start else value.values

    def line(self, tensor: Tensor, operator: str, value: Term) -> str:
        names = ", ".join(i.name for i in self.indices if i not in self.reductions)
        target = f"{tensor.name}({names})" if names else tensor.name
        explicit = [i for i in self.indices if not self.inferable(i)]
        ranges = ", ".join(f"{i.name} in {i.low}:{i.high}" for i in explicit)
        return f"{target} {operator} {value.text}" + (f" where {ranges}" if ranges else "")

    def inferable(self, index: Index) -> bool:
        """Whether the reads bound the index by exactly its range, and we leave the range out."""
        plain = self.used_plainly.get(index.name, False)
        return (
            plain
            and not index.outer
            and index.name not in self.bounding()
            and self.number(0, 3) > 0
        )

    def bounding(self) -> frozenset[str]:
        return frozenset().union(*(i.outer for i in self.indices))

    # -- expressions ---------------------------------------------------------------------------

    def with_reductions(self, value: Term) -> Term:
        """The value, with the reduction indices added that it does not use."""
        for index in self.reductions:
            if index.name in value.uses:
                continue
            uses = frozenset((index.name,))
            if value.type is T.BOOL:
                test = f"({index.name} > {self.number(-1, 2)})"
                side = Term(test, T.BOOL, Interval(0, 1), uses)
                value = self.combine(self.pick("&&", "||"), value, side)
            else:
                value = self.combine("+", value, Term(index.name, T.INT32, index.box, uses))
        return value

    def expression(self, depth: int) -> Term:
        """A value of any type."""
        return self.condition(depth) if self.number(0, 9) == 0 else self.arithmetic(depth)

    def arithmetic(self, depth: int) -> Term:
        if depth == 0 or self.number(0, 3) == 0:
            return self.leaf()
        match self.pick("binary", "binary", "binary", "select", "call", "cast", "divide", "negate"):
            case "binary":
                operator = self.pick("+", "-", "*", "min", "max")
                return self.combine(
                    operator, self.arithmetic(depth - 1), self.arithmetic(depth - 1)
                )
            case "select":
                test = self.condition(depth - 1)
                return self.select(test, self.arithmetic(depth - 1), self.arithmetic(depth - 1))
            case "call":
                return self.call(self.arithmetic(depth - 1))
            case "cast":
                kind = self.choose((T.FLOAT32, T.INT32, T.FLOAT64, T.INT8))
                return self.cast(self.arithmetic(depth - 1), kind)
            case "divide":
                return self.divide(self.arithmetic(depth - 1))
            case _:
                inner = self.arithmetic(depth - 1)
                swapped = Interval(-inner.values.high, -inner.values.low)
                return replace(inner, text=f"(-{inner.text})", values=self.fit(inner.type, swapped))

    def leaf(self) -> Term:
        tensors = [t for t in self.tensors.values() if t.type is not T.BOOL]
        what = self.number(0, 9)
        if tensors and what > 3:
            return self.tensor(self.choose(tensors))
        if what > 1 and self.indices:
            index = self.choose(self.indices)
            self.used_plainly.setdefault(index.name, False)
            return Term(index.name, T.INT32, index.box, frozenset((index.name,)))
        number = self.number(0, 3)
        if self.number(0, 1):
            return Term(f"{number}.0", T.FLOAT32, Interval(number, number), free=True)
        return Term(str(number), T.INT32, Interval(number, number))

    def condition(self, depth: int) -> Term:
        flags = [t for t in self.tensors.values() if t.type is T.BOOL]
        if flags and self.number(0, 2) == 0:
            return self.tensor(self.choose(flags))
        if depth > 0 and self.number(0, 3) == 0:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            return self.combine(self.pick("&&", "||"), left, right)
        if depth > 0 and self.number(0, 5) == 0:
            inner = self.condition(depth - 1)
            return replace(inner, text=f"(!{inner.text})")
        operator = self.pick("<", "<=", ">", ">=", "==", "!=")
        return self.combine(operator, self.arithmetic(max(depth - 1, 0)), self.leaf())

    def combine(self, operator: str, left: Term, right: Term) -> Term:
        text = f"({left.text} {operator} {right.text})"
        uses = left.uses | right.uses
        kind, free = meet(left, right)
        if operator in ("&&", "||", "<", "<=", ">", ">=", "==", "!="):
            return Term(text, T.BOOL, Interval(0, 1), uses)
        a, b = self.fit(kind, left.values), self.fit(kind, right.values)
        if operator in ("min", "max"):
            pick = min if operator == "min" else max
            both = Interval(pick(a.low, b.low), pick(a.high, b.high))
            return Term(f"{operator}({left.text}, {right.text})", kind, both, uses, free)
        ends = [_apply(operator, x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        values = Interval(min(ends), max(ends))
        return self.exact(Term(text, kind, values, uses, free), left, right)

    def exact(self, term: Term, *operands: Term) -> Term:
        """The term; with a clamped operand where a float could leave the exact integers."""
        limit = EXACT_BELOW.get(term.type)
        if limit is None or max(abs(term.values.low), abs(term.values.high)) < limit:
            return replace(term, values=self.fit(term.type, term.values))
        return self.combine("+", *(self.clamp(o, 3) for o in operands))

    def clamp(self, term: Term, limit: int) -> Term:
        if Interval(-limit, limit).contains(term.values) or term.type is T.BOOL:
            return term
        values = Interval(
            max(-limit, min(term.values.low, limit)), min(limit, max(term.values.high, -limit))
        )
        if term.type.kind == "uint":
            return replace(
                term, text=f"min({term.text}, {_in(term.type, limit)})", values=Interval(0, limit)
            )
        low, high = _in(term.type, -limit), _in(term.type, limit)
        return replace(term, text=f"min(max({term.text}, {low}), {high})", values=values)

    def select(self, test: Term, then: Term, otherwise: Term) -> Term:
        kind, free = meet(then, otherwise)
        a, b = self.fit(kind, then.values), self.fit(kind, otherwise.values)
        text = f"({test.text} ? {then.text} : {otherwise.text})"
        uses = test.uses | then.uses | otherwise.uses
        return Term(text, kind, Interval(min(a.low, b.low), max(a.high, b.high)), uses, free)

    def call(self, inner: Term) -> Term:
        name = self.pick("abs", "fabs", "relu", "floor", "trunc", "fmax")
        kind = T.FLOAT64 if inner.type is T.FLOAT64 else T.FLOAT32
        inner = self.cast(inner, kind) if inner.free or inner.type is not kind else inner
        big = max(abs(inner.values.low), abs(inner.values.high), 1)
        text = f"{name}({inner.text}, 1)" if name == "fmax" else f"{name}({inner.text})"
        return Term(text, kind, Interval(-big, big), inner.uses)

    def divide(self, inner: Term) -> Term:
        """Integer division or modulus by a constant."""
        if not inner.type.is_integer:
            return inner
        by, operator = self.number(2, 5), self.pick("/", "%")
        kind = match(inner.type, T.INT32) or T.INT32
        a = self.fit(kind, inner.values)
        values = Interval(a.low // by, a.high // by) if operator == "/" else Interval(0, by - 1)
        return Term(f"({inner.text} {operator} {by})", kind, values, inner.uses)

    def cast(self, inner: Term, kind: T) -> Term:
        if inner.type is kind and not inner.free:
            return inner
        if kind in EXACT_BELOW:
            inner = self.clamp(inner, EXACT_BELOW[kind] - 1)
        elif inner.type in EXACT_BELOW and kind is not T.BOOL:  # out of range is undefined
            inner = self.clamp(inner, 100)
            if kind.kind == "uint":
                low = _in(inner.type, 0)
                values = Interval(max(inner.values.low, 0), max(inner.values.high, 0))
                inner = replace(inner, text=f"max({inner.text}, {low})", values=values)
        values = Interval(0, 1) if kind is T.BOOL else self.fit(kind, inner.values)
        return Term(f"{kind.value}({inner.text})", kind, values, inner.uses)

    def fit(self, kind: T, values: Interval) -> Interval:
        """Bounds after conversion to a type: all of its values where the integers may wrap."""
        if not kind.is_integer:
            return values
        whole = Interval(*kind.integer_range)
        return values if whole.contains(values) else whole

    # -- reads ---------------------------------------------------------------------------------

    def tensor(self, tensor: Tensor) -> Term:
        subscripts, guards, uses = [], [], frozenset[str]()
        for position, dim in enumerate(tensor.dims):
            text, names, guard = self.subscript(tensor, position, dim)
            subscripts.append(text)
            guards += [guard] if guard else []
            uses |= names
        self.read.add(tensor.name)
        term = self.element(tensor, subscripts, uses)
        if not guards:
            return term
        zero = {T.BOOL: "0 == 1"}.get(tensor.type, _in(tensor.type, 0))
        values = Interval(min(term.values.low, 0), max(term.values.high, 0))
        return replace(term, text=f"({' && '.join(guards)} ? {term.text} : {zero})", values=values)

    def element(self, tensor: Tensor, subscripts: Sequence[str], uses: frozenset[str]) -> Term:
        text = f"{tensor.name}({', '.join(subscripts)})" if subscripts else tensor.name
        if tensor.values is not None:
            return Term(text, tensor.type, tensor.values, uses)
        whole = Interval(-(2**60), 2**60)
        if tensor.type.is_integer:
            whole = Interval(*tensor.type.integer_range)
        return self.clamp(Term(text, tensor.type, whole, uses), 3)

    def subscript(
        self, tensor: Tensor, position: int, dim: Interval
    ) -> tuple[str, frozenset[str], str | None]:
        """Text, indices, and the guard that it needs, if any."""
        plain = [i for i in self.indices if i.box == dim]
        if plain and self.number(0, 4):
            index = self.choose(plain)
            self.used_plainly.setdefault(index.name, True)
            return index.name, frozenset((index.name,)), None
        if self.number(0, 3) == 0 and (gather := self.gather(dim)):
            return gather
        if not self.indices:
            return str(self.number(dim.low, dim.high)), frozenset(), None
        return self.affine(tensor, position, dim)

    def gather(self, dim: Interval) -> tuple[str, frozenset[str], None] | None:
        ready = [t for t in self.tensors.values() if t.name in "GH" and t.values is not None]
        fits = [t for t in ready if dim.contains(_shift(t.values, dim.low)) and self.gathers < 3]
        if not fits:
            return None
        self.gathers += 1
        inner = self.tensor(self.choose(fits))
        self.gathers -= 1
        shift = f" + {dim.low}" if dim.low > 0 else f" - {-dim.low}" if dim.low else ""
        return inner.text + shift, inner.uses, None

    def affine(
        self, tensor: Tensor, position: int, dim: Interval
    ) -> tuple[str, frozenset[str], str | None]:
        chosen = [self.choose(self.indices)]
        others = [i for i in self.indices if i not in chosen]
        if others and self.number(0, 1):
            chosen.append(self.choose(others))
        low = high = 0
        parts = []
        for index in chosen:
            self.used_plainly[index.name] = False
            factor = self.choose((1, 1, 1, 2, 3, -1))
            ends = (factor * index.box.low, factor * index.box.high)
            low, high = low + min(ends), high + max(ends)
            parts.append(index.name if factor == 1 else f"{factor} * {index.name}")
        text, names = " + ".join(parts), frozenset(i.name for i in chosen)
        width = high - low
        if width < dim.count:  # a shift makes it fit
            low_shift, high_shift = dim.low - low, dim.high - high
            return _plus(text, self.number(low_shift, high_shift)), names, None
        if self.number(0, 1):
            return _plus(f"({text}) % {dim.count}", dim.low), names, None
        if width // 4 < dim.count and self.number(0, 1):
            return (
                _plus(f"({text}) / 4", dim.low - low // 4),
                names,
                self.guard(tensor, position, _plus(f"({text}) / 4", dim.low - low // 4), dim),
            )
        shifted = _plus(text, self.number(-3, 3))
        return shifted, names, self.guard(tensor, position, shifted, dim)

    def guard(self, tensor: Tensor, position: int, subscript: str, dim: Interval) -> str:
        high = str(dim.high + 1)
        if dim.low == 0 and self.number(0, 1):
            high = f"{tensor.name}.{position}"
        return f"{subscript} >= {dim.low} && {subscript} < {high}"


def meet(left: Term, right: Term) -> tuple[T, bool]:
    """The type of two operands, and whether it is still free."""
    if left.free and right.type.is_float:
        return right.type, right.free
    if right.free and left.type.is_float:
        return left.type, False
    kind = match(left.type, right.type)
    assert kind is not None
    return kind, left.free or right.free


def _declaration(tensor: Tensor) -> str:
    dims = f"({', '.join(tensor.sizes)})" if tensor.sizes else ""
    return f"{tensor.type.value}{dims} {tensor.name}"


def _size(index: Index) -> str:
    return index.high if index.low == "0" else str(index.box.count)


def points_of(indices: Sequence[Index]) -> int:
    return int(np.prod([i.box.count for i in indices], dtype=np.int64))


def _apply(operator: str, a: int, b: int) -> int:
    return {"+": a + b, "-": a - b, "*": a * b}[operator]


def _join(a: Interval | None, b: Interval | None) -> Interval | None:
    return Interval(min(a.low, b.low), max(a.high, b.high)) if a and b else None


def _shift(values: Interval, by: int) -> Interval:
    return Interval(values.low + by, values.high + by)


def _plus(text: str, shift: int) -> str:
    return text if shift == 0 else f"{text} {'+' if shift > 0 else '-'} {abs(shift)}"


def _in(kind: T, value: int) -> str:
    """A constant that does not change the type of what it is combined with."""
    text = f"{kind.value}({abs(value)})"
    return f"(-{text})" if value < 0 else text
