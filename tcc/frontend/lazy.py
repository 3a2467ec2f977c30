"""Which reads of an expression always happen: not below `?:`, nor right of `&&` and `||`."""

from __future__ import annotations

from collections.abc import Iterator

from tcc.frontend import tir


def unconditional_reads(expression: tir.Expression) -> Iterator[tir.Read]:
    """The reads that every evaluation performs, outside in, left to right."""
    match expression:
        case tir.Read():
            yield expression
            for subscript in expression.subscripts:
                yield from unconditional_reads(subscript)
        case tir.Select(condition, _, _, _):
            yield from unconditional_reads(condition)
        case tir.Binary("&&" | "||", left, _, _):
            yield from unconditional_reads(left)
        case _:
            for child in tir.children(expression):
                yield from unconditional_reads(child)
