"""Random programs of what the optimizer works hardest on: contractions, gathers, rows.

Products of two operands (sometimes one or three) over one to three reduction indices, in any order
of the dimensions, along windows, of rows that data picks; sums with a start of their own; what is
done with the result, element by element; chains of sums along rows, like norms. Extents are 1,
near the tiles of random plans, multiples of 4 for vectors, or large enough for several k-tiles.
Statements of `random_tc` come between.
"""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import strategies as st

from tcc.scalar import ScalarType as T
from tests.random_tc import (
    INDEX_NAMES,
    Builder,
    Index,
    Interval,
    RandomTc,
    Tensor,
    Term,
    points_of,
)

KINDS = (T.FLOAT32,) * 5 + (T.FLOAT16, T.BFLOAT16, T.FLOAT64, T.INT32, T.INT8)
SUBSCRIPTS = (T.INT32, T.INT32, T.INT64, T.UINT8)
EXTENTS = (
    (1, 2, 3),
    (4, 5, 6, 7, 8, 9),
    (4, 8, 12, 16, 20),
    (8, 16, 24, 32),
    (32, 36, 48, 64),
    (15, 16, 17),
    (31, 33, 37, 50, 67),
)
MOST_POINTS = 40_000


@st.composite
def works(draw: st.DrawFn, max_statements: int = 2) -> RandomTc:
    """A def of one to `max_statements` pieces of hard work that is valid at its sizes."""
    return WorkBuilder(lambda low, high: draw(st.integers(low, high))).program(max_statements)


def numbered_work(seed: int, max_statements: int = 2) -> RandomTc:
    """The program of a seed."""
    return WorkBuilder(random.Random(seed).randint).program(max_statements)


