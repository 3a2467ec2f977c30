"""Every builtin function on the host device, in both types, against mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from tcc.frontend.builtins import BUILTINS
from tcc.scalar import ScalarType

mp = mpmath.mp.clone()
mp.dps = 40
COUNT = 60

# inputs: an interval, or magnitudes 10^a to 10^b of both signs or positive only
WIDE, POSITIVE, UNIT = ("signed", -3, 3), ("positive", -3, 3), ("range", -1, 1)
INPUTS = {
    "acos": UNIT, "acosh": ("range", 1, 50), "asin": UNIT, "atanh": UNIT, "erfinv": UNIT,
    "cosh": ("range", -80, 80), "sinh": ("range", -80, 80), "exp": ("range", -80, 80),
    "expm1": ("range", -80, 80), "exp2": ("range", -120, 120), "exp10": ("range", -37, 37),
    "cyl_bessel_i0": ("range", -80, 80), "cyl_bessel_i1": ("range", -80, 80),
    "erfc": ("range", -5, 9), "erfcx": ("range", -9, 300), "erfcinv": ("range", 0, 2),
    "normcdf": ("range", -12, 6), "normcdfinv": ("range", 0, 1), "tgamma": ("range", 0.1, 30),
    "lgamma": ("range", 3, 900), "log": POSITIVE, "log2": POSITIVE, "log10": POSITIVE,
    "log1p": ("range", -0.99, 90), "sqrt": POSITIVE, "rsqrt": POSITIVE, "j0": ("range", -20, 20),
    "j1": ("range", -20, 20), "y0": ("range", 0.01, 20), "y1": ("range", 0.01, 20),
    "pow": ("positive", -1, 1), "tan": ("range", -20, 20), "logb": ("signed", -30, 30),
}  # fmt: skip

# where CUDA itself promises no ulp: relative to the largest value near by
ABSOLUTE = {"j0": 1.0, "j1": 0.6, "y0": 1.0, "y1": 1.0}


def phi(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def i_round(x):
    return mp.sign(x) * mp.floor(abs(x) + mp.mpf(1) / 2)


def norm(*v):
    return mp.sqrt(mp.fsum(x * x for x in v))


def remainder(x, y):
    quotient = x / y
    nearest = mp.floor(quotient + mp.mpf(1) / 2)
    if nearest - quotient == mp.mpf(1) / 2 and int(nearest) % 2:
        nearest -= 1
    return x - nearest * y


NAMED_ALIKE = (
    "acos acosh asin asinh atan atanh ceil cos cosh cospi erf erfc exp expm1 floor j0 j1 log "
    "log10 log1p sin sinh sinpi sqrt tan tanh"
)
EXACT: dict[str, Callable[..., mpmath.mpf]] = {
    name: getattr(mp, name) for name in NAMED_ALIKE.split()
} | {
    "cyl_bessel_i0": lambda x: mp.besseli(0, x),
    "cyl_bessel_i1": lambda x: mp.besseli(1, x),
    "y0": lambda x: mp.bessely(0, x),
    "y1": lambda x: mp.bessely(1, x),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "rcbrt": lambda x: mp.sign(x) / mp.cbrt(abs(x)),
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "exp10": lambda x: mp.mpf(10) ** x,
    "exp2": lambda x: mp.mpf(2) ** x,
    "fabs": abs,
    "abs": abs,
    "lgamma": lambda x: mp.loggamma(x).real,
    "tgamma": mp.gamma,
    "log2": lambda x: mp.log(x) / mp.log(2),
    "logb": lambda x: mp.mpf(math.frexp(float(x))[1] - 1),
    "normcdf": phi,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "round": i_round,
    "trunc": lambda x: mp.sign(x) * mp.floor(abs(x)),
    "atan2": mp.atan2,
    "copysign": lambda x, y: mp.mpf(math.copysign(float(x), float(y))),
    "fdim": lambda x, y: max(x - y, mp.mpf(0)),
    "fdivide": lambda x, y: x / y,
    "fmax": max,
    "fmin": min,
    "fmod": lambda x, y: mp.sign(x) * (abs(x) - mp.floor(abs(x / y)) * abs(y)),
    "hypot": norm,
    "pow": lambda x, y: x**y,
    "remainder": remainder,
    "rhypot": lambda x, y: 1 / norm(x, y),
    "fma": lambda x, y, z: x * y + z,
    "norm3d": norm,
    "rnorm3d": lambda *v: 1 / norm(*v),
    "norm4d": norm,
    "rnorm4d": lambda *v: 1 / norm(*v),
}
# an inverse x of y is judged by (f(x) - y) / f'(x)
INVERSE = {
    "erfinv": (mp.erf, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    "erfcinv": (mp.erfc, lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    "normcdfinv": (phi, lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)),
}
FUNCTIONS = sorted(set(BUILTINS) - {"sigmoid", "relu"})  # those two the emitter defines


def inputs(name: str, position: int, dtype: type) -> np.ndarray:
    rng = np.random.default_rng(len(name) * 10 + position)
    kind, low, high = INPUTS.get(name, WIDE)
    if kind == "range":
        return rng.uniform(low, high, COUNT).astype(dtype)
    values = 10.0 ** rng.uniform(low, high, COUNT)
    if kind == "signed":
        values *= rng.choice([-1.0, 1.0], COUNT)
    return values.astype(dtype)


@pytest.fixture(scope="module", params=["float32", "float64"])
def results(request, unit, tensor, host):
    """For each function its inputs and what the host device makes of them."""
    scalar = ScalarType(request.param)
    c_type = "float" if request.param == "float32" else "double"
    lines = []
    for row, name in enumerate(FUNCTIONS):
        builtin = BUILTINS[name]
        called = builtin.float32 if scalar is ScalarType.FLOAT32 else builtin.float64
        arguments = ", ".join(f"X[{row * 4 + k} * {COUNT} + i]" for k in range(builtin.arity))
        lines.append(f"  O[{row} * {COUNT} + i] = {called}({arguments});")
    text = f"""
