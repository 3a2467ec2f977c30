"""Instructions of an expression, and the loads in it."""

from __future__ import annotations

from collections.abc import Iterator

from tcc.affine import Affine
from tcc.kernel import ir
from tcc.scalar import ScalarType
from tcc.tune.work import Work

# Instructions of fp32 builtins without fast math, and how many of them are special functions.
# Rounded figures: most calls are few among many other instructions.
CALLS: dict[str, tuple[int, int]] = {
    "fma": (1, 0),
    "fmin": (1, 0),
    "fmax": (1, 0),
    "fabs": (1, 0),
    "abs": (1, 0),
    "relu": (1, 0),
    "exp": (8, 1),
    "log": (16, 1),
    "sqrt": (8, 1),
    "rsqrt": (4, 1),
    "tanh": (14, 2),
    "sin": (20, 0),
    "cos": (20, 0),
    "pow": (40, 2),
    "sigmoid": (18, 2),
}
OTHER_CALL = (20, 0)
FP64_FACTOR = 3
"""Of the instructions of an fp32 builtin, in fp64."""
DIVISION = 10
"""Of fp32 numbers, rounded correctly: a reciprocal, three steps of Newton, and a range check."""
INTEGER_DIVISION = 20


def cost(expression: ir.Expression) -> Work:
    """The arithmetic of an expression; loads cost nothing here."""
    return sum((own_cost(node) for node in nodes(expression)), Work())


def nodes(expression: ir.Expression) -> Iterator[ir.Expression]:
    """All nodes, operands before what they are operands of."""
    for operand in _operands(expression):
        yield from nodes(operand)
    yield expression


def loads(expression: ir.Expression) -> Iterator[ir.Load]:
    """The loads, those of subscripts first."""
    return (n for n in nodes(expression) if isinstance(n, ir.Load))


def _operands(expression: ir.Expression) -> tuple[ir.Expression, ...]:
    match expression:
        case ir.Load(_, index):
            return tuple(i for i in index if not isinstance(i, Affine))
        case ir.Unary(_, operand, _) | ir.Cast(operand, _) | ir.Shuffle(operand, _, _):
            return (operand,)
        case ir.Checked(operand, _, _):
            return (operand,)
        case ir.Binary(_, left, right, _):
            return left, right
        case ir.Select(condition, then, otherwise, _):
            return condition, then, otherwise
        case ir.Call(_, arguments, _):
            return arguments
        case _:
            return ()


def own_cost(node: ir.Expression) -> Work:
    """The arithmetic of a node without its operands."""
    match node:
        case ir.Binary("/" | "%", _, _, type):
            count = DIVISION if type.is_float else INTEGER_DIVISION
            return _arithmetic(type, count, 1)
        case ir.Binary(_, left, _, _):
            return _arithmetic(left.type, 1, 0)
        case ir.Unary(_, _, type):
            return _arithmetic(type, 1, 0)
        case ir.Select() | ir.Cast() | ir.Checked():
            return Work(issue=1)
        case ir.Call(function, _, type):
            count, special = CALLS.get(function, OTHER_CALL)
            return _arithmetic(type, count, special)
        case ir.Shuffle():
            return Work(issue=1, lsu=1)
        case _:
            return Work()


def _arithmetic(type: ScalarType, count: int, special: int) -> Work:
    """Instructions on the lanes of a type; integers have lanes of their own everywhere."""
    if not type.is_float:
        return Work(issue=count)
    if type.bytes == ScalarType.FLOAT64.bytes:
        many = count * (FP64_FACTOR if special else 1)
        return Work(issue=many, fp64=many)
    return Work(issue=count, fp32=count - special, special=special)
