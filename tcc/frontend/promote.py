"""Promotion and conversion: which type two operands meet in, and the casts that take them there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from tcc.diagnostics import Report
from tcc.frontend import tir
from tcc.frontend.literals import overflows, too_large
from tcc.scalar import ScalarType
from tcc.source import Span

LiteralPlaces: TypeAlias = tuple[tuple[Fraction, Span], ...]


class Commitment(Enum):
    """How far a float value may still take the type of its context."""

    LITERAL = 0  # made of literals and integers: any float type
    AT_LEAST_FLOAT32 = 1  # a builtin of such values: float32 or float64
    FIXED = 2  # a tensor element or a cast has decided


@dataclass(frozen=True)
class Value:
    """A typed expression; it computes in `type.compute`, so a half value is a float32 expression.

    While a float is not FIXED its expression is written in float32 and can be written anew in
    another type; `literals` are the float literals in it.
    """

    expression: tir.Expression
    type: ScalarType
    span: Span
    commitment: Commitment = Commitment.FIXED
    literals: LiteralPlaces = ()

    @property
    def is_free(self) -> bool:
        """True while the type may still change with the context."""
        return self.commitment is not Commitment.FIXED


def match(a: ScalarType, b: ScalarType) -> ScalarType | None:
    """The type that two types meet in; None where one is bool and the other is not."""
    if a is b:
        return a
    if ScalarType.BOOL in (a, b):
        return None
    if a.is_float and b.is_float:
        if a.bits == b.bits:  # float16 and bfloat16
            return ScalarType.FLOAT32
        return a if a.bits > b.bits else b
    if a.is_float or b.is_float:
        return a if a.is_float else b
    bits = max(a.bits, b.bits)
    kind = "uint" if not (a.is_signed or b.is_signed) else "int"
    return ScalarType(f"{kind}{bits}")


def meet(values: Iterable[Value]) -> tuple[ScalarType, Commitment] | None:
    """The type that the values meet in and how firmly; None where bool meets a number."""
    first, *rest = values
    kind, commitment = first.type, first.commitment
    for value in rest:
        met = _meet(kind, commitment, value)
        if met is None:
            return None
        kind, commitment = met
    return kind, commitment


def _meet(
    kind: ScalarType, commitment: Commitment, value: Value
) -> tuple[ScalarType, Commitment] | None:
    if not kind.is_float or not value.type.is_float:
        met = match(kind, value.type)
        firm = commitment if kind.is_float else value.commitment
        return None if met is None else (met, firm)
    free, other = commitment is not Commitment.FIXED, value.is_free
    if free and other:
        return ScalarType.FLOAT32, max(commitment, value.commitment, key=lambda c: c.value)
    if free:
        return adapted(commitment, value.type), Commitment.FIXED
    if other:
        return adapted(value.commitment, kind), Commitment.FIXED
    met = match(kind, value.type)
    return None if met is None else (met, Commitment.FIXED)


def adapted(commitment: Commitment, context: ScalarType) -> ScalarType:
    """The type that a value that is not FIXED takes beside one of a float type."""
    if commitment is Commitment.AT_LEAST_FLOAT32 and context.is_half:
        return ScalarType.FLOAT32
    return context


def join(values: Iterable[Value]) -> LiteralPlaces:
    """The literals of several values."""
    return tuple(place for value in values for place in value.literals)


def write_in(
    value: Value, kind: ScalarType, commitment: Commitment, report: Report
) -> tir.Expression:
    """The value as an operand of type `kind`; its literals are checked once that is FIXED."""
    if commitment is Commitment.FIXED:
        return convert(value, kind, report)
    return _cast(value.expression, kind.compute)


def convert(value: Value, kind: ScalarType, report: Report) -> tir.Expression:
    """The value converted to a type, as an expression that computes in it; literals are exact."""
    if value.is_free:
        return _settle(value, kind.compute if kind.is_float else ScalarType.FLOAT32, kind, report)
    return _cast(value.expression, kind.compute)


def round_to(value: Value, kind: ScalarType, report: Report) -> tir.Expression:
    """An explicit cast: like `convert`, but a half type also rounds."""
    wide = convert(value, kind, report)
    return tir.Cast(tir.Cast(wide, kind), wide.type) if kind.is_half else wide


def _settle(value: Value, floating: ScalarType, kind: ScalarType, report: Report) -> tir.Expression:
    for number, span in value.literals:
        if overflows(number, floating):
            report.add(too_large(span.text, floating, span))
    return _cast(_written_in(value.expression, floating), kind.compute)


def _cast(expression: tir.Expression, kind: ScalarType) -> tir.Expression:
    if expression.type is kind:
        return expression
    if isinstance(expression, tir.Literal) and expression.type.is_integer:
        number = expression.value
        if kind.is_float:
            return tir.Literal(Fraction(number), kind)
        low, high = kind.integer_range
        if kind.is_integer and low <= number <= high:
            return tir.Literal(number, kind)
    return tir.Cast(expression, kind)


def _written_in(expression: tir.Expression, kind: ScalarType) -> tir.Expression:
    """A float expression without a fixed type, in another float type."""
    if expression.type is kind:
        return expression
    match expression:
        case tir.Literal(value, _):
            return tir.Literal(value, kind)
        case tir.Unary(operator, operand, _):
            return tir.Unary(operator, _written_in(operand, kind), kind)
        case tir.Binary(operator, left, right, _):
            return tir.Binary(operator, _written_in(left, kind), _written_in(right, kind), kind)
        case tir.Select(condition, then, otherwise, _):
            arms = _written_in(then, kind), _written_in(otherwise, kind)
            return tir.Select(condition, *arms, kind)
        case tir.Call(function, arguments, _):
            return tir.Call(function, tuple(_written_in(a, kind) for a in arguments), kind)
        case tir.Cast(operand, _):
            return tir.Cast(operand, kind)
        case _:
            raise AssertionError(f"{expression} has a fixed type")
