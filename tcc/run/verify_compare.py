"""Compares the outputs of two kernels element by element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tcc.run.device import Array
from tcc.run.host_job import POISON
from tcc.run.verify_bound import Response
from tcc.scalar import ScalarType

UNWRITTEN = "never written"


@dataclass(frozen=True)
class Comparison:
    """One output against the reference's.

    `first` is the storage index of the first wrong element, `got` and `expected` its values as
    text. `largest` is the largest error of all compared elements; NaN when none could be measured.
    `nans` counts those of the compared elements that are NaN in the reference.
    """

    tensor: str
    compared: int
    wrong: int
    largest: float
    tolerance: float
    nans: int
    first: tuple[int, ...] | None = None
    got: str = ""
    expected: str = ""

    @property
    def ok(self) -> bool:
        """Whether every compared element agrees."""
        return self.wrong == 0


def compare(
    tensor: str,
    kind: ScalarType,
    got: Array,
    want: Array,
    *,
    relative: float = 0.0,
    response: Response | None = None,
    chosen: Array | None = None,
) -> Comparison:
    """Compare an output with the reference's, of the same shape and type.

    Floats may differ by `relative` times the largest magnitude in `want`, plus the `response`; a
    NaN needs a NaN on the other side, an infinity the same infinity, and memory that was never
    written is wrong whatever its bits mean. Other types must be equal. `chosen`: compare only
    these elements.
    """
    mask = np.ones(got.shape, dtype=np.bool_) if chosen is None else chosen
    unwritten = poisoned(got) & ~poisoned(want)
    if kind.is_float:
        agree, error, tolerance = _floats(got, want, relative, response)
        agree &= ~unwritten
    else:
        error = _distance(_integers(got), _integers(want))
        agree, tolerance = error == 0, 0.0
        if response is not None:
            agree |= (error <= response.spread) & ~unwritten
    wrong = mask & ~agree
    finite = error[mask & np.isfinite(error)]
    nans = int(np.count_nonzero(mask & _is_nan(want, kind)))
    count = int(np.count_nonzero(wrong))
    result = Comparison(
        tensor,
        int(np.count_nonzero(mask)),
        count,
        float(finite.max()) if finite.size else (0.0 if not count else float("nan")),
        tolerance,
        nans,
    )
    return result if not count else _located(result, wrong, unwritten, got, want, kind)


def poisoned(values: Array) -> Array:
    """Where all bits are set, as in memory that nobody wrote."""
    raw = np.ascontiguousarray(values).reshape(*values.shape, 1).view(np.uint8)
    return np.asarray((raw == POISON).all(axis=-1))


def differing(a: Array, b: Array) -> Array:
    """Where two arrays of one type differ in any bit."""
    first = np.ascontiguousarray(a).reshape(*a.shape, 1).view(np.uint8)
    second = np.ascontiguousarray(b).reshape(*b.shape, 1).view(np.uint8)
    return np.asarray((first != second).any(axis=-1))


def spelled(value: np.generic, kind: ScalarType) -> str:
    """A value with enough digits to tell it from its neighbours."""
    if kind is ScalarType.BOOL:
        return {0: "false", 1: "true"}.get(int(np.asarray(value).view(np.uint8)), "no bool")
    if not kind.is_float:
        return str(int(value))
    digits = {ScalarType.FLOAT64: 17, ScalarType.FLOAT32: 9}.get(kind, 5)
    return f"{float(value):.{digits}g}"


def _floats(
    got: Array, want: Array, relative: float, response: Response | None
) -> tuple[Array, Array, float]:
    """Where they agree, the errors, and the tolerance without the response."""
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(b)
    scale = float(np.abs(b[finite]).max()) if finite.any() else 0.0
    tolerance = relative * scale
    both_nan = np.isnan(a) & np.isnan(b)
    with np.errstate(all="ignore"):
        error = np.where((a == b) | both_nan, 0.0, np.abs(a - b))
    limit: Array | float = tolerance
    if response is not None:
        limit = tolerance + response.spread
    agree = (error <= limit) & (np.isfinite(a) == finite) | (a == b) | both_nan
    if response is not None:
        agree |= response.unsure
    return agree, error, tolerance


def _integers(values: Array) -> Array:
    return values.view(np.uint8) if values.dtype == np.bool_ else values


def _distance(a: Array, b: Array) -> Array:
    """|a - b| of integers, without overflow, in float64."""
    wide = np.uint64 if a.dtype.kind == "u" else np.int64
    x, y = a.astype(wide), b.astype(wide)
    with np.errstate(over="ignore"):
        return np.where(x > y, x - y, y - x).view(np.uint64).astype(np.float64)


def _is_nan(values: Array, kind: ScalarType) -> Array:
    return (
        np.isnan(values.astype(np.float64)) if kind.is_float else np.zeros(values.shape, np.bool_)
    )


def _located(
    result: Comparison,
    wrong: Array,
    unwritten: Array,
    got: Array,
    want: Array,
    kind: ScalarType,
) -> Comparison:
    """The comparison with its first wrong element."""
    first: Sequence[int] = [int(k) for k in np.argwhere(wrong)[0]]
    at = tuple(first)
    value = UNWRITTEN if unwritten[at] else spelled(got[at], kind)
    return Comparison(
        result.tensor,
        result.compared,
        result.wrong,
        result.largest,
        result.tolerance,
        result.nans,
        at,
        value,
        spelled(want[at], kind),
    )
