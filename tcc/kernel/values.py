"""Typed expressions to kernel expressions, at one point of the loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from tcc.affine import Affine
from tcc.frontend import reduction, tir
from tcc.frontend.subscripts import affine_form
from tcc.kernel import ir
from tcc.kernel.context import Context
from tcc.kernel.safe_text import comment_text
from tcc.scalar import ScalarType

Reader = Callable[[tir.Read, tuple[Affine | ir.Expression, ...]], ir.Expression]


class Values:
    """Lowers values; `read` decides where a tensor element comes from.

    `point` maps index variables to kernel variables; subscripts handed to `read` are storage
    subscripts (the tensor's origin is subtracted).
    """

    def __init__(self, context: Context, point: Mapping[str, Affine], read: Reader) -> None:
        self._context = context
        self._point = point
        self._read = read

    def affine(self, form: Affine) -> Affine:
        """An affine form at this point."""
        return self._context.size(form.substitute(self._point))

    def value(self, expression: tir.Expression) -> ir.Expression:  # noqa: C901 - one case a node
        """The kernel expression of a typed expression."""
        if expression.type is ScalarType.INT32 and not isinstance(expression, tir.Literal):
            form = affine_form(expression)
            if form is not None:
                return ir.Int(self.affine(form))
        match expression:
            case tir.Literal(value, type):
                return ir.Const(value, type)
            case tir.Index(name):
                return ir.Int(self._point[name])
            case tir.Size(value):
                return ir.Int(self._context.size(value))
            case tir.Read():
                return self._read(expression, self._storage(expression))
            case tir.Unary(operator, operand, type):
                return ir.Unary(operator, self.value(operand), type)
            case tir.Binary(operator, left, right, type):
                return ir.Binary(operator, self.value(left), self.value(right), type)
            case tir.Select(condition, then, otherwise, type):
                return ir.Select(
                    self.value(condition), self.value(then), self.value(otherwise), type
                )
            case tir.Call(function, arguments, type):
                return ir.Call(function, tuple(self.value(a) for a in arguments), type)
            case tir.Cast(operand, type):
                return ir.Cast(self.value(operand), type)
            case _:
                assert_never(expression)

    def _storage(self, read: tir.Read) -> tuple[Affine | ir.Expression, ...]:
        return tuple(self.subscript(read, dim) for dim in range(len(read.subscripts)))

    def subscript(self, read: tir.Read, dim: int) -> Affine | ir.Expression:
        """A storage subscript of a read, checked where the context asks for that."""
        origin = self._context.tensor(read.tensor).origin[dim]
        found = self._subscript(read.subscripts[dim], origin)
        return self._checked(read, dim, found) if self._context.check_bounds else found

    def _checked(
        self, read: tir.Read, dim: int, subscript: Affine | ir.Expression
    ) -> Affine | ir.Expression:
        """A subscript that only the run decides; the others are known to be inside."""
        if isinstance(subscript, Affine):
            return subscript
        extent = self._context.size(self._context.tensor(read.tensor).shape[dim])
        text = comment_text(" ".join(read.span.text.split())).replace('"', "'")
        return ir.Checked(subscript, extent, f"subscript {dim} of `{text}`")

    def _subscript(self, subscript: tir.Expression, origin: Affine) -> Affine | ir.Expression:
        form = affine_form(subscript)
        if form is not None:
            return self.affine(form - origin)
        value = self.value(subscript)
        if origin.is_constant and origin.value == 0:
            return value
        if value.type.bits < ScalarType.INT32.bits:
            value = ir.Cast(value, ScalarType.INT32)
        shift: ir.Expression = ir.Int(self._context.size(origin))
        if value.type is not ScalarType.INT32:
            shift = ir.Cast(shift, value.type)
        return ir.Binary("-", value, shift, value.type)


def combine(operator: str, old: ir.Expression, new: ir.Expression) -> ir.Expression:
    """`old operator new` for a reduction; a sum of float products contracts to `fma`."""
    match new:
        case ir.Binary("*", left, right, type) if operator == "+" and type.is_float:
            return ir.Call("fma", (left, right, old), type)
        case _:
            return ir.Binary(operator, old, new, new.type)


def start(statement: tir.Statement, type: ScalarType) -> ir.Const:
    """The value that a reduction starts from, or a thread's part of it."""
    return ir.Const(reduction.start(statement, type), type)


def cast(value: ir.Expression, type: ScalarType) -> ir.Expression:
    """The value in a type; nothing happens when it has that type."""
    return value if value.type is type else ir.Cast(value, type)
