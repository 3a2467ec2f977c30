"""What a reduction starts from."""

from __future__ import annotations

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
