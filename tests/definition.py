"""The meaning of the typed IR, one element at a time: what the oracle must agree with.

Independent of the oracle in everything but the builtin functions: Python integers, NumPy scalars
for floats, Python's own laziness, plain nested loops, tensors as dictionaries.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from fractions import Fraction

import ml_dtypes
import numpy as np

from tcc.frontend import tir
from tcc.run import functions
from tcc.scalar import ScalarType

Value = bool | int | np.floating
Env = dict[str, int]
Elements = dict[tuple[int, ...], Value]

FLOATS = {ScalarType.FLOAT16: np.float16, ScalarType.BFLOAT16: ml_dtypes.bfloat16}
COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def run(
    program: tir.Program, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """All outputs of a program; KeyError where an element is read that does not exist."""
    with np.errstate(all="ignore"):
        memory = {
            n: load(t, arrays[n], sizes) if n in arrays else {} for n, t in program.tensors.items()
        }
        for statement in program.statements:
            kind = program.tensors[statement.target].type
            memory[statement.target] = execute(statement, kind, memory, dict(sizes))
        return {n: unload(program.tensors[n], memory[n], sizes) for n in program.outputs}


def load(tensor: tir.Tensor, array: np.ndarray, sizes: Mapping[str, int]) -> Elements:
    origin = [o.evaluate(sizes) for o in tensor.origin]
    return {
        tuple(k + o for k, o in zip(at, origin, strict=True)): convert(
            array[at].item(), tensor.type
        )
        for at in np.ndindex(array.shape)
    }


def unload(tensor: tir.Tensor, elements: Elements, sizes: Mapping[str, int]) -> np.ndarray:
    shape = [e.evaluate(sizes) for e in tensor.shape]
    origin = [o.evaluate(sizes) for o in tensor.origin]
    array = np.zeros(shape, FLOATS.get(tensor.type, np.dtype(tensor.type.compute.value)))
    for at in np.ndindex(*shape):
        array[at] = elements[tuple(k + o for k, o in zip(at, origin, strict=True))]
    return array


def execute(
    statement: tir.Statement, kind: ScalarType, memory: Mapping[str, Elements], env: Env
) -> Elements:
    old = memory[statement.target]
    new: Elements = {}
    for point in loops(statement, statement.indices, env):
        at = tuple(point[i] for i in statement.indices)
        if statement.operator == "=":
            total = value(statement.value, memory, point)
        else:
            total = identity(statement.operator, kind.compute)
            if not statement.initialise:
                total = old[at]
            for inner in loops(statement, statement.reductions, point):
                term = value(statement.value, memory, inner)
                total = binary(statement.operator, total, term, kind.compute)
        new[at] = convert(total, kind)
    return {**old, **new}


def loops(statement: tir.Statement, names: tuple[str, ...], env: Env) -> Iterator[Env]:
    if not names:
        yield env
        return
    index = statement.ranges[names[0]]
    for k in range(index.low.evaluate(env), index.high.evaluate(env)):
        yield from loops(statement, names[1:], {**env, names[0]: k})


def identity(op: str, kind: ScalarType) -> Value:
    if kind.is_float:
        return convert({"+": 0.0, "*": 1.0, "min": np.inf, "max": -np.inf}[op], kind)
    low, high = kind.integer_range
    return convert({"+": 0, "*": 1, "min": high, "max": low}[op], kind)


def value(e: tir.Expression, memory: Mapping[str, Elements], env: Env) -> Value:
    match e:
        case tir.Literal(constant, kind):
            if isinstance(constant, Fraction) and kind.is_float:
                return convert(np.float64(constant.numerator / constant.denominator), kind)
            return convert(constant, kind)
        case tir.Index(name):
            return env[name]
        case tir.Size(affine):
            return convert(affine.evaluate(env), ScalarType.INT32)
        case tir.Read(tensor, subscripts, _, _):
            return memory[tensor][tuple(int(value(s, memory, env)) for s in subscripts)]
        case _:
            return combined(e, memory, env)


def combined(e: tir.Expression, memory: Mapping[str, Elements], env: Env) -> Value:
    """Expressions with operands; Python's `and`, `or` and `if` are as lazy as the language's."""
    match e:
        case tir.Unary(op, operand, kind):
            inner = value(operand, memory, env)
            return not inner if op == "!" else convert(-inner, kind)
        case tir.Binary("&&", left, right, _):
            return bool(value(left, memory, env)) and bool(value(right, memory, env))
        case tir.Binary("||", left, right, _):
            return bool(value(left, memory, env)) or bool(value(right, memory, env))
        case tir.Binary(op, left, right, _):
            return binary(op, value(left, memory, env), value(right, memory, env), left.type)
        case tir.Select(condition, then, otherwise, _):
            return value(then if value(condition, memory, env) else otherwise, memory, env)
        case tir.Call(name, arguments, kind):
            dtype = np.dtype(kind.value)
            values = [np.asarray(value(a, memory, env), dtype) for a in arguments]
            return convert(functions.call(name, values, dtype).item(), kind)
        case tir.Cast(operand, kind):
            return convert(value(operand, memory, env), kind)
    raise TypeError(e)


def binary(op: str, a: Value, b: Value, kind: ScalarType) -> Value:
    if op in COMPARE:
        return bool(COMPARE[op](a, b))
    if op in ("min", "max"):
        if kind.is_float and (np.isnan(a) or np.isnan(b)):
            return b if np.isnan(a) else a
        return min(a, b) if op == "min" else max(a, b)
    if op == "/":
        return convert(a / b if kind.is_float else a // b, kind)
    arithmetic = {"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod}
    return convert(arithmetic[op](a, b), kind)


def convert(x: Value | float, kind: ScalarType) -> Value:
    if kind is ScalarType.BOOL:
        return bool(x)
    if kind.is_float:
        if kind in FLOATS:
            x = float(FLOATS[kind](x))
        return np.dtype(kind.compute.value).type(x)
    low, high = kind.integer_range
    if isinstance(x, float | np.floating):
        return 0 if np.isnan(x) else high if x >= high else low if x <= low else int(x)
    return (int(x) - low) % (1 << kind.bits) + low
