"""What a reduction starts from."""

from __future__ import annotations

import math

from tcc.frontend import tir
from tcc.scalar import ScalarType


def identity(operator: str, type: ScalarType) -> bool | int | float:
    """The neutral value of `+`, `*`, `min`, `max`; infinite for extrema of floats."""
    if operator in ("+", "*"):
        return int(operator == "*")
    largest = operator == "min"
    if type.is_float:
        return float("inf") if largest else float("-inf")
    if type is ScalarType.BOOL:
        return largest
    return type.integer_range[1 if largest else 0]


def start(statement: tir.Statement, type: ScalarType) -> bool | int | float:
    """What a thread's part of a reduction starts from, and an initialised target.

    `min` and `max` of floats drop a NaN. A target with a value of its own may be one, and stays one
    where all values are; an infinity from the start of a part would take its place. So NaN it is.
    """
    is_extremum = statement.operator in ("min", "max") and type.is_float
    own_value = statement.part or not statement.initialise
    return math.nan if is_extremum and own_value else identity(statement.operator, type)
