"""Constants as C++ literals: they read back as the exact value, or as its nearest float."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcc.kernel.spelling import ATOM, SUM, UNARY, literal, narrow, wrap
from tcc.scalar import ScalarType as T


@pytest.mark.parametrize(
    ("value", "type", "text"),
    [
        (True, T.BOOL, "true"),
        (0, T.INT32, "0"),
        (-5, T.INT32, "-5"),
        (-(2**31), T.INT32, "(-2147483647 - 1)"),
        (2**31 - 1, T.INT32, "2147483647"),
        (2**32 - 1, T.UINT32, "4294967295u"),
        (-(2**63), T.INT64, "(-9223372036854775807LL - 1)"),
        (2**64 - 1, T.UINT64, "18446744073709551615ULL"),
        (-128, T.INT8, "(signed char)(-128)"),
        (255, T.UINT8, "(unsigned char)255"),
        (Fraction(1, 10), T.FLOAT32, "0.1f"),
        (Fraction(-3), T.FLOAT64, "-3.0"),
        (float("-inf"), T.FLOAT32, "-__int_as_float(0x7f800000)"),
        (float("inf"), T.FLOAT64, "__longlong_as_double(0x7ff0000000000000LL)"),
        (Fraction(1, 2), T.FLOAT16, "__float2half_rn(0.5f)"),
        (Fraction(1, 10**60), T.FLOAT32, "0.0f"),
        (Fraction(1, 10**45), T.FLOAT32, "1e-45f"),
    ],
)
def test_literals(value: bool | int | Fraction | float, type: T, text: str) -> None:
    assert literal(value, type)[0] == text


def test_float32_literals_are_rounded_once() -> None:
    """The digits of the nearest double are on the other side of the middle of two floats."""
    value = 1 + Fraction(1, 2**24) - Fraction(1, 10**20)
    text = literal(value, T.FLOAT32)[0].removesuffix("f")
    assert Fraction(text) == value
    assert value < 1 + Fraction(1, 2**24) < Fraction(repr(float(value)))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-1e6, max_value=1e6))
def test_decimals_keep_their_value(value: object) -> None:
    exact = Fraction(str(value))
    for type, suffix in ((T.FLOAT64, ""), (T.FLOAT32, "f")):
        text = literal(exact, type)[0].removesuffix(suffix)
        assert float(text) == float(exact)


def test_levels() -> None:
    assert literal(5, T.INT32)[1] == ATOM
    assert literal(-5, T.INT32)[1] == UNARY
    assert literal(Fraction(-1), T.FLOAT32)[1] == UNARY
    assert wrap(("a + b", SUM), UNARY) == "(a + b)"
    assert wrap(("a", ATOM), UNARY) == "a"
    assert narrow(("a + b", SUM), T.INT16) == ("(short)(a + b)", UNARY)
    assert narrow(("a + b", SUM), T.INT32) == ("a + b", SUM)
