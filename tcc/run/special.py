"""Special functions that neither NumPy nor `math` has, accurate to about 1e-14 relative.

All functions take and return float64 arrays of any shape. Formulas: Abramowitz and Stegun (AS).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_SERIES_LIMIT = 25.0  # above, the asymptotic series of the Bessel functions is exact in float64
_NODES = 128  # trapezoid nodes; the error is of the order of J_100(25), below 1e-40
_EULER = 0.57721566490153286061
_ERFC_FRACTION_FROM = 5.0  # from here on the continued fraction converges fast
_ERFCX_OVERFLOWS_BELOW = -26.7
_MEDIAN_OF_ERF = 0.5  # below, erf is inverted; above, erfc, which keeps its digits there


def elementwise(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A scalar function as an array function; an empty array stays empty."""
    vectorised = np.vectorize(function, otypes=[np.float64])
    return lambda x: np.asarray(vectorised(x))


def _lgamma(x: float) -> float:
    if x <= 0 and x == math.floor(x):
        return math.inf
    return math.lgamma(x)


def _tgamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    if x == -math.inf or (x < 0 and x == math.floor(x)):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf


erf = elementwise(math.erf)
erfc = elementwise(math.erfc)
lgamma = elementwise(_lgamma)
tgamma = elementwise(_tgamma)


def _erfcx(x: float) -> float:
    if x <= _ERFCX_OVERFLOWS_BELOW:
        return math.inf
    if x < _ERFC_FRACTION_FROM:
        return math.exp(x * x) * math.erfc(x)
    # the continued fraction of AS 7.1.14, evaluated from the inside
    tail = x
    for k in range(60, 0, -1):
        tail = x + k / 2 / tail
    return 1 / (math.sqrt(math.pi) * tail)


def _erfcinv(y: float) -> float:
    if y > 1:
        return -_erfcinv(2 - y)
    if not y > 0:
        return math.inf if y == 0 else math.nan
    if y > 1 - _MEDIAN_OF_ERF:
        return _erfinv_near_zero(1 - y)
    x = math.sqrt(-math.log(y))
    for _ in range(60):  # Newton on log(erfc), which is concave and smooth down to the smallest y
        slope = -2 / math.sqrt(math.pi) / _erfcx(x)
        step = (math.log(_erfcx(x)) - x * x - math.log(y)) / slope
        x -= step
        if abs(step) <= 1e-16 * abs(x):
            break
    return x


def _erfinv_near_zero(y: float) -> float:
    x = y * math.sqrt(math.pi) / 2
    for _ in range(60):
        step = (math.erf(x) - y) * math.sqrt(math.pi) / 2 * math.exp(x * x)
        x -= step
        if abs(step) <= 1e-16 * abs(x):
            break
    return x


def _erfinv(y: float) -> float:
    if abs(y) <= _MEDIAN_OF_ERF:
        return _erfinv_near_zero(y)
    return math.copysign(_erfcinv(1 - abs(y)), y)


erfcx = elementwise(_erfcx)
erfcinv = elementwise(_erfcinv)
erfinv = elementwise(_erfinv)


def normcdf(x: Array) -> Array:
    """The standard normal distribution function."""
    return 0.5 * erfc(-x / math.sqrt(2))


def normcdfinv(y: Array) -> Array:
    """The inverse of `normcdf`."""
    return -math.sqrt(2) * erfcinv(2 * y)


def bessel_i(order: int, x: Array) -> Array:
    """The modified Bessel function I of order 0 or 1 (AS 9.6.19, trapezoid rule)."""
    size = np.minimum(np.abs(x), 1e3)  # exp overflows well before
    total = np.zeros_like(x)
    for k in range(_NODES * 4):
        angle = np.pi * k / (_NODES * 2)
        # exp(|x|) is taken out, so that the sum neither overflows nor cancels
        total = total + np.exp(size * (np.cos(angle) - 1)) * np.cos(order * angle)
    return np.asarray(total / (_NODES * 4) * np.exp(np.abs(x)) * (np.sign(x) if order else 1))


def bessel_j(order: int, x: Array) -> Array:
    """The Bessel function J of order 0 or 1."""
    size = np.abs(x)
    near = _bessel_integral(order, np.minimum(size, _SERIES_LIMIT))
    amplitude, phase = _hankel(order, size)
    far = amplitude[0] * np.cos(phase) - amplitude[1] * np.sin(phase)
    value = np.where(size <= _SERIES_LIMIT, near, np.where(np.isinf(x), 0, far))
    return np.where(np.isnan(x), x, value * (np.sign(x) if order else 1))


def bessel_y(order: int, x: Array) -> Array:
    """The Bessel function Y of order 0 or 1; -inf at 0, NaN below."""
    size = np.where(x > 0, x, 1.0)
    near = _neumann_series(order, np.minimum(size, _SERIES_LIMIT))
    amplitude, phase = _hankel(order, size)
    far = amplitude[0] * np.sin(phase) + amplitude[1] * np.cos(phase)
    value = np.where(size <= _SERIES_LIMIT, near, np.where(np.isinf(size), 0, far))
    return np.where(x > 0, value, np.where(x == 0, -np.inf, np.nan))


def _bessel_integral(order: int, x: Array) -> Array:
    """J by the trapezoid rule on AS 9.1.21; for |x| up to `_SERIES_LIMIT`, orders up to 60."""
    total = np.zeros_like(x)
    for k in range(_NODES):
        angle = 2 * np.pi * k / _NODES
        total = total + np.cos(order * angle - x * np.sin(angle))
    return np.asarray(total / _NODES)


def _neumann_series(order: int, x: Array) -> Array:
    """Y by AS 9.1.88; for 0 < x up to `_SERIES_LIMIT`."""
    digamma = -_EULER if order == 0 else 1 - _EULER
    total = (np.log(x / 2) - digamma) * _bessel_integral(order, x) * 2
    if order == 1:
        total = total - 2 / x * _bessel_integral(0, x)
    for k in range(1, 30):
        term = (order + 2 * k) / (k * (k + order)) * _bessel_integral(order + 2 * k, x)
        total = total - (-1) ** k * 2 * term
    return np.asarray(total / np.pi)


def _hankel(order: int, x: Array) -> tuple[tuple[Array, Array], Array]:
    """The scaled amplitudes P, Q and the phase of AS 9.2.5 to 9.2.10; for large x."""
    x = np.where(np.isfinite(x), np.maximum(x, _SERIES_LIMIT), _SERIES_LIMIT)
    term, sums = np.ones_like(x), [np.ones_like(x), np.zeros_like(x)]
    for k in range(1, 24):
        term = term * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
        sums[k % 2] = sums[k % 2] + (-1) ** (k // 2) * term
    scale = np.sqrt(2 / (np.pi * x))
    return (sums[0] * scale, sums[1] * scale), x - (order / 2 + 0.25) * np.pi
