"""The syntax tree as nested lists, the form in which trees are compared and made canonical.

Spans and parentheses leave no trace, spellings do: two trees print alike exactly when they are
equal up to spans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    Module,
    Name,
    Node,
    Number,
    Output,
    Parameter,
    RangeClause,
    TensorType,
    Unary,
    Variable,
)


@dataclass(frozen=True)
class Spelling:
    """How names and numbers are written, and whether `A()` and `A` are told apart."""

    name: Callable[[str], str] = str
    callee: Callable[[str], str] = str
    definition: Callable[[str], str] = str
    number: Callable[[str], str] = str
    empty_lists: bool = True


def sexpr(node: Node, spelling: Spelling = Spelling()) -> str:
    """The node as nested lists; a statement is on one line, a definition has a line for each."""
    match node:
        case Module(_, definitions):
            return "\n".join(sexpr(d, spelling) for d in definitions)
        case Definition(name, parameters, outputs, statements, _):
            head = f"def {spelling.definition(name.text)}"
            inputs = _list("inputs", [sexpr(p, spelling) for p in parameters])
            results = _list("outputs", [sexpr(o, spelling) for o in outputs])
            return _lines(head, [inputs, results, *(sexpr(s, spelling) for s in statements)])
        case Parameter(type, name):
            return f"({spelling.name(name.text)} {sexpr(type, spelling)})"
        case Output(type, name):
            text = spelling.name(name.text)
            return f"({text} {sexpr(type, spelling)})" if type else text
        case TensorType(scalar, dimensions, _):
            return _list(scalar.value, [_dimension(d, spelling) for d in dimensions])
        case Assign():
            return _assign(node, spelling)
        case CallStatement(targets, callee, arguments, _):
            call = _list(spelling.callee(callee.text), _names(arguments, spelling))
            return _list("call", [_list("", _names(targets, spelling)), call])
        case _:
            return _inner(node, spelling)


def _assign(node: Assign, spelling: Spelling) -> str:
    target = spelling.name(node.target.text)
    if node.indices or (node.indices is not None and spelling.empty_lists):
        target = _list(target, _names(node.indices, spelling))
    parts = [target, sexpr(node.value, spelling)]
    if node.equivalent:
        parts.append(f"(<=> {sexpr(node.equivalent, spelling)})")
    parts += [sexpr(c, spelling) for c in node.clauses]
    return _list(node.operator, parts)


def _inner(node: Clause | Expression, spelling: Spelling) -> str:
    match node:
        case RangeClause(index, low, high, _):
            bounds = [sexpr(low, spelling), sexpr(high, spelling)]
            return _list("in", [spelling.name(index.text), *bounds])
        case LetClause(name, value, _):
            return f"(let {spelling.name(name.text)} {sexpr(value, spelling)})"
        case ExistsClause(value, _):
            return f"(exists {sexpr(value, spelling)})"
        case _:
            return _expression(node, spelling)


def _expression(node: Expression, spelling: Spelling) -> str:
    match node:
        case Number(text, _):
            return spelling.number(text)
        case Variable(name):
            return spelling.name(name.text)
        case Extent(tensor, dimension, _, _):
            return f"{spelling.name(tensor.text)}.{dimension}"
        case Apply(name, arguments, _):
            head = spelling.callee(name.text)
            operands = [sexpr(a, spelling) for a in arguments]
            return _list(head, operands) if operands or spelling.empty_lists else head
        case Cast(type, _, operand, _):
            return f"({type.value} {sexpr(operand, spelling)})"
        case Unary(operator, operand, _, _):
            return f"({operator} {sexpr(operand, spelling)})"
        case Binary(operator, left, right, _, _):
            return f"({operator} {sexpr(left, spelling)} {sexpr(right, spelling)})"
        case Conditional(condition, then, otherwise, _):
            return _list("?", [sexpr(e, spelling) for e in (condition, then, otherwise)])
        case _:
            assert_never(node)


def _names(names: Sequence[Name], spelling: Spelling) -> list[str]:
    return [spelling.name(n.text) for n in names]


def _dimension(dimension: Name | Number, spelling: Spelling) -> str:
    write = spelling.name if isinstance(dimension, Name) else spelling.number
    return write(dimension.text)


def _list(head: str, items: Sequence[str]) -> str:
    return f"({' '.join([head, *items]).strip()})"


def _lines(head: str, items: Sequence[str]) -> str:
    return f"({head}" + "".join(f"\n  {item}" for item in items) + ")"
