"""Index arithmetic that may leave int32, in 64 bits and cast back.

Integers wrap in their type, and all later stages take affine forms for mathematical integers.
`A((i * 1103515245) % 512)` becomes `A(int32(int64(i) * 1103515245) % 512)`: no affine form, and no
overflow in C++. A whole subscript needs no care: where it wraps it is outside of its tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tcc.affine import Interval
from tcc.frontend import tir
from tcc.frontend.rewrite import with_operands
from tcc.frontend.subscripts import affine_form
from tcc.scalar import ScalarType

OPEN_SIZE = 1 << 15
"""What a size without a value counts for: with more, hardly any product would be affine."""

OPEN_INDEX = 1 << 24
"""The largest value of an index whose range is not known, such as that of a product of sizes."""


def widen(program: tir.Program, sizes: Mapping[str, int]) -> tir.Program:
    """The program with its wrapping arithmetic on indices made explicit; it means the same.

    Sizes without a value count as at most OPEN_SIZE, indices over them as at most OPEN_INDEX.
    """
    known: dict[str, Interval] = dict.fromkeys(program.sizes, (1, OPEN_SIZE))
    known |= {s: (v, v) for s, v in sizes.items()}
    open_ = frozenset(program.sizes) - sizes.keys()
    statements = tuple(_statement(s, known, open_) for s in program.statements)
    return program if statements == program.statements else replace(program, statements=statements)


def _statement(
    statement: tir.Statement, sizes: Mapping[str, Interval], open_: frozenset[str]
) -> tir.Statement:
    known = dict(sizes)
    for name in statement.indices + statement.reductions:
        limits = statement.ranges[name]
        low, last = limits.low.bounds(known)[0], (limits.high - 1).bounds(known)[1]
        if limits.high.variables & open_:
            open_ |= {name}
            last = OPEN_INDEX if last is None else min(last, OPEN_INDEX)
        known[name] = low, last
    return replace(statement, value=_Widener(known).expression(statement.value))


class _Widener:
    def __init__(self, known: Mapping[str, Interval]) -> None:
        self._known = known

    def expression(self, node: tir.Expression) -> tir.Expression:
        """The expression where its value counts, not only its affine form."""
        if not _is_sum(node):
            return with_operands(node, self._subscript if _is_read(node) else self.expression)
        form = affine_form(node)
        if form is None:
            return with_operands(node, self.expression)
        low, high = form.bounds(self._known)
        least, largest = node.type.integer_range
        if low is None or high is None or low < least or high > largest:
            return tir.Cast(self._wide(node), node.type)
        return self._part(node)

    def _subscript(self, node: tir.Expression) -> tir.Expression:
        """A whole subscript."""
        return self.expression(node) if affine_form(node) is None else self._part(node)

    def _part(self, node: tir.Expression) -> tir.Expression:
        """An operand of a sum whose value is in range."""
        return with_operands(node, self._part) if _is_sum(node) else self.expression(node)

    def _wide(self, node: tir.Expression) -> tir.Expression:
        """The same sum in int64, which holds it modulo 2^32."""
        if isinstance(node, tir.Literal):
            return replace(node, type=ScalarType.INT64)
        if not _is_sum(node):
            return tir.Cast(self.expression(node), ScalarType.INT64)
        match with_operands(node, self._wide):
            case tir.Unary() | tir.Binary() as sum_:
                return replace(sum_, type=ScalarType.INT64)
            case other:
                return other


def _is_read(node: tir.Expression) -> bool:
    return isinstance(node, tir.Read)


def _is_sum(node: tir.Expression) -> bool:
    """Whether this is int32 arithmetic that wraps."""
    match node:
        case tir.Unary("-", _, kind) | tir.Binary("+" | "-" | "*", _, _, kind):
            return kind is ScalarType.INT32
        case _:
            return False
