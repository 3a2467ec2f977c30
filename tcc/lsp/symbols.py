"""What a name stands for: in words, with its inferred range or shape, and its first place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tcc.frontend import ast, tir
from tcc.frontend.builtins import BUILTINS
from tcc.frontend.describe import shape_text
from tcc.frontend.names import targets
from tcc.frontend.spelling import clause_text, header_text, type_text
from tcc.frontend.tokens import Token, TokenKind
from tcc.lsp.analysis import Analysis
from tcc.scalar import SPELLINGS
from tcc.source import Span


@dataclass(frozen=True)
class Meaning:
    """What a word stands for. `text` is Markdown; `place` is where it is defined, if anywhere."""

    span: Span
    text: str
    place: Span | None


def meaning(analysis: Analysis, offset: int) -> Meaning | None:
    """The meaning of the word at an offset; None for what stands for nothing."""
    token = analysis.token_at(offset)
    if token is None:
        return None
    if token.kind is TokenKind.TYPE:
        scalar = SPELLINGS[token.text]
        return Meaning(token.span, f"type `{scalar.value}`, {_count(scalar.bytes, 'byte')}", None)
    if token.kind is not TokenKind.NAME:
        return None
    for find in (_called_def, _local, _size, _tensor, _builtin):
        found = find(analysis, token)
        if found is not None:
            return Meaning(token.span, *found)
    return None


_Found = tuple[str, Span | None]


def _called_def(analysis: Analysis, token: Token) -> _Found | None:
    """The name of a def: where it is defined, or where it is called."""
    for definition in analysis.module.definitions:
        if definition.name.text == token.text and _may_be_def(analysis, token):
            text = header_text(definition).removesuffix("{").rstrip()
            program = analysis.programs.get(token.text)
            results = [_described(program.tensors[o]) for o in program.outputs] if program else []
            lines = [f"```tc\n{text}\n```", *results]
            return "\n\n".join(lines), definition.name.span
    return None


def _may_be_def(analysis: Analysis, token: Token) -> bool:
    """A def may have the name of a tensor of another def."""
    definition = analysis.definition_at(token.span.start)
    return definition is None or token.text not in {
        *(p.name.text for p in definition.parameters),
        *(o.name.text for o in definition.outputs),
        *(t.text for s in definition.statements for t in targets(s)),
    }


def _local(analysis: Analysis, token: Token) -> _Found | None:
    """A `where` name or an index variable of the statement around the place."""
    statement = analysis.statement_at(token.span.start)
    if not isinstance(statement, ast.Assign):
        return None
    for clause in statement.clauses:
        if isinstance(clause, ast.LetClause) and clause.name.text == token.text:
            return f"where `{clause_text(clause)}`", clause.name.span
    place = _place_of_index(statement, token.text)
    typed = _typed(analysis, statement)
    if typed is not None and token.text in typed.ranges:
        kind = "reduction index" if token.text in typed.reductions else "index"
        found = typed.ranges[token.text]
        first = place or _first_use(analysis, statement, token.text)
        return f"{kind} `{token.text}` in `{found.low}:{found.high}`", first
    return None if place is None else (f"index `{token.text}`", place)


def _typed(analysis: Analysis, statement: ast.Assign) -> tir.Statement | None:
    definition = analysis.definition_at(statement.span.start)
    program = analysis.programs.get(definition.name.text) if definition else None
    statements = program.statements if program else ()
    return next((s for s in statements if s.span == statement.span), None)


def _place_of_index(statement: ast.Assign, name: str) -> Span | None:
    for index in statement.indices or ():
        if index.text == name:
            return index.span
    for clause in statement.clauses:
        if isinstance(clause, ast.RangeClause) and clause.index.text == name:
            return clause.index.span
    return None


def _first_use(analysis: Analysis, statement: ast.Assign, name: str) -> Span | None:
    span = statement.span
    inside = (t.span for t in analysis.tokens if span.start <= t.span.start < span.end)
    return next((s for s in inside if s.text == name), None)


def _size(analysis: Analysis, token: Token) -> _Found | None:
    definition = analysis.definition_at(token.span.start)
    for parameter in definition.parameters if definition else ():
        for position, dimension in enumerate(parameter.type.dimensions):
            if isinstance(dimension, ast.Name) and dimension.text == token.text:
                text = f"size `{token.text}`, dimension {position} of `{parameter.name.text}`"
                demands = _demands(analysis, definition, token.text)
                return "\n\n".join([text, *demands]), dimension.span
    return None


def _demands(analysis: Analysis, definition: ast.Definition | None, name: str) -> Iterator[str]:
    program = analysis.programs.get(definition.name.text) if definition else None
    for condition in program.preconditions if program else ():
        if name in condition.expression.variables:
            yield f"requires `{condition}`: {condition.reason}"


def _tensor(analysis: Analysis, token: Token) -> _Found | None:
    definition = analysis.definition_at(token.span.start)
    if definition is None:
        return None
    place = next((n for n in _tensor_names(definition) if n.text == token.text), None)
    if place is None:
        return None
    program = analysis.programs.get(definition.name.text)
    if program is not None and token.text in program.tensors:
        return _described(program.tensors[token.text]), place.span
    for parameter in definition.parameters:
        if parameter.name.text == token.text:
            return f"input `{token.text}`: `{type_text(parameter.type)}`", place.span
    return f"tensor `{token.text}`", place.span


def _tensor_names(definition: ast.Definition) -> Iterator[ast.Name]:
    """Where tensors are introduced."""
    yield from (p.name for p in definition.parameters)
    yield from (o.name for o in definition.outputs)
    for statement in definition.statements:
        yield from targets(statement)


def _described(tensor: tir.Tensor) -> str:
    role = {tir.Role.INOUT: "in/out tensor"}.get(tensor.role, tensor.role.value)
    return f"{role} `{tensor.name}`: `{tensor.type.value}{shape_text(tensor)}`"


def _builtin(_: Analysis, token: Token) -> _Found | None:
    builtin = BUILTINS.get(token.text)
    if builtin is None:
        return None
    return f"builtin function `{builtin.name}` of {_count(builtin.arity, 'argument')}", None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
