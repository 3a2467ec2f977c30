"""Where the accesses of a kernel go: the values of its variables in one block, and their ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import gcd, prod
from typing import TypeAlias

import numpy as np

from tcc.affine import Affine, const, var
from tcc.kernel import ir
from tcc.tune import expression_cost
from tcc.tune.footprint import Access, Gather, LoopRange, Range, Subscript
from tcc.tune.lanes import Lanes, evaluate, linear, spread, thread_axes

WIDEST_BYTES = 16
_SCATTER = 7919
"""A prime: makes subscripts that come from data as good as random."""
_FARTHEST = 1 << 31

_INTEGER = ("+", "-", "*", "/", "%", "min", "max")

Index: TypeAlias = tuple[Affine | ir.Expression, ...]


class Places:
    """The middle block of a kernel's grid, of those with the most to do, all threads at once.

    `values` has every variable in scope: an array over the lanes, or one number. `threads` tells
    which lanes are threads, `grid` has the extents of the block variables, x first.
    """

    def __init__(self, kernel: ir.Kernel, sizes: Mapping[str, int]) -> None:
        x, y, z, self.threads = thread_axes(kernel.block)
        extents = [max(1, g.evaluate(sizes)) for g in kernel.grid]
        blocks = {f"blockIdx.{a}": e for a, e in zip("xyz", extents, strict=True)}
        threads = {"threadIdx.x": x, "threadIdx.y": y, "threadIdx.z": z}
        self.values: dict[str, Lanes | int] = dict(sizes)
        self._ranges: dict[str, Range] = {n: (v, v) for n, v in sizes.items()}
        for name, component in kernel.aliases:
            if component in threads:
                self.values[name] = threads[component]
                self._ranges[name] = (0, kernel.block["xyz".index(component[-1])] - 1)
            else:
                busy = _busiest(kernel.body, name, blocks[component], sizes)
                self.values[name] = (busy - 1) // 2
        names = {component: name for name, component in kernel.aliases}
        self.grid = {names.get(c, c): extent for c, extent in blocks.items()}
        self._forms: dict[str, Affine] = {}
        self._aligned = frozenset(kernel.aligned)
        self._data: dict[str, frozenset[str]] = {}
        self._tables: dict[str, tuple[Index, Affine]] = {}
        self._picked: dict[str, frozenset[str]] = {}
        self._loops: list[LoopRange] = []

    def form(self, value: Affine) -> Affine:
        """The form with the values of `Let` variables put in."""
        return value.substitute(self._forms)

    @contextmanager
    def inside(self, loop: LoopRange) -> Iterator[None]:
        """Inside the loop; its middle iteration is looked at."""
        self._loops.append(loop)
        self.values[loop.var] = (loop.first + loop.last) // 2
        yield
        self._loops.pop()

    def define(self, var: str, value: Affine | ir.Expression) -> None:
        """Give a variable its value."""
        if isinstance(value, Affine):
            self.values[var] = evaluate(value, self.values)
            self._forms[var] = value.substitute(self._forms)
        else:
            self.values[var] = self._value(value)
            self._data[var] = self.variables((value,))

    def keep(self, buffer: ir.Buffer, index: Index, value: ir.Expression) -> None:
        """Remember an element of an integer array of the thread or the block.

        Loads of it are that form, or data that was picked by the variables of its address.
        """
        if buffer.space is ir.Space.PRIVATE and isinstance(value, ir.Int):
            self._tables[buffer.name] = index, value.value
        loads = expression_cost.loads(value)
        data = any(
            n.buffer.space is ir.Space.GLOBAL or n.buffer.name in self._picked for n in loads
        )
        if buffer.space is not ir.Space.GLOBAL and buffer.type.is_integer and data:
            by = self.variables((value,)) - self.variables(index)
            self._picked[buffer.name] = self._picked.get(buffer.name, frozenset()) | by

    def access(
        self, buffer: ir.Buffer, index: Index, width: int, sectors: float, is_store: bool
    ) -> Access:
        """An access of so many consecutive elements in global memory, with the loops around it."""
        shape = tuple(self._size(e) for e in buffer.shape)
        found = map(self._resolved, index)
        subscripts = tuple(self._subscript(i, e) for i, e in zip(found, shape, strict=True))
        return Access(
            buffer.name,
            subscripts,
            shape,
            buffer.type.bytes,
            width,
            tuple(self._loops),
            self._ranges,
            sectors,
            is_store,
        )

    def loads(
        self, buffer: ir.Buffer, index: Index, unrolled: Sequence[LoopRange]
    ) -> dict[int, int]:
        """How many loads of how many elements the unrolled iterations of a scalar load become.

        The compiler loads an element once, and neighbours as a vector where it knows that the
        address is aligned.
        """
        index = tuple(map(self._resolved, index))
        used = self.variables(index)
        loops = [x for x in unrolled if x.var in used]
        forms = [i.substitute(self._forms) for i in index if isinstance(i, Affine)]
        if len(forms) != len(index):
            return {1: round(prod(x.trips for x in loops))}
        form = const(0)
        for subscript, extent in zip(forms, buffer.shape, strict=True):
            form = form * extent + subscript
        offsets = np.unique(_offsets(form, loops))
        if buffer.space is ir.Space.GLOBAL and buffer.name not in self._aligned:
            return {1: len(offsets)}
        rest = form.without([x.var for x in loops])
        most = WIDEST_BYTES // buffer.type.bytes
        return _vectors(offsets + rest.constant, min(most, _alignment(rest, loops)))

    def addresses(self, buffer: ir.Buffer, index: Index) -> Lanes:
        """The offset in bytes that each lane accesses."""
        shape = [self._size(e) for e in buffer.shape]
        subscripts = [
            evaluate(i, self.values) if isinstance(i, Affine) else self._value(i) % max(1, extent)
            for i, extent in zip(map(self._resolved, index), shape, strict=True)
        ]
        return spread(linear(subscripts, shape), self.threads) * buffer.type.bytes

    def _resolved(self, index: Affine | ir.Expression) -> Affine | ir.Expression:
        """The subscript as a form, where it is one but for elements of kept arrays."""
        match index:
            case ir.Int(form):
                return form
            case ir.Load(buffer, at) if buffer.name in self._tables:
                return _element(*self._tables[buffer.name], at) or index
            case ir.Binary("+", left, right, _):
                forms = self._resolved(left), self._resolved(right)
                both = [f for f in forms if isinstance(f, Affine)]
                return both[0] + both[1] if len(both) == len(forms) else index
            case _:
                return index

    def _subscript(self, index: Affine | ir.Expression, extent: int) -> Subscript:
        if isinstance(index, Affine):
            form = index.substitute(self._forms)
            if form.variables <= self._known():
                return form
        return Gather(self.variables((index,)) & self._known(), extent)

    def _known(self) -> frozenset[str]:
        return frozenset((*self._ranges, *self.grid, *(x.var for x in self._loops)))

    def _value(self, expression: ir.Expression) -> Lanes | int:
        """The value of an integer expression; data counts as something far apart."""
        match expression:
            case ir.Const(value, _):
                return int(value)
            case ir.Int(form):
                return evaluate(form, self.values)
            case ir.Cast(operand, _) | ir.Checked(operand, _, _):
                return self._value(operand)
            case ir.Unary("-", operand, _):
                return -self._value(operand)
            case ir.Binary(operator, left, right, type) if type.is_integer and operator in _INTEGER:
                return _result(operator, self._value(left), self._value(right))
            case _:
                return self._scattered(expression)

    def _scattered(self, expression: ir.Expression) -> Lanes | int:
        """Values that stand for those of data: far apart wherever what they depend on differs."""
        total: Lanes | int = 0
        for name in sorted(self.variables((expression,))):
            total = (total + self.values.get(name, 0)) * _SCATTER % _FARTHEST
        return total

    def variables(self, index: Index) -> frozenset[str]:
        """The variables that subscripts depend on, through `Let`, loads and what was kept."""
        found = frozenset().union(*(f.variables for f in _forms(map(self._resolved, index))))
        through = (self._data.get(n) for n in found)
        forms = (self._forms[n].variables for n in found if n in self._forms)
        direct = (n for n in found if n not in self._data and n not in self._forms)
        items = [i for i in index if not isinstance(i, Affine)] if self._picked else []
        kept = (self._picked.get(n.buffer.name) for i in items for n in expression_cost.loads(i))
        every = (*forms, *(names for names in (*through, *kept) if names))
        return frozenset(direct).union(*every)

    def _size(self, extent: Affine) -> int:
        return extent.evaluate({n: v for n, v in self.values.items() if isinstance(v, int)})


def _busiest(body: Sequence[ir.Statement], name: str, extent: int, sizes: Mapping[str, int]) -> int:
    """How many blocks, the first ones, have the most iterations of loops from a block's number on.

    All where no such loop is among the outermost ones, or where it comes out even.
    """
    for statement in body:
        match statement:
            case ir.For(_, low, high, step, _, inner):
                if low != var(name):
                    return _busiest(inner, name, extent, sizes)
                if high.variables <= sizes.keys():
                    return high.evaluate(sizes) % step or extent
            case _:
                pass
    return extent


def _element(stored: Index, value: Affine, wanted: Index) -> Affine | None:
    """The form of an element, from that of one whose subscripts are variables."""
    values: dict[str, Affine] = {}
    for place, at in zip(stored, wanted, strict=True):
        names = place.variables if isinstance(place, Affine) else frozenset()
        if not isinstance(at, Affine) or len(names) != 1 or place != var(*names):
            return None
        values |= dict.fromkeys(names, at)
    return value.substitute(values)


def _forms(index: Iterable[Affine | ir.Expression]) -> Iterator[Affine]:
    """All affine forms in subscripts, at any depth."""
    for item in index:
        if isinstance(item, Affine):
            yield item
            continue
        for node in expression_cost.nodes(item):
            match node:
                case ir.Load(_, inner):
                    yield from (i for i in inner if isinstance(i, Affine))
                case ir.Int(value):
                    yield value
                case _:
                    pass


def _offsets(form: Affine, loops: Sequence[LoopRange]) -> Lanes:
    """The terms of the loops' variables in every iteration; other terms count as 0."""
    total = np.zeros(1, dtype=np.int64)
    for loop in loops:
        steps = np.arange(loop.first, loop.last + 1, dtype=np.int64)
        total = np.add.outer(total, steps * form.coefficient(loop.var)).ravel()
    return total


