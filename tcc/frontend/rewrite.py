"""Rebuilding typed expressions: one bottom-up map, and the substitution of sizes built on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.scalar import ScalarType


def rebuild(
    expression: tir.Expression, change: Callable[[tir.Expression], tir.Expression]
) -> tir.Expression:
    """The expression with `change` applied to every node, operands first."""
    return change(_with_children(expression, change))


def _with_children(
    expression: tir.Expression, change: Callable[[tir.Expression], tir.Expression]
) -> tir.Expression:
    match expression:
        case tir.Literal() | tir.Index() | tir.Size():
            return expression
        case tir.Read(_, subscripts, _, _):
            return replace(expression, subscripts=tuple(rebuild(s, change) for s in subscripts))
        case tir.Unary(_, operand, _) | tir.Cast(operand, _):
            return replace(expression, operand=rebuild(operand, change))
        case tir.Binary(_, left, right, _):
            return replace(expression, left=rebuild(left, change), right=rebuild(right, change))
        case tir.Select(condition, then, otherwise, _):
            return replace(
                expression,
                condition=rebuild(condition, change),
                then=rebuild(then, change),
                otherwise=rebuild(otherwise, change),
            )
        case tir.Call(_, arguments, _):
            return replace(expression, arguments=tuple(rebuild(a, change) for a in arguments))
        case _:
            assert_never(expression)


def size_node(value: Affine) -> tir.Expression:
    """A size expression as a node; a constant becomes a literal."""
    if value.is_constant:
        return tir.Literal(value.value, ScalarType.INT32)
    return tir.Size(value)


def substitute_sizes(expression: tir.Expression, values: Mapping[str, Affine]) -> tir.Expression:
    """The expression with sizes replaced by other size expressions or constants."""

    def change(node: tir.Expression) -> tir.Expression:
        if isinstance(node, tir.Size):
            return size_node(node.value.substitute(values))
        return node

    return rebuild(expression, change) if values else expression