class WorkBuilder(Builder):
    """Builds one program; its inputs are declared as statements need them."""

    def size(self) -> int:
        return self.choose(self.choose(EXTENTS))

    def program(self, max_statements: int) -> RandomTc:
        lines = [self.work()]
        for _ in range(self.number(0, max_statements - 1)):
            match self.pick("work", "epilogue", "epilogue", "any"):
                case "work":
                    lines += [self.work()]
                case "epilogue":
                    lines += [self.epilogue()]
                case _:
                    lines += [self.statement()]
        return self.finished(lines)

    def defined(self, name: str, value: Term, *, reduces: bool) -> str:
        """Ranges are written with sizes that inputs have, and with numbers where none has it."""
        self.indices, self.reductions = (
            tuple(self.bounded(i) for i in each) for each in (self.indices, self.reductions)
        )
        return super().defined(name, value, reduces=reduces)

    def bounded(self, index: Index) -> Index:
        has = any(index.high in t.sizes for t in self.inputs)
        return index if has else replace(index, high=str(index.box.high + 1))

    def work(self) -> str:
        return self.rows() if self.number(0, 3) == 0 else self.contraction()

    # -- contractions --------------------------------------------------------------------------

    def contraction(self) -> str:
        """A sum of products into a new tensor."""
        left = self.axes((), self.choose((0, 1, 2, 2, 2, 3)))
        reductions = self.axes(left, self.choose((1, 1, 1, 2, 2, 3)))
        self.open(left, reductions)
        value = self.product(left, reductions)
        return self.defined(f"T{len(self.written)}", value, reduces=True)

    def axes(self, outer: tuple[Index, ...], count: int) -> tuple[Index, ...]:
        """Index variables over whole sizes, as many as the points allow."""
        indices = list(outer)
        for _ in range(count):
            size = self.pick(*self.sizes, *(["4"] if self.number(0, 4) == 0 else []))
            if points_of(indices) * self.extent(size) > MOST_POINTS:
                size = str(self.number(1, 4))
            box = Interval(0, self.extent(size) - 1)
            indices.append(Index(INDEX_NAMES[len(indices)], box, "0", size))
        return tuple(indices[len(outer) :])

    def product(self, left: tuple[Index, ...], reductions: tuple[Index, ...]) -> Term:
        """Operands over parts of the indices, joined; every index moves one of them."""
        count = self.choose((1, 2, 2, 2, 2, 3))
        parts: list[list[Index]] = [[] for _ in range(count)]
        for index in left:
            for part in parts if self.number(0, 5) == 0 else [self.choose(parts)]:
                part.append(index)
        for index in reductions:
            one = self.number(0, count - 1)
            for at, part in enumerate(parts):
                if at == one or self.number(0, 5):
                    part.append(index)
        kind = self.choose(KINDS)
        value = self.operand(parts[0], kind)
        for part in parts[1:]:
            kind = kind if self.number(0, 2) else self.choose(KINDS)
            other = self.operand(part, kind)
            value = self.combine(self.pick("*", "*", "*", "*", "-", "min"), value, other)
        match self.pick("plain", "plain", "plain", "square", "relu", "wide"):
            case "square":
                value = self.combine("*", value, value)
            case "relu":
                value = self.combine("max", value, Term("0", T.INT32, Interval(0, 0)))
            case "wide" if value.type.is_half:
                value = self.cast(value, T.FLOAT32)
            case _:
                pass
        return value

    def operand(self, indices: list[Index], kind: T) -> Term:
        """An element of an input, or of an earlier result of that shape, that the indices choose."""
        indices = self.shuffled(indices)
        subscripts: list[tuple[str, str, frozenset[str]]] = []
        while indices:
            index = indices.pop()
            what = self.number(0, 19)
            if what < 2 and indices:
                subscripts.append(self.window(index, indices.pop()))
            elif what < 5:
                both = [index, *([indices.pop()] if indices and self.number(0, 1) else [])]
                subscripts.append(self.picked(both))
            else:
                self.used_plainly.setdefault(index.name, True)
                subscripts.append((index.name, index.high, frozenset((index.name,))))
        tensor = self.of_shape(tuple(size for _, size, _ in subscripts), kind)
        self.read.add(tensor.name)
        uses = frozenset[str]().union(*(u for _, _, u in subscripts))
        return self.element(tensor, [text for text, _, _ in subscripts], uses)

    def window(self, a: Index, b: Index) -> tuple[str, str, frozenset[str]]:
        """A subscript that two indices move, and the extent that it needs."""
        self.used_plainly[a.name] = self.used_plainly[b.name] = False
        step = self.choose((1, 1, 2))
        extent = str(step * a.box.high + b.box.high + 1)
        text = a.name if step == 1 else f"{step} * {a.name}"
        return f"{text} + {b.name}", extent, frozenset((a.name, b.name))

    def picked(self, indices: list[Index]) -> tuple[str, str, frozenset[str]]:
        """A subscript that is read from data, and the extent that holds all of its values."""
        rows = self.pick(*self.sizes)
        values = Interval(0, self.extent(rows) - 1)
        sizes = tuple(i.high for i in indices)
        for index in indices:
            self.used_plainly.setdefault(index.name, True)
        names = ", ".join(i.name for i in indices)
        uses = frozenset(i.name for i in indices)
        inner = self.new(self.choose(SUBSCRIPTS), sizes, values)
        text = f"{inner.name}({names})"
        if self.number(0, 5) == 0:  # data that picks data
            size = self.pick(*self.sizes)
            self.inputs[-1] = self.tensors[inner.name] = replace(
                inner, values=Interval(0, self.extent(size) - 1)
            )
            self.read.add(inner.name)
            text = f"{self.new(self.choose(SUBSCRIPTS), (size,), values).name}({text})"
        return text, rows, uses

    def of_shape(self, sizes: tuple[str, ...], kind: T) -> Tensor:
        """A tensor of these extents: one that exists, for every third, else a new input."""
        same = [t for t in self.tensors.values() if t.sizes == sizes and t.type is not T.BOOL]
        whole = [t for t in same if all(d.low == 0 for d in t.dims)]
        if whole and self.number(0, 2) == 0:
            return self.choose(whole)
        return self.new(kind, sizes, Interval(-1, 1) if kind.is_half else Interval(-3, 3))

    def new(self, kind: T, sizes: tuple[str, ...], values: Interval) -> Tensor:
        dims = tuple(Interval(0, self.extent(s) - 1) for s in sizes)
        return self.declare(Tensor(f"A{len(self.inputs)}", kind, dims, sizes, values))

    def shuffled(self, indices: list[Index]) -> list[Index]:
        """Any order, mostly that of the nest; the last is taken first."""
        left = list(reversed(indices))
        if self.number(0, 1):
            return left
        return [left.pop(self.number(0, len(left) - 1)) for _ in indices]

    # -- what is done with results -------------------------------------------------------------

    def epilogue(self) -> str:
        """A new tensor of the shape of an earlier one, element by element."""
        tensor = self.choose([t for n, t in self.written.items() if t.type is not T.BOOL])
        left = tuple(
            Index(n, d, str(d.low), s if d.low == 0 else str(d.high + 1))
            for n, d, s in zip(INDEX_NAMES, tensor.dims, tensor.sizes, strict=False)
        )
        self.open(left, ())
        value = self.itself(tensor, left)
        for _ in range(self.number(1, 2)):
            match self.pick("bias", "bias", "scale", "relu", "any"):
                case "relu":
                    value = self.combine("max", value, Term("0", T.INT32, Interval(0, 0)))
                case "any":
                    value = self.combine(self.pick("+", "min"), value, self.arithmetic(1))
                case what:
                    over = [i for i in left if i.low == "0" and self.number(0, 1)]
                    other = self.operand(over, self.choose((value.type, T.FLOAT32)))
                    value = self.combine("+" if what == "bias" else "*", value, other)
        return self.defined(f"T{len(self.written)}", value, reduces=False)

    def itself(self, tensor: Tensor, left: tuple[Index, ...]) -> Term:
        for index in left:
            self.used_plainly[index.name] = True
        self.read.add(tensor.name)
        names = [i.name for i in left]
        return self.element(tensor, names, frozenset(names))

    # -- chains along rows ---------------------------------------------------------------------

    def rows(self) -> str:
        """Sums along the rows of a tensor, and what they make of its elements, like a norm."""
        around = self.axes((), self.choose((0, 1, 1, 1, 2)))
        along = self.axes(around, self.choose((1, 1, 1, 2)))
        order = self.shuffled([*around, *along])
        tensor = self.of_shape(tuple(i.high for i in reversed(order)), self.choose(KINDS))
        names = [i.name for i in reversed(order)]
        lines = []
        sums: list[Tensor] = []
        for _ in range(self.number(1, 3)):
            self.open(around, along)
            value = self.centred(tensor, names, sums, around)
            lines.append(self.defined(f"T{len(self.written)}", value, reduces=True))
            sums.append(self.written[self.last])
        if self.number(0, 2):
            self.open(around + along, ())
            value = self.centred(tensor, names, sums, around)
            lines.append(self.defined(f"T{len(self.written)}", value, reduces=False))
        return "\n    ".join(lines)

    def centred(
        self, tensor: Tensor, names: list[str], sums: list[Tensor], around: tuple[Index, ...]
    ) -> Term:
        """An element of a row, with what earlier sums say of the row."""
        for name in names:
            self.used_plainly[name] = True
        self.read.add(tensor.name)
        value = self.element(tensor, names, frozenset(names))
        for each in sums:
            if self.number(0, 2):
                value = self.combine(self.pick("-", "+", "*"), value, self.itself(each, around))
        return self.combine("*", value, value) if self.number(0, 3) == 0 else value
