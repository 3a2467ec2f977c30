"""Exact values of number literals, and the limits of the types they may take."""

from __future__ import annotations

from fractions import Fraction

from tcc.diagnostics import Diagnostic, error
from tcc.frontend import ast
from tcc.scalar import ScalarType
from tcc.source import Span

MAX_DIGITS = 400
MAX_EXPONENT = 2000

_OVERFLOW = {
    ScalarType.FLOAT32: 2**128 - 2**103,
    ScalarType.FLOAT64: 2**1024 - 2**970,
}
"""The smallest values that round to infinity."""


def integer_value(number: ast.Number) -> int | None:
    """The value of an integer literal; None beyond 20 digits, more than any type holds."""
    digits = number.text.lstrip("0") or "0"
    return int(digits) if len(digits) <= len(str(2**64)) else None


def float_value(number: ast.Number) -> Fraction | None:
    """The exact value of a float literal; None where no type holds it or its digits."""
    mantissa, _, exponent = number.text.lower().partition("e")
    digits = exponent.lstrip("+-").lstrip("0") or "0"
    if len(mantissa) > MAX_DIGITS or len(digits) > len(str(MAX_EXPONENT)):
        return None
    if int(digits) > MAX_EXPONENT:
        return None
    value = Fraction(number.text)
    return None if overflows(value, ScalarType.FLOAT64) else value


def overflows(value: Fraction, kind: ScalarType) -> bool:
    """True where a value rounds to infinity in float32 or float64."""
    return abs(value) >= _OVERFLOW[kind]


def too_large(text: str, kind: ScalarType, span: Span) -> Diagnostic:
    """The error for a literal that its type cannot hold."""
    help: tuple[str, ...] = ()
    if kind is ScalarType.INT32:
        help = (f"cast it to a 64-bit type: `int64({text})`",)
    elif kind is ScalarType.FLOAT32:
        help = (f"compute in double: `double({text})`",)
    message = f"`{text}` does not fit into {kind.value}"
    if kind is ScalarType.INT32:
        message = f"integer literal `{text}` does not fit into int32"
    return error("E0217", message, span, "out of range", help=help)
