"""The names of a def: reads its signature, and collects what its statements write and read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tcc.affine import Affine, const, var
from tcc.diagnostics import Label, Report, error
from tcc.frontend import ast, tir
from tcc.frontend.builtins import BUILTINS
from tcc.frontend.literals import integer_value
from tcc.frontend.scope import Scope, Signature, Symbol
from tcc.frontend.suggest import suggestion
from tcc.source import Span


def open_scope(
    definition: ast.Definition,
    defs: Mapping[str, ast.Definition],
    known: Mapping[str, int],
    given: Mapping[str, int],
    report: Report,
) -> Scope:
    """The scope of a def before its first statement; the signature is checked."""
    reader = _Reader(report)
    signature = reader.read(definition)
    statements = definition.statements
    return Scope(
        definition,
        signature,
        defs,
        known,
        given,
        report,
        targets=frozenset(t.text for s in statements for t in targets(s)),
        read=frozenset(name for s in statements for name in names_read(s)),
        tensors=dict(signature.inputs),
        unclear=reader.unclear,
    )


def targets(statement: ast.Statement) -> tuple[ast.Name, ...]:
    """The names that a statement writes."""
    return (statement.target,) if isinstance(statement, ast.Assign) else statement.targets


def names_read(statement: ast.Statement) -> Iterator[str]:
    """Every name on the right side and in the clauses of a statement."""
    if isinstance(statement, ast.CallStatement):
        yield from (a.text for a in statement.arguments)
        return
    for expression in right_sides(statement):
        yield from (name.text for name in names_in(expression))


def right_sides(statement: ast.Assign) -> Iterator[ast.Expression]:
    """The value and the expressions of the clauses."""
    yield statement.value
    for clause in statement.clauses:
        if isinstance(clause, ast.RangeClause):
            yield clause.low
            yield clause.high
        else:
            yield clause.value


def names_in(expression: ast.Expression) -> Iterator[ast.Name]:
    """Every identifier of an expression, outside in, left to right."""
    match expression:
        case ast.Variable(name) | ast.Apply(name, _, _) | ast.Extent(name, _, _, _):
            yield name
        case _:
            pass
    for child in ast.children(expression):
        yield from names_in(child)


class _Reader:
    """Reads one signature in text order: a name clashes with what comes before it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._sizes: dict[str, Span] = {}
        self._inputs: dict[str, Symbol] = {}
        self._outputs: dict[str, ast.Output] = {}
        self.unclear: set[str] = set()

    def read(self, definition: ast.Definition) -> Signature:
        for parameter in definition.parameters:
            self._read_dimensions(parameter.type)
            if self._is_new(parameter.name):
                self._inputs[parameter.name.text] = _input(parameter)
        for output in definition.outputs:
            if output.type is not None:
                self._check_dimensions(output.type)
            if self._is_new(output.name):
                self._outputs[output.name.text] = output
        return Signature(self._sizes, self._inputs, self._outputs)

    def _read_dimensions(self, type: ast.TensorType) -> None:
        for dimension in type.dimensions:
            if isinstance(dimension, ast.Number):
                self._check_constant(dimension)
            elif dimension.text not in self._sizes:
                self._is_new(dimension)
                self._sizes[dimension.text] = dimension.span

    def _check_dimensions(self, type: ast.TensorType) -> None:
        """Dimensions of a declared output must be known: they are checked, not inferred."""
        for dimension in type.dimensions:
            if isinstance(dimension, ast.Number):
                self._check_constant(dimension)
            elif dimension.text not in self._sizes:
                message = f"cannot find size `{dimension.text}`"
                notes = ("the sizes of a def are the dimensions of its inputs",)
                help = suggestion(dimension.text, self._sizes)
                help = help or ("leave out the type: it follows from the statements",)
                self._report.add(
                    error("E0201", message, dimension.span, "not a size", notes=notes, help=help)
                )

    def _check_constant(self, number: ast.Number) -> None:
        if not number.is_integer or not 1 <= integer_value(number) < 2**31:
            message = f"a dimension of `{number.text}` elements"
            notes = ("a dimension is a size or an integer from 1 to 2147483647",)
            help = ("write a size such as `N`, or a positive integer",)
            self._report.add(
                error("E0308", message, number.span, "not allowed", notes=notes, help=help)
            )

    def _is_new(self, name: ast.Name) -> bool:
        text = name.text
        if text in BUILTINS:
            message = f"`{text}` is a builtin function and cannot be redefined"
            help = (f"choose another name, such as `{text}_`",)
            self._report.add(error("E0203", message, name.span, "builtin", help=help))
            self.unclear.add(text)
            return False
        earlier = self._earlier(text)
        if earlier is None:
            return True
        self.unclear.add(text)
        kind, span = earlier
        self._report.add(
            error(
                "E0202",
                f"`{text}` is already {kind}",
                name.span,
                "second meaning",
                secondary=(Label(span, "first meaning"),),
                help=("give one of them another name",),
            )
        )
        return False

    def _earlier(self, text: str) -> tuple[str, Span] | None:
        if text in self._sizes:
            return "a size", self._sizes[text]
        if text in self._inputs:
            return "an input", self._inputs[text].span
        if text in self._outputs:
            return "an output", self._outputs[text].name.span
        return None


def _input(parameter: ast.Parameter) -> Symbol:
    shape = tuple(dimension(d) for d in parameter.type.dimensions)
    return Symbol(
        parameter.name.text,
        len(shape),
        parameter.type.scalar,
        shape,
        tuple(const(0) for _ in shape),
        tir.Role.INPUT,
        parameter.name.span,
    )


def dimension(stated: ast.Name | ast.Number) -> Affine:
    """A dimension of a type; 1 where it is no positive integer, which has been reported."""
    if isinstance(stated, ast.Name):
        return var(stated.text)
    return const(max(integer_value(stated), 1) if stated.is_integer else 1)


def identifiers(definition: ast.Definition) -> Iterator[str]:
    """Every name that a def uses, with repetitions."""
    for parameter in definition.parameters:
        yield parameter.name.text
        yield from (d.text for d in parameter.type.dimensions)
    yield from (o.name.text for o in definition.outputs)
    for statement in definition.statements:
        yield from (t.text for t in targets(statement))
        yield from names_read(statement)
        if isinstance(statement, ast.Assign):
            yield from (i.text for i in statement.indices or ())
