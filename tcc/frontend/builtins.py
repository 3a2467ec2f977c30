"""The builtin functions: arity, and their names in CUDA C++."""

from __future__ import annotations

from dataclasses import dataclass

from tcc.scalar import ScalarType


@dataclass(frozen=True)
class Builtin:
    """One function on float32 or float64, with its name in CUDA C++ for each of the two.

    `sigmoid` and `relu` are no CUDA functions: the emitter defines
    them. `in_math_h` is true where C's `math.h` declares both names (C99, and the Bessel functions
    of POSIX); elsewhere the host device must bring its own.
    """

    name: str
    arity: int
    float32: str
    float64: str
    in_math_h: bool


_NAMES = {
    1: "acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf "
    "erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs floor j0 j1 lgamma log log10 log1p log2 "
    "logb normcdf normcdfinv rcbrt round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1",
    2: "atan2 copysign fdim fdivide fmax fmin fmod hypot nextafter pow remainder rhypot",
    3: "fma norm3d rnorm3d",
    4: "norm4d rnorm4d",
}
_CUDA_ONLY = (
    "cospi cyl_bessel_i0 cyl_bessel_i1 erfcinv erfcx erfinv exp10 fdivide norm3d norm4d normcdf "
    "normcdfinv rcbrt rhypot rnorm3d rnorm4d rsqrt sinpi"
)

BUILTINS: dict[str, Builtin] = {
    name: Builtin(name, arity, f"{name}f", name, name not in _CUDA_ONLY.split())
    for arity, names in _NAMES.items()
    for name in names.split()
} | {
    "abs": Builtin("abs", 1, "fabsf", "fabs", True),
    "sigmoid": Builtin("sigmoid", 1, "sigmoid", "sigmoid", False),
    "relu": Builtin("relu", 1, "relu", "relu", False),
}
"""All builtin functions by name: the 64 of Tensor Comprehensions, then `abs`, `sigmoid`, `relu`."""

ARITY: dict[str, int] = {b.name: b.arity for b in BUILTINS.values()}
"""Number of arguments of each builtin function."""


def spelling(function: str, type: ScalarType) -> str:
    """The name in CUDA C++ of a builtin function on float32 or float64."""
    builtin = BUILTINS[function]
    return builtin.float64 if type is ScalarType.FLOAT64 else builtin.float32
