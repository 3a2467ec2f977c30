"""The oracle: a slow, obvious NumPy interpreter of the typed IR, the meaning of the language.

Each statement is evaluated over its whole index box at once, in blocks of bounded size. Laziness
(`?:`, `&&`, `||`) and triangular ranges are a mask of the points at which a value is wanted:
a subscript is checked and an element read only there. Reductions fold in loop order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, TypeAlias, assert_never

import numpy as np

from tcc.affine import Affine, Atom, Extremum, Floor, Product, Var
from tcc.frontend import tir
from tcc.run import functions
from tcc.run.numbers import Numbers
from tcc.scalar import ScalarType

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Box: TypeAlias = tuple[tuple[int, int], ...]  # half-open intervals, one for each index variable

BLOCK_POINTS = 1 << 21

_BINARY = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "%": np.remainder,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


class OracleError(Exception):
    """The program has no meaning on this data: a read outside a tensor, a division by zero."""


@dataclass(frozen=True)
class _Stored:
    """The values of a tensor in storage order, and which of them have been written."""

    values: Array
    written: Array
    origin: tuple[int, ...]


_Memory: TypeAlias = dict[str, _Stored]


def interpret(
    program: tir.Program,
    arrays: Mapping[str, Array],
    sizes: Mapping[str, int],
    precision: Literal["native", "exact"] = "native",
    block_points: int = BLOCK_POINTS,
    noise: Callable[[Array], Array] | None = None,
) -> dict[str, Array]:
    """Run a program on the arrays of its inputs and in/out tensors; return all its outputs.

    `sizes` binds every size of the program. `native` computes in the types of the language,
    `exact` computes and returns all floats in float64. Arrays are not changed. `noise` is
    applied to the result of every float operation and to every term of a reduction.
    Raises OracleError for data that do not fit, and where the program has no meaning.
    """
    numbers = Numbers(precision == "exact", noise)
    missing = [s for s in program.sizes if s not in sizes]
    if missing:
        raise OracleError(f"no value for size `{missing[0]}`")
    memory = {n: _create(t, arrays, sizes, numbers) for n, t in program.tensors.items()}
    with np.errstate(all="ignore"):
        for statement in program.statements:
            memory[statement.target] = _execute(
                statement, program, memory, sizes, numbers, block_points
            )
    for name in program.outputs:
        if not memory[name].written.all():
            raise OracleError(f"output `{name}` is not written everywhere")
    return {n: numbers.store(memory[n].values, program.tensors[n].type) for n in program.outputs}


def _create(
    tensor: tir.Tensor, arrays: Mapping[str, Array], sizes: Mapping[str, int], numbers: Numbers
) -> _Stored:
    shape = tuple(e.evaluate(sizes) for e in tensor.shape)
    origin = tuple(o.evaluate(sizes) for o in tensor.origin)
    if tensor.role not in (tir.Role.INPUT, tir.Role.INOUT):
        empty = np.zeros(shape, dtype=numbers.dtype(tensor.type))
        return _Stored(empty, np.zeros(shape, dtype=np.bool_), origin)
    if tensor.name not in arrays:
        raise OracleError(f"no array for `{tensor.name}`")
    array = np.asarray(arrays[tensor.name])
    if array.shape != shape:
        raise OracleError(f"`{tensor.name}` has shape {array.shape}, expected {shape}")
    return _Stored(numbers.convert(array, tensor.type), np.ones(shape, dtype=np.bool_), origin)


def _execute(
    statement: tir.Statement,
    program: tir.Program,
    memory: _Memory,
    sizes: Mapping[str, int],
    numbers: Numbers,
    block_points: int,
) -> _Stored:
    """The target after a statement; the statement reads only what was there before it."""
    old = memory[statement.target]
    values, written = old.values.copy(), old.written.copy()
    element_type = program.tensors[statement.target].type
    kind = element_type.compute
    rank = len(statement.indices)
    box = index_box(statement, sizes)
    target = _region(statement, old, box[:rank])
    if statement.operator != "=":
        if statement.initialise:
            values[target] = _identity(statement.operator, kind, numbers)
        elif not written[target].all():
            raise OracleError(f"`{statement.text}` updates elements that hold no value")
    total = values.copy()  # the accumulators are not rounded between the blocks
    for part in _blocks(box, block_points):
        point = _Point(statement, part, memory, sizes, numbers)
        value = np.broadcast_to(point.value(statement.value, point.inside), point.shape)
        value = numbers.disturbed(value)
        at = _region(statement, old, part[:rank])
        if statement.operator == "=":
            total[at] = value
        else:
            total[at] = _fold(statement.operator, total[at], value, point.inside, kind, numbers)
    values[target] = numbers.convert(total[target], element_type)
    written[target] = True
    return _Stored(values, written, old.origin)


def index_box(statement: tir.Statement, sizes: Mapping[str, int]) -> Box:
    """The smallest box around the ranges, indices before reduction indices."""
    known: dict[str, tuple[int | None, int | None]] = {n: (v, v) for n, v in sizes.items()}
    box: list[tuple[int, int]] = []
    for name in statement.indices + statement.reductions:
        index = statement.ranges[name]
        low, high = index.low.bounds(known)[0], index.high.bounds(known)[1]
        if low is None or high is None:
            raise OracleError(f"`{name}` of `{statement.text}` has no bounds")
        box.append((low, max(low, high)))
        known[name] = (low, max(low, high - 1))
    return tuple(box)


def _region(statement: tir.Statement, target: _Stored, box: Box) -> tuple[slice, ...]:
    region = tuple(slice(lo - o, hi - o) for (lo, hi), o in zip(box, target.origin, strict=True))
    for part, extent in zip(region, target.values.shape, strict=True):
        if part.start < 0 or part.stop > extent:
            raise OracleError(f"`{statement.text}` writes outside `{statement.target}`")
    return region


def _blocks(box: Box, limit: int) -> Iterator[Box]:
    """The box in pieces of at most `limit` points, in lexicographic order of their points."""
    points = reduce(lambda n, side: n * (side[1] - side[0]), box, 1)
    if points == 0:
        return
    if points <= max(limit, 1):
        yield box
        return
    d = next(d for d, (lo, hi) in enumerate(box) if hi - lo > 1)
    low, high = box[d]
    middle = (low + high) // 2
    for half in ((low, middle), (middle, high)):
        yield from _blocks((*box[:d], half, *box[d + 1 :]), limit)


def _identity(operator: str, kind: ScalarType, numbers: Numbers) -> Array:
    low: float = -np.inf
    high: float = np.inf
    if not kind.is_float:
        low, high = kind.integer_range
    value = {"+": 0, "*": 1, "min": high, "max": low}[operator]
    return np.asarray(value, dtype=numbers.dtype(kind))


def _fold(
    operator: str,
    start: Array,
    value: Array,
    inside: Array | None,
    kind: ScalarType,
    numbers: Numbers,
) -> Array:
    """`start` combined with the values one after the other, in the order of the reduction loops."""
    neutral = _identity(operator, kind, numbers)
    if operator == "+" and kind.is_float:
        neutral = np.negative(
            neutral
        )  # adding -0.0 changes nothing, adding 0.0 turns -0.0 into 0.0
    if operator in ("min", "max") and kind.is_float:
        neutral = np.asarray(np.nan, neutral.dtype)  # is dropped; an infinity wins over a NaN
    if inside is not None:
        value = np.where(inside, value, neutral)
    points = value.reshape(*start.shape, -1)
    steps = np.concatenate([start[..., None], points], axis=-1)
    combine = _combine(operator, kind)
    return np.asarray(combine.accumulate(steps, axis=-1, dtype=steps.dtype)[..., -1])


def _combine(operator: str, kind: ScalarType) -> np.ufunc:
    """`min` and `max` of floats drop a NaN, as in CUDA."""
    match operator:
        case "+":
            return np.add
        case "*":
            return np.multiply
        case "min":
            return np.fmin if kind.is_float else np.minimum
        case "max":
            return np.fmax if kind.is_float else np.maximum
        case _:
            raise ValueError(operator)


class _Point:
    """The evaluation of expressions at all points of one box; axis k belongs to index k."""

    def __init__(
        self,
        statement: tir.Statement,
        box: Box,
        memory: _Memory,
        sizes: Mapping[str, int],
        numbers: Numbers,
    ) -> None:
        self.statement, self.memory, self.sizes, self.numbers = statement, memory, sizes, numbers
        self.names = statement.indices + statement.reductions
        self.shape = tuple(hi - lo for lo, hi in box)
        self.axes = {
            name: np.arange(lo, hi).reshape([-1 if d == k else 1 for d in range(len(box))])
            for k, (name, (lo, hi)) in enumerate(zip(self.names, box, strict=True))
        }
        self.inside = self._inside()

    def _inside(self) -> Array | None:
        """Where the reduction indices are in their ranges; None: everywhere."""
        mask: Array | None = None
        for name in self.statement.reductions:
            index = self.statement.ranges[name]
            if index.low.variables.union(index.high.variables).isdisjoint(self.names):
                continue
            above = self.axes[name] >= self.affine(index.low)
            mask = _both(mask, above & (self.axes[name] < self.affine(index.high)))
        return mask

    def affine(self, expression: Affine) -> Array:
        """The values of an affine expression, int64."""
        total = np.asarray(expression.constant, dtype=np.int64)
        for atom, coefficient in expression.terms:
            total = total + coefficient * self._atom(atom)
        return total

    def _atom(self, atom: Atom) -> Array:
        match atom:
            case Var(name):
                return self.axes[name] if name in self.axes else np.asarray(self.sizes[name])
            case Floor(numerator, denominator):
                return self.affine(numerator) // denominator
            case Extremum(kind, items):
                pick = np.minimum if kind == "min" else np.maximum
                return reduce(pick, map(self.affine, items))
            case Product(factors):
                return reduce(np.multiply, map(self._atom, factors))
            case _:
                assert_never(atom)

    def value(self, expression: tir.Expression, wanted: Array | None) -> Array:
        """The values of an expression; meaningless at points that are not `wanted`."""
        match expression:
            case tir.Literal(value, kind):
                return self.numbers.literal(value, kind)
            case tir.Index(name):
                return self.axes[name].astype(np.int32)
            case tir.Size(value):
                return self.affine(value).astype(np.int32)
            case tir.Read():
                return self._read(expression, wanted)
            case tir.Unary(operator, operand, _):
                inner = self.value(operand, wanted)
                return np.logical_not(inner) if operator == "!" else np.negative(inner)
            case tir.Binary():
                return self._binary(expression, wanted)
            case tir.Select(condition, then, otherwise, _):
                chosen = self.value(condition, wanted)
                first = self.value(then, _both(wanted, chosen))
                return np.where(chosen, first, self.value(otherwise, _both(wanted, ~chosen)))
            case tir.Call(function, arguments, kind):
                values = [self.value(a, wanted) for a in arguments]
                result = functions.call(function, values, self.numbers.dtype(kind))
                return self.numbers.disturbed(result)
            case tir.Cast(operand, kind):
                return self.numbers.convert(self.value(operand, wanted), kind)
            case _:
                assert_never(expression)

    def _binary(self, node: tir.Binary, wanted: Array | None) -> Array:
        left = self.value(node.left, wanted)
        if node.operator == "&&":
            return left & self.value(node.right, _both(wanted, left))
        if node.operator == "||":
            return left | self.value(node.right, _both(wanted, ~left))
        right = self.value(node.right, wanted)
        kind = node.left.type
        if node.operator in ("min", "max"):
            return np.asarray(_combine(node.operator, kind)(left, right))
        if node.operator == "/" and kind.is_float:
            return self.numbers.disturbed(np.asarray(left / right))
        if node.operator in ("/", "%"):
            return self._divide(node.operator, left, right, wanted)
        return self.numbers.disturbed(np.asarray(_BINARY[node.operator](left, right)))

    def _divide(self, operator: str, left: Array, right: Array, wanted: Array | None) -> Array:
        """Integer division and modulus, rounded down."""
        zero = _both(wanted, right == 0)
        if zero.any():
            raise OracleError(f"division by zero in {self._place(zero)}")
        return np.asarray(left // right if operator == "/" else left % right)

    def _read(self, read: tir.Read, wanted: Array | None) -> Array:
        stored = self.memory[read.tensor]
        subscripts = [self.value(s, wanted).astype(np.int64) for s in read.subscripts]
        places: list[Array] = []
        for s, extent, origin in zip(subscripts, stored.values.shape, stored.origin, strict=True):
            outside = _both(wanted, (s < origin) | (s >= origin + extent))
            if outside.any():
                raise OracleError(
                    f"`{read.tensor}` has no element {self._element(outside, subscripts)}, "
                    f"read in {self._place(outside)}"
                )
            places.append(np.clip(s - origin, 0, max(extent - 1, 0)))
        unwritten = _both(wanted, ~np.asarray(stored.written[tuple(places)]))
        if unwritten.any():
            element = self._element(unwritten, subscripts)
            raise OracleError(
                f"`{read.tensor}` has no value at {element}, read in {self._place(unwritten)}"
            )
        return np.asarray(stored.values[tuple(places)])

    def _first(self, mask: Array) -> tuple[int, ...]:
        full = np.broadcast_to(mask, self.shape)
        return tuple(int(k) for k in np.argwhere(full)[0])

    def _element(self, mask: Array, subscripts: list[Array]) -> tuple[int, ...]:
        first = self._first(mask)
        return tuple(int(np.broadcast_to(s, self.shape)[first]) for s in subscripts)

    def _place(self, mask: Array) -> str:
        first = self._first(mask)
        at = [f"{n} = {self.axes[n].flat[k]}" for n, k in zip(self.names, first, strict=True)]
        return f"`{self.statement.text}`" + (f" at {', '.join(at)}" if at else "")


def _both(mask: Array | None, other: Array) -> Array:
    return np.asarray(other) if mask is None else mask & other
