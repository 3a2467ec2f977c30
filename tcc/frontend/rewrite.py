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
    return change(with_operands(expression, lambda e: rebuild(e, change)))


def with_operands(
    expression: tir.Expression, change: Callable[[tir.Expression], tir.Expression]
) -> tir.Expression:
    """The expression with `change` applied to its direct operands, subscripts included."""
    match expression:
        case tir.Literal() | tir.Index() | tir.Size():
            return expression
        case tir.Read(_, subscripts, _, _):
            return replace(expression, subscripts=tuple(map(change, subscripts)))
        case tir.Unary(_, operand, _) | tir.Cast(operand, _):
            return replace(expression, operand=change(operand))
        case tir.Binary(_, left, right, _):
            return replace(expression, left=change(left), right=change(right))
        case tir.Select(condition, then, otherwise, _):
            return replace(
                expression,
                condition=change(condition),
                then=change(then),
                otherwise=change(otherwise),
            )
        case tir.Call(_, arguments, _):
            return replace(expression, arguments=tuple(map(change, arguments)))
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
