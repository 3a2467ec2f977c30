"""Special functions and builtins against values from tables (mpmath, 40 digits)."""

import math

import numpy as np
import pytest

from tcc.frontend.builtins import ARITY
from tcc.run import functions, special

F64 = np.dtype(np.float64)
F32 = np.dtype(np.float32)

GOLDEN = [
    ("j0", 0.5, 0.9384698072408129),
    ("j0", -7.3, 0.2882169476350144),
    ("j0", 24.9, 0.0832459683530155),
    ("j0", 50.0, 0.055812327669251816),
    ("j1", 0.5, 0.2422684576748739),
    ("j1", -7.3, -0.08257043049325784),
    ("j1", 24.9, -0.13485569953140886),
    ("j1", 50.0, -0.09751182812517514),
    ("y0", 0.5, -0.44451873350670656),
    ("y0", 7.3, 0.0627738863740376),
    ("y0", 24.9, -0.13649918399676522),
    ("y0", 50.0, -0.09806499547007708),
    ("y1", 0.5, -1.471472392670243),
    ("y1", 7.3, -0.2845943718680721),
    ("y1", 24.9, -0.08600255759555425),
    ("y1", 50.0, -0.05679566856201477),
    ("cyl_bessel_i0", 0.5, 1.0634833707413236),
    ("cyl_bessel_i0", -7.3, 222.65879987301187),
    ("cyl_bessel_i0", 100.0, 1.0737517071310738e42),
    ("cyl_bessel_i1", 0.5, 0.2578943053908963),
    ("cyl_bessel_i1", -7.3, -206.79167004622548),
    ("cyl_bessel_i1", 100.0, 1.0683693903381625e42),
    ("erf", 0.3, 0.3286267594591274),
    ("erf", -2.0, -0.9953222650189527),
    ("erfc", 0.3, 0.6713732405408726),
    ("erfc", 5.0, 1.537459794428035e-12),
    ("erfcx", -2.0, 108.94090438997797),
    ("erfcx", 0.3, 0.7345993345676551),
    ("erfcx", 4.9, 0.11287909055975874),
    ("erfcx", 5.1, 0.1086110263139328),
    ("erfcx", 100.0, 0.005641613782989433),
    ("erfinv", 1e-10, 8.862269254527581e-11),
    ("erfinv", 0.3, 0.2724627147267543),
    ("erfinv", -0.9, -1.1630871536766743),
    ("erfinv", 0.999, 2.3267537655135246),
    ("erfcinv", 1e-10, 4.572824967389486),
    ("erfcinv", 0.3, 0.7328690779592169),
    ("erfcinv", 0.7, 0.2724627147267544),
    ("erfcinv", 1.9, -1.1630871536766738),
    ("normcdf", -3.0, 0.0013498980316300946),
    ("normcdf", 0.5, 0.6914624612740131),
    ("normcdfinv", 1e-05, -4.264890793922825),
    ("normcdfinv", 0.3, -0.5244005127080408),
    ("normcdfinv", 0.9, 1.2815515655446006),
    ("lgamma", 0.5, 0.5723649429247001),
    ("lgamma", -1.5, 0.860047015376481),
    ("lgamma", 30.0, 71.25703896716801),
    ("tgamma", 0.5, 1.772453850905516),
    ("tgamma", -1.5, 2.363271801207355),
    ("tgamma", 5.0, 24.0),
    ("sinpi", 0.25, 0.7071067811865476),
    ("sinpi", -1.75, 0.7071067811865476),
    ("sinpi", 3.0, 0.0),
    ("cospi", 0.25, 0.7071067811865476),
    ("cospi", -1.5, 0.0),
    ("cospi", 3.0, -1.0),
    ("rcbrt", 8.0, 0.5),
    ("rcbrt", 0.3, 1.4938015821857216),
    ("rsqrt", 4.0, 0.5),
    ("rsqrt", 0.3, 1.8257418583505538),
    ("exp10", -2.0, 0.01),
    ("exp10", 0.5, 3.1622776601683795),
    ("sigmoid", -3.0, 0.04742587317756678),
    ("sigmoid", 0.5, 0.6224593312018546),
]


def call(name: str, *arguments: float, dtype: np.dtype = F64) -> float:
    return functions.call(name, [np.asarray(a, dtype) for a in arguments], dtype).item()


@pytest.mark.parametrize(("name", "x", "expected"), GOLDEN)
def test_table(name: str, x: float, expected: float) -> None:
    assert call(name, x) == pytest.approx(expected, rel=3e-14, abs=3e-16)


def test_the_table_is_the_language() -> None:
    assert frozenset(ARITY) == functions.NAMES


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("round", (2.5,), 3.0),
        ("round", (-2.5,), -3.0),
        ("round", (0.49999999999999994,), 0.0),
        ("remainder", (5.0, 2.0), 1.0),
        ("remainder", (7.0, 2.0), -1.0),
        ("remainder", (-5.5, 2.0), 0.5),
        ("remainder", (5.0, math.inf), 5.0),
        ("fmod", (-5.5, 2.0), -1.5),
        ("fdim", (5.0, 2.0), 3.0),
        ("fdim", (2.0, 5.0), 0.0),
        ("fmax", (math.nan, 2.0), 2.0),
        ("fmin", (2.0, math.nan), 2.0),
        ("fma", (1 + 2.0**-30, 1 - 2.0**-30, -1.0), -(2.0**-60)),
        ("logb", (0.3,), -2.0),
        ("logb", (0.0,), -math.inf),
        ("logb", (-math.inf,), math.inf),
        ("norm3d", (2.0, 3.0, 6.0), 7.0),
        ("norm4d", (1.0, 2.0, 2.0, 4.0), 5.0),
        ("rnorm3d", (2.0, 3.0, 6.0), 1 / 7),
        ("rnorm4d", (1.0, 2.0, 2.0, 4.0), 0.2),
        ("hypot", (3.0, 4.0), 5.0),
        ("rhypot", (3.0, 4.0), 0.2),
        ("copysign", (3.0, -0.0), -3.0),
        ("pow", (2.0, -2.0), 0.25),
        ("fdivide", (1.0, 4.0), 0.25),
        ("atan2", (0.0, -1.0), math.pi),
        ("relu", (-3.0,), 0.0),
        ("erfcinv", (0.0,), math.inf),
        ("erfcinv", (2.0,), -math.inf),
        ("tgamma", (-0.0,), -math.inf),
        ("tgamma", (200.0,), math.inf),
        ("lgamma", (-1.0,), math.inf),
        ("y0", (0.0,), -math.inf),
        ("j0", (math.inf,), 0.0),
        ("erfcx", (-30.0,), math.inf),
    ],
)
def test_special_values(name: str, arguments: tuple[float, ...], expected: float) -> None:
    with np.errstate(all="ignore"):
        assert call(name, *arguments) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("name", "x"),
    [("erfinv", 1.5), ("tgamma", -2.0), ("y1", -1.0), ("erfcinv", -0.1), ("j1", math.nan)],
)
def test_no_value(name: str, x: float) -> None:
    assert math.isnan(call(name, x))


def test_next_float_depends_on_the_type() -> None:
    assert call("nextafter", 1.0, 2.0, dtype=F32) == 1 + 2.0**-23
    assert call("nextafter", 1.0, 2.0) == 1 + 2.0**-52


def test_empty_arrays() -> None:
    assert special.erf(np.zeros((0, 3))).shape == (0, 3)
