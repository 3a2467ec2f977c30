"""Types the expressions of a statement: from syntax to typed nodes with explicit casts.

An expression with an error is None and makes what contains it None, so that each error is
reported once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import assert_never

from tcc.affine import var
from tcc.diagnostics import error
from tcc.frontend import ast, tir
from tcc.frontend.builtins import BUILTINS
from tcc.frontend.literals import float_value, integer_value, overflows, too_large
from tcc.frontend.operators import LOGIC, Operators
from tcc.frontend.promote import Commitment, Value, round_to
from tcc.frontend.resolve import StatementNames, not_written
from tcc.frontend.rewrite import size_node
from tcc.frontend.scope import OPERATORS, Scope, Symbol
from tcc.frontend.spelling import expression_text
from tcc.frontend.suggest import element_form, suggestion
from tcc.scalar import ScalarType

WIDE = 64
"""Width of the types that an integer literal beyond int32 may be cast to."""


class Typer:
    """Types the expressions of one statement; `where` names are macros."""

    def __init__(self, scope: Scope, names: StatementNames) -> None:
        self._scope = scope
        self._names = names
        self._operators = Operators(scope.report, scope.given)
        self._lets: dict[str, Value | None] = {}
        with self._operators.under_condition():  # perhaps used only where one holds
            for name, clause in names.lets.items():
                self._lets[name] = self.value(clause.value)

    def value(self, expression: ast.Expression) -> Value | None:
        """The typed expression, or None after an error."""
        match expression:
            case ast.Number():
                return self._number(expression)
            case ast.Variable(name):
                return self._variable(name, expression)
            case ast.Apply():
                return self._apply(expression)
            case ast.Extent():
                return self._extent(expression)
            case ast.Cast():
                return self._cast(expression)
            case ast.Unary():
                return self._unary(expression)
            case ast.Binary():
                return self._binary(expression)
            case ast.Conditional():
                return self._conditional(expression)
            case _:
                assert_never(expression)

    def _binary(self, node: ast.Binary) -> Value | None:
        left = self.value(node.left)
        with self._operators.under_condition() if node.operator in LOGIC else nullcontext():
            right = self.value(node.right)
        if left and right:
            return self._operators.binary(left, right, node)
        for value, tree in ((left, node.left), (right, node.right)):
            if value:
                self._operators.is_operand(value, tree, node.operator)
        return None

    def _conditional(self, node: ast.Conditional) -> Value | None:
        condition = self.value(node.condition)
        with self._operators.under_condition():
            then, otherwise = self.value(node.then), self.value(node.otherwise)
        if condition and then and otherwise:
            return self._operators.select(condition, then, otherwise, node)
        if condition:
            self._operators.is_condition(condition, node.condition)
        return None

    def subscript(self, expression: ast.Expression, what: str) -> Value | None:
        """A typed expression that must be an integer; `what` names it in the message."""
        value = self.value(expression)
        sound = value is not None and self._operators.is_subscript(value, expression, what)
        return value if sound else None

    def bound(self, expression: ast.Expression, what: str) -> Value | None:
        """The same for a bound of a range."""
        value = self.value(expression)
        sound = value is not None and self._operators.is_bound(value, expression, what)
        return value if sound else None

    # -- literals, casts, signs ------------------------------------------------------------

    def _number(self, number: ast.Number) -> Value | None:
        if number.is_integer:
            return self._integer(number, 1, ScalarType.INT32)
        real = float_value(number)
        if overflows(real, ScalarType.FLOAT64):
            self._scope.report.add(too_large(number.text, ScalarType.FLOAT64, number.span))
            return None
        literal = tir.Literal(real, ScalarType.FLOAT32)
        places = ((real, number.span),)
        return Value(literal, literal.type, number.span, Commitment.LITERAL, places)

    def _integer(self, number: ast.Number, sign: int, kind: ScalarType) -> Value | None:
        value = integer_value(number)
        low, high = kind.integer_range
        if not low <= sign * value <= high:
            self._scope.report.add(too_large(number.text, kind, number.span))
            return None
        return Value(tir.Literal(sign * value, kind), kind, number.span)

    def _cast(self, cast: ast.Cast) -> Value | None:
        wide = self._wide_literal(cast)
        value = wide if wide is not None else self.value(cast.operand)
        if value is None:
            return None
        return Value(round_to(value, cast.type, self._scope.report), cast.type, cast.span)

    def _wide_literal(self, cast: ast.Cast) -> Value | None:
        """The operand of a cast to a 64-bit type where it is an integer beyond int32."""
        operand, sign = cast.operand, 1
        if isinstance(operand, ast.Unary) and operand.operator == "-":
            operand, sign = operand.operand, -1
        if cast.type.bits != WIDE or not isinstance(operand, ast.Number) or not operand.is_integer:
            return None
        value = sign * integer_value(operand)
        for kind in (ScalarType.INT32, ScalarType.INT64, ScalarType.UINT64):
            low, high = kind.integer_range
            if low <= value <= high and (kind.is_signed or cast.type is not ScalarType.INT64):
                return Value(tir.Literal(value, kind), kind, operand.span)
        return None

    def _unary(self, unary: ast.Unary) -> Value | None:
        operand = unary.operand
        if unary.operator == "-" and isinstance(operand, ast.Number) and operand.is_integer:
            return self._integer(operand, -1, ScalarType.INT32)
        value = self.value(operand)
        if value is None:
            return None
        if unary.operator == "-":
            return self._operators.negate(value, unary)
        return self._operators.invert(value, unary)

    # -- names -----------------------------------------------------------------------------

    def _variable(self, name: ast.Name, tree: ast.Expression) -> Value | None:
        text = name.text
        if self._is_silent(text):
            return None
        if text in self._lets:
            value = self._lets[text]
            return value and Value(
                value.expression, value.type, name.span, value.commitment, value.literals
            )
        if text in self._scope.signature.sizes and text not in self._names.indices:
            return Value(tir.Size(var(text)), ScalarType.INT32, name.span)
        if text in self._names.indices or self._scope.meaning(text) is None:
            return Value(tir.Index(text), ScalarType.INT32, name.span)
        if self._scope.is_tensor(text):
            return self._read(name, (), tree)
        self._wrong_arity(name, 0)
        return None

    def _apply(self, apply: ast.Apply) -> Value | None:
        name, text = apply.name, apply.name.text
        if text in OPERATORS:
            operands = self._values(apply.arguments)
            return self._operators.extremum(operands, apply) if operands else None
        if self._is_silent(text):
            self._of_unknown(apply.arguments)
            return None
        is_index = text in self._names.indices or text in self._names.places
        if self._scope.is_tensor(text) and not is_index:
            return self._read(name, apply.arguments, apply)
        if text in self._scope.defs and text not in BUILTINS and not is_index:
            self._not_callable(name, is_index)  # its arguments may be whole tensors
            return None
        if text not in BUILTINS:
            self._of_unknown(apply.arguments)
            self._not_callable(name, is_index)
            return None
        values = self._values(apply.arguments)
        if len(apply.arguments) != BUILTINS[text].arity:
            self._wrong_arity(name, len(apply.arguments))
            return None
        return self._operators.builtin(values, apply) if values else None

    def _of_unknown(self, arguments: Sequence[ast.Expression]) -> None:
        """Report what is wrong in them; whole tensors would be right for a def."""
        self._values(
            [
                a
                for a in arguments
                if not (isinstance(a, ast.Variable) and self._scope.is_tensor(a.name.text))
            ]
        )

    def _extent(self, extent: ast.Extent) -> Value | None:
        text = extent.tensor.text
        if self._is_silent(text):
            return None
        if not self._scope.is_tensor(text):
            self._not_callable(extent.tensor, text in self._names.places)
            return None
        symbol = self._defined(extent.tensor)
        if symbol is None:
            return None
        if symbol.rank is not None and extent.dimension >= symbol.rank:
            has = f"`{text}` has {_count(symbol.rank, 'dimension')}"
            message = f"`{expression_text(extent)}` does not exist: {has}"
            notes = ("dimensions count from 0",)
            last = f"the last dimension is `{text}.{symbol.rank - 1}`"
            help = (last if symbol.rank else f"remove it: `{text}` is one value",)
            self._scope.report.add(
                error("E0221", message, extent.dimension_span, has, notes=notes, help=help)
            )
            return None
        if symbol.shape is None:
            return None
        return Value(size_node(symbol.shape[extent.dimension]), ScalarType.INT32, extent.span)

    def _is_silent(self, text: str) -> bool:
        return text in self._names.unknown or text in self._scope.unclear

    def _values(self, expressions: Sequence[ast.Expression]) -> tuple[Value, ...] | None:
        values = [self.value(e) for e in expressions]
        found = tuple(v for v in values if v is not None)
        return found if len(found) == len(values) else None

    # -- reads -----------------------------------------------------------------------------

    def _read(
        self, name: ast.Name, arguments: Sequence[ast.Expression], tree: ast.Expression
    ) -> Value | None:
        subscripts = [self.subscript(a, f"a subscript of `{name.text}`") for a in arguments]
        symbol = self._defined(name)
        if symbol is None or not self._has_rank(symbol, len(arguments), name, tree):
            return None
        found = tuple(s.expression for s in subscripts if s is not None)
        if symbol.type is None or len(found) < len(subscripts):
            return None
        read = tir.Read(symbol.name, found, symbol.type, tree.span)
        if symbol.type.is_half:
            return Value(tir.Cast(read, symbol.type.compute), symbol.type, tree.span)
        return Value(read, symbol.type, tree.span)

    def _defined(self, name: ast.Name) -> Symbol | None:
        symbol = self._scope.tensors.get(name.text)
        if symbol is None:
            self._scope.report.add(not_written(name.text, name.span))
        return symbol

    def _has_rank(self, symbol: Symbol, given: int, name: ast.Name, tree: ast.Expression) -> bool:
        if symbol.rank is None or symbol.rank == given:
            return True
        needs = f"{_count(symbol.rank, 'dimension')}, not {given}"
        if given == 0 and isinstance(tree, ast.Variable):
            needs = f"{_count(symbol.rank, 'dimension')} and needs a subscript for each"
        message = f"`{name.text}` has {needs}"
        label = f"{_count(given, 'subscript')} here"
        help = (f"write an element as `{element_form(name.text, symbol.rank)}`",)
        self._scope.report.add(error("E0208", message, tree.span, label, help=help))
        return False

    # -- reports ---------------------------------------------------------------------------

    def _wrong_arity(self, name: ast.Name, given: int) -> None:
        wanted = _count(BUILTINS[name.text].arity, "argument")
        message = f"`{name.text}` takes {wanted}, and {given} {_are(given)} given"
        form = f"{name.text}({', '.join('abc'[: BUILTINS[name.text].arity])})"
        help = (f"it is called as `{form}`",)
        self._scope.report.add(error("E0216", message, name.span, f"needs {wanted}", help=help))

    def _not_callable(self, name: ast.Name, is_index: bool) -> None:
        text = name.text
        what: str | None = "an index" if is_index else None
        if text in self._names.lets:
            what = "a `where` name"
        elif text in self._scope.signature.sizes:
            what = "a size"
        if what is not None:
            message = f"`{text}` is {what}, not a tensor or a function"
            hint = (f"write `{text}` alone, or the name of a tensor here",)
            self._scope.report.add(error("E0209", message, name.span, what, help=hint))
        elif text in self._scope.defs:
            message = f"a call of `{text}` cannot be part of an expression"
            form = f"`T = {text}(...)` with names of tensors as arguments"
            hint = (f"write the call as a statement of its own: {form}",)
            self._scope.report.add(error("E0222", message, name.span, "a def", help=hint))
        else:
            help = suggestion(text, self._scope.readable())
            help = help or (f"assign `{text}` in a statement above, or add it to the inputs",)
            message = f"cannot find tensor or function `{text}`"
            self._scope.report.add(error("E0201", message, name.span, "not found", help=help))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
