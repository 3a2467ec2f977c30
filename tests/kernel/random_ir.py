"""Random kernel expressions, and what they mean: integers wrap, division floors, floats round."""

from __future__ import annotations

import operator
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tcc.affine import Affine, const, maximum, minimum, var
from tcc.kernel import ir
from tcc.run.numbers import storage_dtype
from tcc.scalar import ScalarType as T

INTEGERS = tuple(t for t in T if t.is_integer)
FLOATS = (T.FLOAT32, T.FLOAT64)
POINTS = tuple((i, j) for i in range(3) for j in range(-3, 4))
SHAPE = (3, 8)
COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
}


def buffer(type: T) -> ir.Buffer:
    return ir.Buffer(f"in_{type.value}", ir.Space.GLOBAL, type, tuple(map(const, SHAPE)))


def contents(type: T, seed: int = 0) -> np.ndarray:
    """The elements of a buffer: ends of the type and numbers near zero."""
    random = np.random.default_rng(seed)
    if type.is_float:
        return (random.integers(-9, 9, SHAPE) / 4).astype(storage_dtype(type))
    if type is T.BOOL:
        return random.integers(0, 2, SHAPE).astype(bool)
    low, high = type.integer_range
    choices = [low, high, low // 3, high // 3, max(low, -7), 5, 1, 0]
    return random.choice(np.array(choices, dtype=object), SHAPE).astype(storage_dtype(type))


class RandomIr:
    """Expressions over `i` in 0:3, `j` in -3:4 and one buffer of every type."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def affine(self, depth: int = 2) -> Affine:
        pick = self.random.randint
        if depth == 0:
            return self.random.choice((var("i"), var("j"), const(pick(-4, 9))))
        a, b = self.affine(depth - 1), self.affine(depth - 1)
        match pick(0, 5):
            case 0:
                return a * pick(-3, 4) + b
            case 1:
                return a // pick(2, 5)
            case 2:
                return a % pick(2, 5)
            case 3:
                return minimum(a, b)
            case 4:
                return maximum(a, b) - b
            case _:
                return a - b

    def index(self) -> tuple[Affine | ir.Expression, ...]:
        """Inside the shape; one subscript in three is a gather."""
        row: Affine | ir.Expression = self.affine(1) % SHAPE[0]
        if self.random.randint(0, 2) == 0:
            type = self.random.choice((T.UINT8, T.UINT32, T.UINT64, T.INT64))
            load = ir.Load(buffer(type), (var("i"), var("j") + 3))
            row = ir.Binary("%", load, ir.Const(SHAPE[0], type), type)
        return row, var("j") + self.random.randint(3, 4)

    def value(self, type: T, depth: int) -> ir.Expression:
        if depth == 0:
            return self.leaf(type)
        choice = self.random.randint(0, 9)
        if choice == 0:
            parts = (self.value(type, depth - 1) for _ in range(2))
            return ir.Select(self.value(T.BOOL, depth - 1), *parts, type)
        if choice == 1:
            sources = [t for t in (*INTEGERS, T.BOOL) if t is not type]
            sources += FLOATS if type.is_float else ()
            return ir.Cast(self.value(self.random.choice(sources), depth - 1), type)
        if type is T.BOOL:
            return self.condition(depth)
        if choice == 2:
            return ir.Unary("-", self.value(type, depth - 1), type)
        if choice == 3 and type.is_float:
            return ir.Call("abs", (self.value(type, depth - 1),), type)
        operators = [o for o in ARITHMETIC if not (type.is_float and o in "/%")]
        parts = (self.value(type, depth - 1) for _ in range(2))
        return ir.Binary(self.random.choice(operators), *parts, type)

    def condition(self, depth: int) -> ir.Expression:
        choice = self.random.randint(0, 3)
        if choice == 0:
            return ir.Unary("!", self.value(T.BOOL, depth - 1), T.BOOL)
        logical = choice == 1
        type = T.BOOL if logical else self.random.choice((*INTEGERS, *FLOATS))
        operators = ("&&", "||", "min", "max", "==", "!=") if logical else tuple(COMPARE)
        parts = (self.value(type, depth - 1) for _ in range(2))
        return ir.Binary(self.random.choice(operators), *parts, T.BOOL)

    def leaf(self, type: T) -> ir.Expression:
        choice = self.random.randint(0, 2)
        if choice == 0:
            return ir.Load(buffer(type), self.index())
        if choice == 1 and type is T.INT32:
            return ir.Int(self.affine())
        if type is T.BOOL:
            return ir.Const(bool(self.random.randint(0, 1)), type)
        if type.is_float:
            return ir.Const(Fraction(self.random.randint(-99, 99), 10), type)
        low, high = type.integer_range
        return ir.Const(self.random.choice((low, high, max(low, -3), 0, 1, 7)), type)


def wrapped(value: int, type: T) -> int:
    """The value of an integer type that is the same modulo 2^bits."""
    low, _ = type.integer_range
    return (value - low) % (1 << type.bits) + low


class Meaning:
    """Evaluates expressions at one point; ZeroDivisionError where they divide by zero."""

    def __init__(self, point: Mapping[str, int], arrays: Mapping[str, np.ndarray]) -> None:
        self.point = point
        self.arrays = arrays

    def of(self, expression: ir.Expression) -> Any:
        """A bool, an int, or a NumPy float."""
        type = expression.type
        match expression:
            case ir.Const(value, _):
                return self.converted(value, type)
            case ir.Int(value):
                return value.evaluate(self.point)
            case ir.Load(source, index):
                return self.loaded(source, index)
            case ir.Unary(sign, operand, _):
                inner = self.of(operand)
                return not inner if sign == "!" else self.converted(-inner, type)
            case ir.Binary():
                return self.combined(expression)
            case ir.Select(condition, then, otherwise, _):
                return self.of(then if self.of(condition) else otherwise)
            case ir.Call("abs", (operand,), _):
                return self.converted(abs(self.of(operand)), type)
            case ir.Cast(operand, _):
                return self.converted(self.of(operand), type)
            case _:
                raise AssertionError(expression)

    def combined(self, node: ir.Binary) -> Any:
        if node.operator == "&&":
            return self.of(node.left) and self.of(node.right)
        if node.operator == "||":
            return self.of(node.left) or self.of(node.right)
        left, right = self.of(node.left), self.of(node.right)
        if node.operator in COMPARE:
            return bool(COMPARE[node.operator](left, right))
        return self.converted(ARITHMETIC[node.operator](left, right), node.type)

    def loaded(self, source: ir.Buffer, index: Sequence[Affine | ir.Expression]) -> Any:
        at = [i.evaluate(self.point) if isinstance(i, Affine) else self.of(i) for i in index]
        value = self.arrays[source.name][tuple(at)]
        return value if source.type.is_float else value.item()

    def converted(self, value: Any, type: T) -> Any:
        if type is T.BOOL:
            return bool(value)
        if type.is_float:
            kind = storage_dtype(type)
            return kind.type(float(value) if isinstance(value, Fraction) else value)
        return wrapped(int(value), type)