extern "C" __global__ void all(const {c_type}* __restrict__ X, {c_type}* __restrict__ O) {{
  const int i = threadIdx.x;
{chr(10).join(lines)}
}}
"""
    rows = len(FUNCTIONS)
    tensors = [
        tensor("X", "in", request.param, rows * 4, COUNT),
        tensor("O", "out", request.param, rows, COUNT),
    ]
    dtype = np.dtype(request.param).type
    x = np.stack([inputs(name, k, dtype) for name in FUNCTIONS for k in range(4)])
    artifact = unit(text, tensors, [f"all; 1; {COUNT}; 0; X; O"])
    out = host().run(artifact, {"X": x}, {})["O"]
    return {name: (x[4 * i : 4 * i + 4], out[i]) for i, name in enumerate(FUNCTIONS)}


@pytest.mark.parametrize("name", sorted(EXACT))
def test_function(results, name):
    x, out = results[name]
    for i in range(COUNT):
        exact = EXACT[name](*(mp.mpf(float(v)) for v in x[: BUILTINS[name].arity, i]))
        scale = max(abs(float(exact)), ABSOLUTE.get(name, 0.0))
        ulp = float(np.spacing(out.dtype.type(scale)))
        error = float(abs(mp.mpf(float(out[i])) - exact)) / ulp
        assert error <= 5, f"{name}{tuple(x[: BUILTINS[name].arity, i])}: {error:.1f} ulp"


@pytest.mark.parametrize("name", sorted(INVERSE))
def test_inverse(results, name):
    function, derivative = INVERSE[name]
    x, out = results[name]
    for i in range(COUNT):
        got = mp.mpf(float(out[i]))
        error = float(abs((function(got) - mp.mpf(float(x[0, i]))) / derivative(got)))
        assert error <= 4 * np.spacing(abs(out[i])), f"{name}({x[0, i]})"


def test_nextafter(results):
    x, out = results["nextafter"]
    np.testing.assert_array_equal(out, np.nextafter(x[0], x[1]))


def test_every_builtin_has_a_test():
    assert set(FUNCTIONS) == set(EXACT) | set(INVERSE) | {"nextafter"}


INF, NAN = math.inf, math.nan
SPECIAL = [
    ("sinpi", [1.0, -1.0, 0.5, 1e300, INF], [0.0, -0.0, 1.0, 0.0, NAN]),
    ("cospi", [0.5, -1.5, 1.0, -INF], [0.0, 0.0, -1.0, NAN]),
    ("erfinv", [1.0, -1.0, 1.5, 0.0, 1e-300], [INF, -INF, NAN, 0.0, 8.862269254527581e-301]),
    ("erfcinv", [0.0, 2.0, -0.5, 1.0, 1e-300], [INF, -INF, NAN, 0.0, 26.209469960516124]),
    ("erfcinv", [5e-324, 1e-310], [27.213293210812949, 26.644806559364765]),
    ("normcdfinv", [0.0, 1.0, 0.5, 2.0], [-INF, INF, 0.0, NAN]),
    ("normcdf", [-INF, INF, NAN, -37.5], [0.0, 1.0, NAN, 4.6053530095819548e-308]),
    ("erfcx", [-INF, INF, 1e300, -30.0], [INF, 0.0, 5.641895835477563e-301, INF]),
    ("cyl_bessel_i0", [0.0, 713.0, -INF, NAN], [1.0, 6.7051282636709967e+307, INF, NAN]),
    ("cyl_bessel_i1", [0.0, -0.0, -INF], [0.0, -0.0, -INF]),
    ("y0", [0.0, -1.0], [-INF, NAN]),
    ("rsqrt", [0.0, -1.0, INF], [INF, NAN, 0.0]),
    ("lgamma", [0.0, -1.0, 1.0], [INF, INF, 0.0]),
    ("round", [0.5, -0.5, 2.5, 0.49999999999999994], [1.0, -1.0, 3.0, 0.0]),
]  # fmt: skip


def test_special_values(unit, tensor, host):
    width = max(len(x) for _, x, _ in SPECIAL)
    body = "\n".join(
        f"  if (t == {row}) for (int i = 0; i < {width}; ++i) "
        f"O[{row * width} + i] = {name}(X[{row * width} + i]);"
        for row, (name, _, _) in enumerate(SPECIAL)
    )
    text = f"""
extern "C" __global__ void special(const double* __restrict__ X, double* __restrict__ O) {{
  const int t = threadIdx.x;
{body}
}}
"""
    shape = (len(SPECIAL), width)
    tensors = [tensor("X", "in", "float64", *shape), tensor("O", "out", "float64", *shape)]
    x = np.ones(shape)
    for row, (_, values, _) in enumerate(SPECIAL):
        x[row, : len(values)] = values
    out = host().run(unit(text, tensors, [f"special; 1; {len(SPECIAL)}; 0; X; O"]), {"X": x}, {})
    for row, (name, values, wanted) in enumerate(SPECIAL):
        got = out["O"][row, : len(values)]
        np.testing.assert_allclose(got, wanted, rtol=2e-15, atol=0, err_msg=name)
        number = ~np.isnan(wanted)
        signs = np.signbit(got)[number], np.signbit(wanted)[number]
        np.testing.assert_array_equal(*signs, err_msg=name)
