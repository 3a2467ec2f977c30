"""The text of tree nodes on one line, with single blanks and no needless parentheses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from tcc.frontend.ast import (
    Apply,
    Assign,
    Binary,
    CallStatement,
    Cast,
    Clause,
    Conditional,
    Definition,
    ExistsClause,
    Expression,
    Extent,
    LetClause,
    Name,
    Number,
    Output,
    Parameter,
    RangeClause,
    Statement,
    TensorType,
    Unary,
    Variable,
)
from tcc.frontend.tokens import COMPARISON, PRECEDENCE, TERNARY, UNARY
from tcc.scalar import SPELLINGS, ScalarType
from tcc.source import Span

_PRIMARY = UNARY + 1
_WORD = re.compile(r"\w*", re.ASCII)


def expression_text(expression: Expression, minimum: int = TERNARY) -> str:
    """The text of an expression, in parentheses when it binds weaker than `minimum`."""
    text = _bare(expression)
    return text if _strength(expression) >= minimum else f"({text})"


def clause_text(clause: Clause) -> str:
    """The text of one clause of a `where`."""
    match clause:
        case RangeClause(index, low, high, _):
            first, last = expression_text(low, TERNARY + 1), expression_text(high, TERNARY + 1)
            return f"{index.text} in {first}:{last}"
        case LetClause(name, value, _):
            return f"{name.text} = {expression_text(value)}"
        case ExistsClause(value, _):
            return f"exists {expression_text(value)}"
        case _:
            assert_never(clause)


def statement_text(statement: Statement) -> str:
    """The text of a statement, on one line however long."""
    return " ".join(part for part in statement_parts(statement) if part)


def statement_parts(statement: Statement) -> tuple[str, str, str, str]:
    """Left side with operator, value, `<=>` part and `where` part; the last two may be empty."""
    match statement:
        case CallStatement(targets, callee, names, _):
            left = f"{_names(targets)} ="
            return left, f"{callee.text}({_names(names)})", "", ""
        case Assign(target, indices, operator, _, value, equivalent, clauses, _):
            subscripts = "" if indices is None else f"({_names(indices)})"
            return (
                f"{target.text}{subscripts} {operator}",
                expression_text(value),
                f"<=> {expression_text(equivalent)}" if equivalent else "",
                f"where {', '.join(map(clause_text, clauses))}" if clauses else "",
            )
        case _:
            assert_never(statement)


def header_text(definition: Definition) -> str:
    """The text of a definition up to its `{`, on one line."""
    inputs = ", ".join(map(parameter_text, definition.parameters))
    outputs = ", ".join(map(output_text, definition.outputs))
    return f"def {definition.name.text}({inputs}) -> ({outputs}) {{"


def type_text(type: TensorType) -> str:
    """The text of a tensor type, with the alias that was written if there was one."""
    dimensions = ", ".join(d.text for d in type.dimensions)
    return scalar_text(type.scalar, type.span) + (f"({dimensions})" if dimensions else "")


def parameter_text(parameter: Parameter) -> str:
    """The text of an input."""
    return f"{type_text(parameter.type)} {parameter.name.text}"


def output_text(output: Output) -> str:
    """The text of an output."""
    return f"{type_text(output.type)} {output.name.text}" if output.type else output.name.text


def scalar_text(type: ScalarType, span: Span) -> str:
    """The spelling at the start of the span if it names this type, else the type's own name."""
    match = _WORD.match(span.source.text, span.start)
    written = match.group() if match else ""
    return written if SPELLINGS.get(written) is type else type.value


def _names(names: Sequence[Name]) -> str:
    return ", ".join(n.text for n in names)


def _strength(expression: Expression) -> int:
    """How strongly the outermost operator binds."""
    match expression:
        case Conditional():
            return TERNARY
        case Binary(operator, _, _, _, _):
            return PRECEDENCE[operator]
        case Unary():
            return UNARY
        case Number() | Variable() | Apply() | Extent() | Cast():
            return _PRIMARY
        case _:
            assert_never(expression)


def _bare(expression: Expression) -> str:
    match expression:
        case Number(text, _):
            return text
        case Variable(name):
            return name.text
        case Extent(tensor, dimension, _, _):
            return f"{tensor.text}.{dimension}"
        case Apply(name, operands, _):
            return f"{name.text}({', '.join(map(expression_text, operands))})"
        case Cast(type, type_span, operand, _):
            return f"{scalar_text(type, type_span)}({expression_text(operand)})"
        case Unary(operator, operand, _, _):
            return operator + expression_text(operand, UNARY)
        case Binary():
            return _binary(expression)
        case Conditional(condition, then, otherwise, _):
            return (
                f"{expression_text(condition, TERNARY + 1)} ? {expression_text(then)}"
                f" : {expression_text(otherwise)}"
            )
        case _:
            assert_never(expression)


def _binary(expression: Binary) -> str:
    """Parentheses stay around a right operand of the same strength; comparisons keep both."""
    level = PRECEDENCE[expression.operator]
    left = expression_text(expression.left, level + (level == COMPARISON))
    right = expression_text(expression.right, level + 1)
    return f"{left} {expression.operator} {right}"
