"""The syntax tree, as written: names are unresolved, every node knows its span.

module     := definition*
definition := name parameters outputs statements
statement  := Assign | CallStatement
expression := Number | Variable | Apply | Extent | Cast | Unary | Binary | Conditional
clause     := RangeClause | LetClause | ExistsClause
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tcc.scalar import ScalarType
from tcc.source import Source, Span


@dataclass(frozen=True)
class Name:
    """An identifier at one place."""

    text: str
    span: Span


@dataclass(frozen=True)
class Number:
    """A literal; `text` is its spelling."""

    text: str
    span: Span

    @property
    def is_integer(self) -> bool:
        """True for a literal without point and exponent."""
        return self.text.isdigit()


@dataclass(frozen=True)
class Variable:
    """A bare identifier: a size, an index, a let name or a rank-0 tensor."""

    name: Name

    @property
    def span(self) -> Span:
        """Where the identifier stands."""
        return self.name.span


@dataclass(frozen=True)
class Apply:
    """`f(a, b)`: a tensor read, a builtin call, `min`/`max`, or a call of another def."""

    name: Name
    arguments: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True)
class Extent:
    """`T.k`: the extent of dimension k (zero-based) of a tensor."""

    tensor: Name
    dimension: int
    dimension_span: Span
    span: Span


@dataclass(frozen=True)
class Cast:
    """`float(e)`."""

    type: ScalarType
    type_span: Span
    operand: Expression
    span: Span


@dataclass(frozen=True)
class Unary:
    """`-e` or `!e`."""

    operator: str
    operand: Expression
    operator_span: Span
    span: Span


@dataclass(frozen=True)
class Binary:
    """`|| && < > <= >= == != + - * / %` between two operands."""

    operator: str
    left: Expression
    right: Expression
    operator_span: Span
    span: Span


@dataclass(frozen=True)
class Conditional:
    """`c ? a : b`."""

    condition: Expression
    then: Expression
    otherwise: Expression
    span: Span


Expression: TypeAlias = Number | Variable | Apply | Extent | Cast | Unary | Binary | Conditional


@dataclass(frozen=True)
class RangeClause:
    """`i in lo:hi`, half-open."""

    index: Name
    low: Expression
    high: Expression
    span: Span


@dataclass(frozen=True)
class LetClause:
    """`x = e`, a macro."""

    name: Name
    value: Expression
    span: Span


@dataclass(frozen=True)
class ExistsClause:
    """`exists e`: the reads in e take part in range inference only."""

    value: Expression
    span: Span


Clause: TypeAlias = RangeClause | LetClause | ExistsClause


@dataclass(frozen=True)
class Assign:
    """`T(i, j) op e <=> f(e) where ...`; `indices` is None when no list was written."""

    target: Name
    indices: tuple[Name, ...] | None
    operator: str
    operator_span: Span
    value: Expression
    equivalent: Apply | None
    clauses: tuple[Clause, ...]
    span: Span


@dataclass(frozen=True)
class CallStatement:
    """`P, Q = f(A, B)`: a call of another def, with more than one target.

    A call with one target parses as `Assign` of an `Apply`; the names pass tells them apart.
    """

    targets: tuple[Name, ...]
    callee: Name
    arguments: tuple[Name, ...]
    span: Span


Statement: TypeAlias = Assign | CallStatement


@dataclass(frozen=True)
class TensorType:
    """A scalar type and its dimensions: size names or integer constants."""

    scalar: ScalarType
    dimensions: tuple[Name | Number, ...]
    span: Span


@dataclass(frozen=True)
class Parameter:
    """One input."""

    type: TensorType
    name: Name


@dataclass(frozen=True)
class Output:
    """One output; its type is inferred when it is not declared."""

    type: TensorType | None
    name: Name


@dataclass(frozen=True)
class Definition:
    """One `def`; `span` covers it from `def` to the closing brace."""

    name: Name
    parameters: tuple[Parameter, ...]
    outputs: tuple[Output, ...]
    statements: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True)
class Module:
    """One file."""

    source: Source
    definitions: tuple[Definition, ...]


Node: TypeAlias = (
    Module | Definition | Parameter | Output | TensorType | Statement | Clause | Expression
)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands, left to right."""
    match expression:
        case Number() | Variable() | Extent():
            return ()
        case Apply(_, arguments, _):
            return arguments
        case Cast(_, _, operand, _) | Unary(_, operand, _, _):
            return (operand,)
        case Binary(_, left, right, _, _):
            return (left, right)
        case Conditional(condition, then, otherwise, _):
            return (condition, then, otherwise)
        case _:
            assert_never(expression)
