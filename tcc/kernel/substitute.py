"""Kernel variables replaced by affine expressions, throughout a body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from tcc.affine import Affine
from tcc.kernel import ir

Body = tuple[ir.Statement, ...]


def substitute(body: Body, values: Mapping[str, Affine]) -> Body:
    """The statements with variables replaced. Requires: nothing inside declares one of them."""
    return tuple(_statement(s, values) for s in body)


def _statement(statement: ir.Statement, values: Mapping[str, Affine]) -> ir.Statement:
    match statement:
        case ir.For(_, low, high, _, _, body):
            return replace(
                statement,
                low=low.substitute(values),
                high=high.substitute(values),
                body=substitute(body, values),
            )
        case ir.If(conditions, body, otherwise):
            return ir.If(
                _all(conditions, values), substitute(body, values), substitute(otherwise, values)
            )
        case ir.Let(var, value):
            return ir.Let(var, _value(value, values))
        case ir.Store(buffer, index, value):
            return ir.Store(buffer, _all(index, values), _expression(value, values))
        case ir.Atomic(_, index, _, value):
            return replace(statement, index=_all(index, values), value=_expression(value, values))
        case ir.VectorMove() | ir.AsyncCopy():
            return replace(
                statement,
                target_index=_all(statement.target_index, values),
                source_index=_all(statement.source_index, values),
            )
        case ir.Declare() | ir.AsyncCommit() | ir.AsyncWait() | ir.Barrier() | ir.Comment():
            return statement
        case _:
            assert_never(statement)


def _all(
    items: tuple[Affine | ir.Expression, ...], values: Mapping[str, Affine]
) -> tuple[Affine | ir.Expression, ...]:
    return tuple(_value(i, values) for i in items)


def _value(value: Affine | ir.Expression, values: Mapping[str, Affine]) -> Affine | ir.Expression:
    return value.substitute(values) if isinstance(value, Affine) else _expression(value, values)


def _expression(expression: ir.Expression, values: Mapping[str, Affine]) -> ir.Expression:
    def change(node: ir.Expression) -> ir.Expression:
        match node:
            case ir.Int(value):
                return ir.Int(value.substitute(values))
            case ir.Load(buffer, index):
                moved = (i.substitute(values) if isinstance(i, Affine) else i for i in index)
                return ir.Load(buffer, tuple(moved))
            case _:
                return node

    return ir.rewrite(expression, change)
