"""How the oracle keeps the scalar types in NumPy, and how values convert between them.

Half types live in float32 arrays whose values are rounded to the half type. With
`exact` arithmetic every float type is float64 and nothing rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from tcc.scalar import INT_BITS, ScalarType

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Numbers:
    """One arithmetic: `native` rounds to each type as the language says, `exact` does not.

    `noise` changes the result of every float operation, to see what rounding there can do.
    """

    exact: bool
    noise: Callable[[Array], Array] | None = None

    def dtype(self, scalar: ScalarType) -> np.dtype[Any]:
        """The dtype that holds values of a scalar type."""
        if scalar.is_float and self.exact:
            return np.dtype(np.float64)
        return storage_dtype(scalar.compute)

    def literal(self, value: bool | int | Fraction | float, scalar: ScalarType) -> Array:
        """A constant, rounded once from its exact value."""
        if isinstance(value, float):  # an infinity
            return np.asarray(value, dtype=self.dtype(scalar))
        if not scalar.is_float:
            return np.asarray(wrap(int(value), scalar), dtype=self.dtype(scalar))
        return self.convert(np.asarray(_nearest(Fraction(value), self.dtype(scalar))), scalar)

    def convert(self, values: Array, scalar: ScalarType) -> Array:
        """A cast: floats truncate toward zero and saturate, integers wrap."""
        if scalar is ScalarType.BOOL:
            return np.asarray(values != 0)
        if scalar.is_integer and values.dtype.kind == "f":
            return _to_integer(values, scalar)
        if scalar.is_half and not self.exact:
            values = values.astype(storage_dtype(scalar))
        return values.astype(self.dtype(scalar))

    def disturbed(self, values: Array) -> Array:
        """The result of an operation, with the noise if it is a float."""
        return values if self.noise is None or values.dtype.kind != "f" else self.noise(values)

    def store(self, values: Array, scalar: ScalarType) -> Array:
        """A result for the caller: in the dtype of the tensor, exact floats in float64."""
        return values if self.exact else values.astype(storage_dtype(scalar))


def storage_dtype(scalar: ScalarType) -> np.dtype[Any]:
    """The dtype of arrays of a scalar type; bfloat16 comes from ml_dtypes."""
    if scalar is ScalarType.BFLOAT16:
        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    plain: np.dtype[Any] = np.dtype(scalar.value)
    return plain


def wrap(value: int, scalar: ScalarType) -> int:
    """An integer modulo the width of an integer type."""
    low, _ = scalar.integer_range
    return (value - low) % (1 << scalar.bits) + low


def _nearest(value: Fraction, wanted: np.dtype[Any]) -> np.generic:
    """The value of a float dtype nearest to an exact one; rounding a double again may miss it."""
    try:
        first: np.generic = wanted.type(float(value))
    except OverflowError:
        overflow: np.generic = wanted.type(np.inf if value > 0 else -np.inf)
        return overflow
    if not np.isfinite(first):
        return first
    sides = [np.nextafter(first, wanted.type(side)) for side in (-np.inf, np.inf)]
    finite = [v for v in (first, *sides) if np.isfinite(v)]
    return min(finite, key=lambda v: abs(Fraction(float(v)) - value))


def _to_integer(values: Array, scalar: ScalarType) -> Array:
    low, high = scalar.integer_range
    whole = np.trunc(values.astype(np.float64))
    inside = (whole > low) & (whole < high)
    result = np.where(inside, whole, 0).astype(scalar.value)
    result = np.where(whole >= high, np.asarray(high, scalar.value), result)
    result = np.where(whole <= low, np.asarray(low, scalar.value), result)
    return np.where(np.isnan(whole), np.asarray(_of_nan(values, scalar), scalar.value), result)


def _of_nan(values: Array, scalar: ScalarType) -> int:
    """What kernels make of a NaN, which the language leaves open: what PTX says of `cvt`.

    Integers of fewer than 32 bits are made of `int`.
    """
    if values.dtype.itemsize <= INT_BITS // 8 and scalar.bits <= INT_BITS:
        return 0
    if scalar.is_signed or scalar.bits < INT_BITS:
        return scalar.integer_range[0]
    return 1 << (scalar.bits - 1)
