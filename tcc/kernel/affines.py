"""Every affine expression of a kernel body: what the kernel needs as parameters."""

from __future__ import annotations

from typing import assert_never

from tcc.affine import Affine
from tcc.kernel import ir


def affines(body: tuple[ir.Statement, ...]) -> list[Affine]:
    """All affine expressions, in order."""
    return [a for s in ir.walk(body) for a in _of_statement(s)]


def _of_statement(statement: ir.Statement) -> list[Affine]:
    match statement:
        case ir.For(_, low, high, _, _, _):
            return [low, high]
        case ir.If(conditions, _, _):
            return [a for c in conditions for a in _of_value(c)]
        case ir.Let(_, value):
            return _of_value(value)
        case ir.Store(_, index, value) | ir.Atomic(_, index, _, value):
            return [a for e in (*index, value) for a in _of_value(e)]
        case ir.VectorMove() | ir.AsyncCopy():
            indices = (*statement.target_index, *statement.source_index)
            return [a for i in indices for a in _of_value(i)]
        case ir.Declare() | ir.Barrier() | ir.Comment() | ir.AsyncCommit() | ir.AsyncWait():
            return []
        case _:
            assert_never(statement)


def _of_value(value: Affine | ir.Expression) -> list[Affine]:
    if isinstance(value, Affine):
        return [value]
    found: list[Affine] = []

    def visit(expression: ir.Expression) -> ir.Expression:
        if isinstance(expression, ir.Int):
            found.append(expression.value)
        if isinstance(expression, ir.Load):
            found.extend(i for i in expression.index if isinstance(i, Affine))
        return expression

    ir.rewrite(value, visit)
    return found