def _alignment(rest: Affine, loops: Sequence[LoopRange]) -> int:
    """Elements that every address without the loops' terms is a multiple of, its constant aside."""
    if rest.variables & {x.var for x in loops}:
        return 1  # in a quotient
    return gcd(*(c for _, c in rest.terms)) if rest.terms else WIDEST_BYTES


def _vectors(offsets: Lanes, widest: int) -> dict[int, int]:
    """Aligned vectors that cover these elements and no others, by width."""
    counts: dict[int, int] = {}
    left = set(offsets.tolist())
    for width in (w for w in (4, 2, 1) if widest % w == 0 and w <= widest):
        starts = [o for o in sorted(left) if o % width == 0]
        for start in starts:
            vector = range(start, start + width)
            if left.issuperset(vector):
                left.difference_update(vector)
                counts[width] = counts.get(width, 0) + 1
    return counts


def _result(operator: str, left: Lanes | int, right: Lanes | int) -> Lanes | int:
    """Integer arithmetic; division rounds down, and by 0 is by 1."""
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "min":
            return np.minimum(left, right)
        case "max":
            return np.maximum(left, right)
        case _:
            by = np.where(np.asarray(right) == 0, 1, right)
            return np.floor_divide(left, by) if operator == "/" else np.remainder(left, by)
