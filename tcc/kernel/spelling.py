"""How C++ spells scalar types and constants, and how tightly its operators bind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from tcc.scalar import INT_BITS, ScalarType

Part: TypeAlias = tuple[str, int]
"""Text with the precedence of its outermost operator."""

C_TYPES: Mapping[ScalarType, str] = {
    ScalarType.BOOL: "bool",
    ScalarType.UINT8: "unsigned char",
    ScalarType.UINT16: "unsigned short",
    ScalarType.UINT32: "unsigned int",
    ScalarType.UINT64: "unsigned long long",
    ScalarType.INT8: "signed char",
    ScalarType.INT16: "short",
    ScalarType.INT32: "int",
    ScalarType.INT64: "long long",
    ScalarType.FLOAT16: "__half",
    ScalarType.BFLOAT16: "__nv_bfloat16",
    ScalarType.FLOAT32: "float",
    ScalarType.FLOAT64: "double",
}
SELECT, UNARY, ATOM = 1, 8, 9
PRECEDENCE: Mapping[str, int] = {
    "||": 2,
    "&&": 3,
    "==": 4,
    "!=": 4,
    "<": 5,
    "<=": 5,
    ">": 5,
    ">=": 5,
    "+": 6,
    "-": 6,
    "*": 7,
    "/": 7,
    "%": 7,
}
COMPARISON, SUM, PRODUCT = PRECEDENCE["<"], PRECEDENCE["+"], PRECEDENCE["*"]

TO_HALF = {
    ScalarType.FLOAT16: "__float2half_rn",
    ScalarType.BFLOAT16: "__float2bfloat16_rn",
}
FROM_HALF = {ScalarType.FLOAT16: "__half2float", ScalarType.BFLOAT16: "__bfloat162float"}
NAN = {
    ScalarType.FLOAT32: "__int_as_float(0x7fffffff)",
    ScalarType.FLOAT64: "__longlong_as_double(0x7fffffffffffffffLL)",
}
INFINITY = {
    ScalarType.FLOAT32: "__int_as_float(0x7f800000)",
    ScalarType.FLOAT64: "__longlong_as_double(0x7ff0000000000000LL)",
}
HALF_OF_LEAST_FLOAT = Fraction(1, 2**150)
"""What is not larger rounds to zero, about which a compiler would warn."""


def wrap(part: Part, least: int) -> str:
    """The text as an operand that must bind at least that tightly."""
    text, level = part
    return text if level >= least else f"({text})"


def narrow(part: Part, type: ScalarType) -> Part:
    """Results of small integer types wrap in their own width, not in int."""
    if type.is_integer and type.bits < INT_BITS:
        return f"({C_TYPES[type]}){wrap(part, UNARY)}", UNARY
    return part


def literal(value: bool | int | Fraction | float, type: ScalarType) -> Part:
    """A constant; floats with enough digits to read back exactly."""
    if type is ScalarType.BOOL:
        return ("true" if value else "false"), ATOM
    if type.is_half:
        return f"{TO_HALF[type]}({_float_literal(value, ScalarType.FLOAT32)[0]})", ATOM
    if type.is_float:
        return _float_literal(value, type)
    return _integer_literal(int(value), type)


def _integer_literal(number: int, type: ScalarType) -> Part:
    wide, unsigned = type.bits > INT_BITS, not type.is_signed
    suffix = {(0, 0): "", (0, 1): "u", (1, 0): "LL", (1, 1): "ULL"}[wide, unsigned]
    if type.bits < INT_BITS:
        text = str(number) if number >= 0 else f"({number})"
        return f"({C_TYPES[type]}){text}", UNARY
    if number < 0 and number == type.integer_range[0]:
        return f"({number + 1}{suffix} - 1)", ATOM
    return f"{number}{suffix}", ATOM if number >= 0 else UNARY


def _float_literal(value: bool | int | Fraction | float, type: ScalarType) -> Part:
    if math.isnan(value):
        return NAN[type], ATOM
    sign, level = ("-", UNARY) if value < 0 else ("", ATOM)
    if value in (float("inf"), float("-inf")):
        return sign + INFINITY[type], level
    size = abs(Fraction(value))
    text = repr(float(size))
    if type is ScalarType.FLOAT32:
        text = f"{_float32_digits(size, text)}f"
    return sign + text, level


def _float32_digits(size: Fraction, nearest: str) -> str:
    """The exact value, where the digits of the nearest double would round it twice."""
    if size <= HALF_OF_LEAST_FLOAT:
        return "0.0"
    places = 0
    while Fraction(nearest) != size and places < size.denominator.bit_length():
        places += 1
        whole = size * 10**places
        if whole.denominator == 1:
            return f"{whole.numerator}e-{places}"
    return nearest
