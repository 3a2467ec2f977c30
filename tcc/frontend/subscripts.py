"""Typed integer expressions as affine forms: the bridge from the language to ranges and isl."""

from __future__ import annotations

from tcc.affine import Affine, const, maximum, minimum, var
from tcc.frontend import tir


def affine_form(expression: tir.Expression) -> Affine | None:
    """The expression over index variables and sizes, or None where it is not quasi-affine.

    Products of two sizes are kept (an opaque `Product`); a product with an index variable, a
    division or modulus by anything but a constant, and every read or call are None.
    Integer wrap-around is not modelled: subscripts are taken as mathematical integers.
    """
    match expression:
        case tir.Index(name):
            return var(name)
        case tir.Size(value):
            return value
        case tir.Literal(value, _) if isinstance(value, int) and not isinstance(value, bool):
            return const(value)
        case tir.Unary("-", operand, _):
            inner = affine_form(operand)
            return None if inner is None else -inner
        case tir.Cast(operand, to) if to.is_integer and operand.type.is_integer:
            return affine_form(operand) if to.bits >= operand.type.bits else None
        case tir.Binary("*", left, right, _):
            return _product(left, right)
        case tir.Binary(operator, left, right, _):
            return _binary(operator, affine_form(left), affine_form(right))
        case _:
            return None


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
