"""The builtin functions of the language as NumPy functions, for the oracle.

Each takes and returns float64 arrays; the oracle rounds the result to the type of the call.
Special values follow the CUDA math library (`fmax` drops a NaN, `round` goes away from zero).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from tcc.run import special

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def call(name: str, arguments: list[Array], dtype: np.dtype[Any]) -> Array:
    """The value of builtin `name`; arguments and result have `dtype`, float32 or float64."""
    if name == "nextafter":  # the one function whose exact result depends on the type
        return np.asarray(np.nextafter(*arguments))
    wide = [np.asarray(a, dtype=np.float64) for a in arguments]
    return np.asarray(FUNCTIONS[name](*wide)).astype(dtype)


def _round(x: Array) -> Array:
    whole = np.trunc(x)
    return np.where(2 * np.abs(x - whole) >= 1, whole + np.sign(x), whole)


def _sinpi(x: Array) -> Array:
    """sin(pi x), exact at multiples of 1/2 (AS 4.3.12 on the nearest integer)."""
    nearest = np.rint(x)
    sign = np.where(nearest % 2 == 0, 1.0, -1.0)
    return np.where(x == nearest, 0.0, sign * np.sin(np.pi * (x - nearest)))


def _cospi(x: Array) -> Array:
    x = np.abs(x) % 2
    return np.asarray(_sinpi(x + 0.5))


def _logb(x: Array) -> Array:
    exponent = np.frexp(x)[1] - 1.0
    special_value = np.where(x == 0, -np.inf, np.abs(x))
    return np.where(np.isfinite(x) & (x != 0), exponent, special_value)


def _remainder(x: Array, y: Array) -> Array:
    """The IEEE remainder: x - n y with n = x / y rounded to nearest, ties to even."""
    below = np.fmod(np.abs(x), np.abs(y))
    above = below - np.abs(y)
    odd = np.fmod(np.abs(x), 2 * np.abs(y)) >= np.abs(y)
    up = (-above < below) | ((-above == below) & odd)
    return np.where(np.isinf(y) & np.isfinite(x), x, np.copysign(1, x) * np.where(up, above, below))


def _fma(a: Array, b: Array, c: Array) -> Array:
    """The sum a b + c with the rounding errors of both steps added back (Dekker, Knuth)."""
    product = a * b
    total = product + c
    high_a, high_b = _high_half(a), _high_half(b)
    low_a, low_b = a - high_a, b - high_b
    lost = high_a * high_b - product + high_a * low_b + low_a * high_b + low_a * low_b
    back = total - product
    error = (product - (total - back)) + (c - back) + lost
    return np.where(np.isfinite(error), total + error, total)


def _high_half(x: Array) -> Array:
    scaled = x * 134217729.0  # 2**27 + 1
    return np.asarray(scaled - (scaled - x))


def _norm(*x: Array) -> Array:
    total = x[0]
    for other in x[1:]:
        total = np.hypot(total, other)
    return np.abs(total)


_UNARY: dict[str, Callable[[Array], Array]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "cospi": _cospi,
    "cyl_bessel_i0": lambda x: special.bessel_i(0, x),
    "cyl_bessel_i1": lambda x: special.bessel_i(1, x),
    "erf": special.erf,
    "erfc": special.erfc,
    "erfcinv": special.erfcinv,
    "erfcx": special.erfcx,
    "erfinv": special.erfinv,
    "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "abs": np.abs,
    "fabs": np.abs,
    "floor": np.floor,
    "j0": lambda x: special.bessel_j(0, x),
    "j1": lambda x: special.bessel_j(1, x),
    "lgamma": special.lgamma,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logb": _logb,
    "normcdf": special.normcdf,
    "normcdfinv": special.normcdfinv,
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "relu": lambda x: np.where(x > 0, x, 0.0),
    "round": _round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sin": np.sin,
    "sinh": np.sinh,
    "sinpi": _sinpi,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": special.tgamma,
    "trunc": np.trunc,
    "y0": lambda x: special.bessel_y(0, x),
    "y1": lambda x: special.bessel_y(1, x),
}
_MORE: dict[str, Callable[..., Array]] = {
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "fdim": lambda x, y: np.where(x <= y, 0.0, x - y),
    "fdivide": np.divide,
    "fma": _fma,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "norm3d": _norm,
    "norm4d": _norm,
    "pow": np.power,
    "remainder": _remainder,
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "rnorm3d": lambda *x: 1 / _norm(*x),
    "rnorm4d": lambda *x: 1 / _norm(*x),
}

#: every builtin but `nextafter`, on float64 arrays
FUNCTIONS: Mapping[str, Callable[..., Array]] = _UNARY | _MORE
NAMES = frozenset(FUNCTIONS) | {"nextafter"}
