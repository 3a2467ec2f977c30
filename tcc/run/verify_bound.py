"""How much two right kernels may differ: by rounding in another order, and by no more.

Each output gets a relative bound: along the longest chain of statements that lead to it, machine
epsilons for the length of each reduction and for each operation. Times the largest magnitude of
the output this is the tolerance. Where cancellation makes that too small, the response of the
program to that much noise after every operation is added (`noise_response`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tcc.frontend import tir
from tcc.run.device import Array
from tcc.run.reference import OracleError, index_box, interpret
from tcc.scalar import ScalarType

EPSILON: dict[ScalarType, float] = {
    ScalarType.FLOAT16: 2.0**-10,
    ScalarType.BFLOAT16: 2.0**-7,
    ScalarType.FLOAT32: 2.0**-23,
    ScalarType.FLOAT64: 2.0**-52,
}
"""The distance from 1 to the next number."""
CALL_ULPS = 4
"""What one call of a builtin function may make of an argument that is off by one epsilon."""
RUNS = 6
RUNS_TO_INFINITY = 12
"""Next to 0 the sign decides which infinity a product becomes, and one run in two shows it."""


def relative_bounds(program: tir.Program, sizes: Mapping[str, int]) -> dict[str, float]:
    """The relative bound of every tensor; 0 for inputs and for what is computed in integers."""
    bounds = dict.fromkeys(program.tensors, 0.0)
    for statement in program.statements:
        target = statement.target
        read = max((bounds[t] for t in _tensors_read(statement)), default=0.0)
        own = _own_bound(statement, program.tensors[target].type, sizes)
        bounds[target] = max(bounds[target], read) + own
    return bounds


@dataclass(frozen=True)
class Response:
    """What noise does to one output: how far values move, where they become or stop being NaN or
    an infinity, or change to the other one.
    """

    spread: Array
    unsure: Array


def noise_response(
    program: tir.Program,
    arrays: Mapping[str, Array],
    sizes: Mapping[str, int],
    bounds: Mapping[str, float],
    seed: int,
) -> dict[str, Response]:
    """The response of each output, by the oracle in exact arithmetic plus relative noise.

    Empty when the program has no meaning on these arrays.
    """
    rng = np.random.default_rng([seed, 1])
    amplitude = max(bounds[name] for name in program.outputs)

    def noise(values: Array) -> Array:
        signs = rng.integers(0, 2, values.shape, dtype=np.int8)
        return np.asarray(values * (1 + amplitude * (2.0 * signs - 1)))

    try:
        plain = interpret(program, arrays, sizes, "exact")
        finite = all(np.isfinite(values).all() for values in plain.values())
        runs = RUNS if finite else RUNS_TO_INFINITY
        noisy = [interpret(program, arrays, sizes, "exact", noise=noise) for _ in range(runs)]
    except OracleError:
        return {}
    return {n: _response(plain[n], [run[n] for run in noisy]) for n in plain}


def has_meaning(
    program: tir.Program, arrays: Mapping[str, Array], sizes: Mapping[str, int]
) -> bool:
    """Whether the oracle finds nothing wrong with a program on some arrays."""
    try:
        interpret(program, arrays, sizes)
    except OracleError:
        return False
    return True


def _response(plain: Array, noisy: list[Array]) -> Response:
    with np.errstate(all="ignore"):
        moved = [np.abs(run.astype(np.float64) - plain.astype(np.float64)) for run in noisy]
    steady = [_class(run) == _class(plain) for run in noisy]
    spread = np.max(np.nan_to_num(moved, nan=0.0), axis=0)
    return Response(spread, ~np.all(steady, axis=0))


def _class(values: Array) -> Array:
    """A number each for finite values, NaN, and the two infinities."""
    return np.asarray(np.isnan(values) * 2.0 + np.isposinf(values) - np.isneginf(values))


def _own_bound(statement: tir.Statement, kind: ScalarType, sizes: Mapping[str, int]) -> float:
    """The roundings of one statement; a sum of r terms with k operations each counts r + k."""
    operations = 0.0
    for node in tir.walk(statement.value):
        if node.type.is_float and isinstance(node, tir.Binary | tir.Call | tir.Cast):
            ulps = CALL_ULPS if isinstance(node, tir.Call) else 1
            operations += ulps * EPSILON[node.type]
    if not kind.is_float:
        return operations
    store = EPSILON[kind] if kind.is_half else 0.0
    if statement.operator in ("+", "*"):
        operations += _terms(statement, sizes) * EPSILON[kind.compute]
    return operations + store


def _terms(statement: tir.Statement, sizes: Mapping[str, int]) -> int:
    reduced = index_box(statement, sizes)[len(statement.indices) :]
    return math.prod(max(high - low, 1) for low, high in reduced)


def _tensors_read(statement: tir.Statement) -> tuple[str, ...]:
    found = {e.tensor: None for e in tir.walk(statement.value) if isinstance(e, tir.Read)}
    if statement.operator != "=" and not statement.initialise:
        found[statement.target] = None
    return tuple(found)
