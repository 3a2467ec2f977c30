"""Typed integer expressions as affine forms: the bridge from the language to ranges and isl."""

from __future__ import annotations

from tcc.affine import Affine, const, maximum, minimum, var
from tcc.frontend import tir
from tcc.scalar import ScalarType

_INDEX_BITS = 32
"""Narrower types wrap at numbers that indices have."""


def affine_form(expression: tir.Expression) -> Affine | None:
    """The expression over index variables and sizes, or None where it is not quasi-affine.

    Products of two sizes are kept (an opaque `Product`); a product with an index variable, a
    division or modulus by anything but a constant, and every read or call are None.
    Integer wrap-around is not modelled, the form is a mathematical integer: `widen` puts casts
    where int32 may wrap, and what depends on the wrapping of unsigned types has no form.
    """
    match expression:
        case tir.Index(name):
            return var(name)
        case tir.Size(value):
            return value
        case tir.Literal(value, _) if isinstance(value, int) and not isinstance(value, bool):
            return const(value)
        case tir.Unary("-", operand, kind) if kind.bits >= _INDEX_BITS:
            inner = affine_form(operand)
            return None if inner is None else -inner
        case tir.Cast(operand, to) if to.is_integer and operand.type.is_integer:
            return _converted(affine_form(operand), operand.type, to)
        case tir.Binary(operator, left, right, kind) if kind.bits >= _INDEX_BITS:
            if operator == "*":
                return _product(left, right)
            # Of an unsigned -1, which is large, only sums and products have the form they seem to.
            exact = kind.is_signed or operator in ("+", "-")
            return _binary(operator, affine_form(left), affine_form(right)) if exact else None
        case _:
            return None


def _converted(form: Affine | None, old: ScalarType, new: ScalarType) -> Affine | None:
    """The form in another integer type, where that keeps it: an unsigned -1 becomes large."""
    if form is None or (form.is_constant and form.value >= 0 and new.bits >= _INDEX_BITS):
        return form
    return form if new.bits >= old.bits and (old.is_signed or new.bits == old.bits) else None


def _product(left: tir.Expression, right: tir.Expression) -> Affine | None:
    a, b = affine_form(left), affine_form(right)
    if a is None or b is None:
        return None
    sizes_only = not any(isinstance(e, tir.Index) for s in (left, right) for e in tir.walk(s))
    return a * b if a.is_constant or b.is_constant or sizes_only else None


def _divided(operator: str, left: Affine, by: int) -> Affine:
    """Floor division or its remainder, which has the sign of the divisor."""
    if by < 0:
        return (-left) // -by if operator == "/" else -((-left) % -by)
    return left // by if operator == "/" else left % by


def _binary(operator: str, left: Affine | None, right: Affine | None) -> Affine | None:
    if left is None or right is None:
        return None
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "/" | "%" if right.is_constant and right.value != 0:
            return _divided(operator, left, right.value)
        case "min":
            return minimum(left, right)
        case "max":
            return maximum(left, right)
        case _:
            return None
