"""Exact values of number literals, and the limits of the types they may take."""

from __future__ import annotations

from fractions import Fraction

from tcc.diagnostics import Diagnostic, error
from tcc.frontend import ast
from tcc.scalar import ScalarType
from tcc.source import Span

_OVERFLOW = {
    ScalarType.FLOAT32: 2**128 - 2**103,
    ScalarType.FLOAT64: 2**1024 - 2**970,
}
"""The smallest values that round to infinity."""


def integer_value(number: ast.Number) -> int:
    """The value of an integer literal; the lexer bounds its digits."""
    return int(number.text)


def float_value(number: ast.Number) -> Fraction:
    """The exact value of a float literal; the lexer bounds its digits and its exponent."""
    return Fraction(number.text)


def overflows(value: Fraction, kind: ScalarType) -> bool:
    """True where a value rounds to infinity in float32 or float64."""
    return abs(value) >= _OVERFLOW[kind]


def too_large(number: str, kind: ScalarType, span: Span) -> Diagnostic:
    """The error for a literal that its type cannot hold."""
    help: tuple[str, ...]
    wide = [t for t in (ScalarType.INT64, ScalarType.UINT64) if kind is ScalarType.INT32]
    wide = [t for t in wide if int(number) <= t.integer_range[1]]
    if wide:
        help = (f"cast it to a 64-bit type: `{wide[0].value}({number})`",)
    elif kind is ScalarType.FLOAT32:
        help = (f"compute in double: `double({number})`",)
    elif kind.is_integer:
        low, high = kind.integer_range
        help = (f"write a value from {low} to {high}",)
    else:
        help = (f"write a smaller number: this is infinite in {kind.value}",)
    message = f"`{number}` does not fit into {kind.value}"
    return error("E0217", message, span, "out of range", help=help)
