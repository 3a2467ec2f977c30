"""Integers of all threads of a block at once: affine expressions over arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tcc.affine import Affine, Atom, Extremum, Floor, Product, Var

Array: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Variables: TypeAlias = Mapping[str, "Array | int"]
"""Kernel variables and sizes: one value, or one for each thread."""


def evaluate(expression: Affine, values: Variables) -> Array | int:
    """The value of an expression; for each thread where a variable differs between threads."""
    total: Array | int = expression.constant
    for atom, coefficient in expression.terms:
        total = total + _atom(atom, values) * coefficient
    return total


def _atom(atom: Atom, values: Variables) -> Array | int:
    match atom:
        case Var(name):
            return values[name]
        case Floor(numerator, denominator):
            return evaluate(numerator, values) // denominator
        case Extremum(kind, items):
            smaller = np.minimum if kind == "min" else np.maximum
            return reduce(smaller, (evaluate(i, values) for i in items))
        case Product(factors):
            one: Array | int = 1
            return reduce(lambda p, f: p * _atom(f, values), factors, one)
        case _:
            assert_never(atom)


OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.floor_divide,
    "%": np.mod,
    "min": np.minimum,
    "max": np.maximum,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "&&": np.logical_and,
    "||": np.logical_or,
}
"""Integer and bool operators; division floors, as in the kernel IR."""
