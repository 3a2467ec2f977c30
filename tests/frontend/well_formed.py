"""What every typed program promises to the passes behind the front end."""

from __future__ import annotations

from tcc.frontend import tir
from tcc.scalar import ScalarType

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def check(program: tir.Program) -> None:
    """Fail where the program breaks a promise of `tir`."""
    sizes = set(program.sizes)
    assert list(program.tensors) == [*program.inputs, *program.outputs, *program.temporaries]
    for tensor in program.tensors.values():
        assert len(tensor.origin) == len(tensor.shape)
        for form in (*tensor.shape, *tensor.origin):
            assert form.variables <= sizes
    for condition in program.preconditions:
        assert condition.expression.variables <= sizes
        assert not condition.expression.is_constant
    assert [s.name for s in program.statements] == [f"S{k}" for k in range(len(program.statements))]
    for statement in program.statements:
        _check_statement(statement, program, sizes)


def _check_statement(statement: tir.Statement, program: tir.Program, sizes: set[str]) -> None:
    target = program.tensors[statement.target]
    assert target.role is not tir.Role.INPUT
    assert len(statement.indices) == target.rank
    assert statement.value.type is target.type.compute
    assert statement.operator in ("=", "+", "*", "min", "max")
    assert statement.operator != "=" or not (statement.reductions or statement.initialise)
    names = statement.indices + statement.reductions
    assert list(statement.ranges) == list(names)
    assert len(set(names)) == len(names)
    known = set(sizes)
    for name in names:
        assert name not in sizes
        assert name not in program.tensors
        range_ = statement.ranges[name]
        used = range_.low.variables | range_.high.variables
        assert used <= (sizes if name in statement.indices else known)
        known.add(name)
    for node in tir.walk(statement.value):
        _check_node(node, program, known, sizes)


def _check_node(
    node: tir.Expression, program: tir.Program, known: set[str], sizes: set[str]
) -> None:
    assert node.type.compute is node.type or isinstance(node, (tir.Read, tir.Cast))
    match node:
        case tir.Index(name):
            assert name in known - sizes
        case tir.Size(form):
            assert form.variables <= sizes
        case tir.Read(tensor, subscripts, type_, _):
            assert program.tensors[tensor].type is type_
            assert len(subscripts) == program.tensors[tensor].rank
            assert all(s.type.is_integer for s in subscripts)
        case tir.Unary(operator, operand, type_):
            assert operand.type is type_
            assert (type_ is ScalarType.BOOL) == (operator == "!")
        case tir.Binary(operator, left, right, type_):
            assert left.type is right.type
            is_bool = operator in COMPARISONS or operator in ("&&", "||")
            assert type_ is (ScalarType.BOOL if is_bool else left.type)
            assert operator != "%" or type_.is_integer
        case tir.Select(condition, then, otherwise, type_):
            assert condition.type is ScalarType.BOOL
            assert then.type is otherwise.type is type_
        case tir.Call(_, arguments, type_):
            assert {a.type for a in arguments} == {type_}
            assert type_ in (ScalarType.FLOAT32, ScalarType.FLOAT64)
        case tir.Literal(value, type_):
            assert isinstance(value, int) == type_.is_integer
        case tir.Cast():
            pass
