"""The typed intermediate representation: names resolved, types explicit, ranges inferred.

Every conversion is an explicit `Cast`; the operands of a `Binary` have one type; calls between
defs are inlined and let names are substituted. Index variables are unique within a statement only.

program    := inputs, outputs, temporaries, statements in program order
statement  := target[indices] operator value, with a half-open range for every index variable
expression := Literal | Index | Size | Read | Unary | Binary | Select | Call | Cast
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias, assert_never

from tcc.affine import Affine
from tcc.scalar import ScalarType
from tcc.source import Span


@dataclass(frozen=True)
class Literal:
    """A constant with its exact value: bool, integer, or the decimal value of a float.

    Infinities are `float` and come from the compiler only (identities of reductions).
    """

    value: bool | int | Fraction | float
    type: ScalarType


@dataclass(frozen=True)
class Index:
    """The value of an index variable, int32."""

    name: str

    @property
    def type(self) -> ScalarType:
        """Index variables are int32."""
        return ScalarType.INT32


@dataclass(frozen=True)
class Size:
    """The value of a size or extent expression over sizes, int32."""

    value: Affine

    @property
    def type(self) -> ScalarType:
        """Sizes are int32."""
        return ScalarType.INT32


@dataclass(frozen=True)
class Read:
    """One element of a tensor, at logical subscripts; `type` is the tensor's element type."""

    tensor: str
    subscripts: tuple[Expression, ...]
    type: ScalarType
    span: Span


@dataclass(frozen=True)
class Unary:
    """`-` on numbers, `!` on bool; the result has the operand's type."""

    operator: str
    operand: Expression
    type: ScalarType


@dataclass(frozen=True)
class Binary:
    """`+ - * / % min max` (result: the operands' type), `== != < <= > >= && ||` (result: bool).

    Operands have one type. Integer `/` and `%` floor; `%` has integer operands. `&&` and `||`
    are lazy. Integer arithmetic wraps in the operands' type.
    """

    operator: str
    left: Expression
    right: Expression
    type: ScalarType


@dataclass(frozen=True)
class Select:
    """`c ? a : b`, lazy; both arms have the node's type."""

    condition: Expression
    then: Expression
    otherwise: Expression
    type: ScalarType


@dataclass(frozen=True)
class Call:
    """A builtin function; arguments have the node's type, float32 or float64."""

    function: str
    arguments: tuple[Expression, ...]
    type: ScalarType


@dataclass(frozen=True)
class Cast:
    """Conversion to `type`."""

    operand: Expression
    type: ScalarType


Expression: TypeAlias = Literal | Index | Size | Read | Unary | Binary | Select | Call | Cast


class Role(Enum):
    """Who owns a tensor's storage, and which way its values go."""

    INPUT = "input"
    OUTPUT = "output"
    INOUT = "inout"
    TEMPORARY = "temporary"


@dataclass(frozen=True)
class Tensor:
    """A dense row-major tensor. Element (lo, lo, ...) with lo = `origin` is stored first."""

    name: str
    type: ScalarType
    shape: tuple[Affine, ...]
    origin: tuple[Affine, ...]
    role: Role
    span: Span

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True)
class Range:
    """Half-open range [low, high) of an index variable.

    The bounds of a left-hand index contain sizes only; those of a reduction index may also
    contain index variables that come earlier in `Statement.indices + Statement.reductions`.
    """

    low: Affine
    high: Affine

    @property
    def extent(self) -> Affine:
        """Number of values."""
        return self.high - self.low


@dataclass(frozen=True)
class Statement:
    """`target[indices] = value`, or a reduction `target[indices] operator= value`.

    `operator` is one of `=`, `+`, `*`, `min`, `max`. `initialise` is true for `op=!`: the target
    starts from the operator's identity over the whole left-hand domain. With an operator other
    than `=`, `reductions` may be empty (`A(i) += B(i)`). `value` has the target's type, or the
    target's compute type when that is a half type (the store rounds once).
    `text` is the source text of the statement on one line; `name` is unique (`S0`, `S1`, ...).
    The instances of an `atomic` update combine into the target in any order, also at the same time.
    The results of a `part` are combined later with a target that does not start from the identity.
    """

    name: str
    target: str
    indices: tuple[str, ...]
    reductions: tuple[str, ...]
    ranges: Mapping[str, Range]
    operator: str
    initialise: bool
    value: Expression
    text: str
    span: Span
    target_span: Span
    atomic: bool = False
    part: bool = False


@dataclass(frozen=True)
class Precondition:
    """`expression >= 0` must hold of the sizes; open because some are symbolic."""

    expression: Affine
    reason: str
    span: Span

    def __str__(self) -> str:
        """As a comparison, `N >= M + 1`."""
        more = Affine(tuple((a, c) for a, c in self.expression.terms if c > 0))
        constant = self.expression.constant
        less = more - self.expression + constant
        if not more.terms:
            return f"{less} <= {constant}"
        return f"{more + max(constant, 0)} >= {less - min(constant, 0)}"


@dataclass(frozen=True)
class Program:
    """One def, analysed. `sizes` are the size names in order of first appearance."""

    name: str
    sizes: tuple[str, ...]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    temporaries: tuple[str, ...]
    statements: tuple[Statement, ...]
    preconditions: tuple[Precondition, ...]
    span: Span

    @property
    def inouts(self) -> tuple[str, ...]:
        """The outputs that are read before they are written."""
        return tuple(o for o in self.outputs if self.tensors[o].role is Role.INOUT)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands, subscripts included."""
    match expression:
        case Literal() | Index() | Size():
            return ()
        case Read(_, subscripts, _, _):
            return subscripts
        case Unary(_, operand, _) | Cast(operand, _):
            return (operand,)
        case Binary(_, left, right, _):
            return (left, right)
        case Select(condition, then, otherwise, _):
            return (condition, then, otherwise)
        case Call(_, arguments, _):
            return arguments
        case _:
            assert_never(expression)


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, outside in, left to right."""
    yield expression
    for child in children(expression):
        yield from walk(child)
