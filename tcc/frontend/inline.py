"""Puts the statements of a called def into its caller, under the caller's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from tcc.affine import Affine, const, var
from tcc.diagnostics import Label, error
from tcc.frontend import ast, calls, tir
from tcc.frontend.draft import Draft
from tcc.frontend.names import identifiers
from tcc.frontend.requirements import Requirement, settle
from tcc.frontend.rewrite import rebuild, size_node
from tcc.frontend.scope import Scope, Symbol
from tcc.scalar import ScalarType

Callee: TypeAlias = Callable[[ast.Name, Mapping[str, int]], tir.Program | None]
"""Elaborates a def for known sizes; None after an error, which is reported."""

MAX_STATEMENTS = 5000


def call(statement: ast.CallStatement, scope: Scope, draft: Draft, callee: Callee) -> None:
    """Add the statements of a called def to the draft; its targets to the scope."""
    if not _Call(statement, scope, draft).run(callee):
        draft.is_sound = False
        for target in statement.targets:
            if target.text not in scope.tensors and scope.is_tensor(target.text):
                hidden = Symbol(target.text, None, None, None, (), tir.Role.OUTPUT, target.span)
                scope.tensors[target.text] = hidden


@dataclass(frozen=True)
class _Renaming:
    """What the names of the callee are in the caller.

    `origins` are those of arguments whose first element is not element 0: the callee counts
    from 0.
    """

    sizes: Mapping[str, Affine]
    tensors: Mapping[str, str]
    origins: Mapping[str, tuple[Affine, ...]]

    def tensor(self, tensor: tir.Tensor, role: tir.Role, span: ast.Name) -> Symbol:
        shape = tuple(e.substitute(self.sizes) for e in tensor.shape)
        origin = tuple(o.substitute(self.sizes) for o in tensor.origin)
        name = self.tensors[tensor.name]
        return Symbol(name, tensor.rank, tensor.type, shape, origin, role, span.span)

    def statement(self, statement: tir.Statement, taken: frozenset[str]) -> tir.Statement:
        """A statement of the callee; index variables that clash get another name."""
        names = (*statement.indices, *statement.reductions)
        indices = _fresh_indices(names, taken)
        values = {**self.sizes, **{old: var(new) for old, new in indices.items()}}
        return replace(
            statement,
            target=self.tensors[statement.target],
            indices=tuple(indices[n] for n in statement.indices),
            reductions=tuple(indices[n] for n in statement.reductions),
            ranges={
                indices[n]: tir.Range(r.low.substitute(values), r.high.substitute(values))
                for n, r in statement.ranges.items()
            },
            value=rebuild(statement.value, lambda node: self._node(node, indices)),
        )

    def _node(self, node: tir.Expression, indices: Mapping[str, str]) -> tir.Expression:
        match node:
            case tir.Index(name):
                return tir.Index(indices[name])
            case tir.Size(value):
                return size_node(value.substitute(self.sizes))
            case tir.Read(tensor, subscripts, _, _):
                origin = self.origins.get(tensor, ())
                if origin:
                    subscripts = tuple(map(_shifted, subscripts, origin))
                return replace(node, tensor=self.tensors[tensor], subscripts=subscripts)
            case _:
                return node


class _Call:
    def __init__(self, statement: ast.CallStatement, scope: Scope, draft: Draft) -> None:
        self._statement = statement
        self._scope = scope
        self._draft = draft
        self._binding = calls.SizeBinding()

    def run(self, callee: Callee) -> bool:
        """Whether the call could be put in; what stands in the way is reported."""
        statement, scope = self._statement, self._scope
        sound = calls.check_targets(statement, scope)
        if scope.is_tensor(statement.callee.text):
            calls.called_def(statement, scope)
            return False
        targets = {t.text for t in statement.targets}  # reported where they are arguments
        arguments = [
            None if a.text in targets else calls.argument(a, scope) for a in statement.arguments
        ]
        definition = calls.called_def(statement, scope)
        if definition is None:
            return False
        sound = self._bind(definition, arguments) and sound
        program = callee(statement.callee, self._known() if sound else {})
        if not sound or program is None or not self._is_small(program):
            return False
        return self._put_in(program, arguments)

    def _bind(self, definition: ast.Definition, arguments: list[Symbol | None]) -> bool:
        sound = True
        pairs = zip(definition.parameters, self._statement.arguments, arguments, strict=True)
        for parameter, name, symbol in pairs:
            if symbol is None or not calls.check_argument(parameter, name, symbol, self._scope):
                sound = False
            else:
                self._binding.bind(parameter, name, symbol)
        return sound

    def _known(self) -> dict[str, int]:
        """The sizes of the callee that have a value."""
        values = {name: const(value) for name, value in self._scope.known.items()}
        fixed = {n: e.substitute(values) for n, e in self._binding.values.items()}
        return {n: e.value for n, e in fixed.items() if e.is_constant}

    def _is_small(self, program: tir.Program) -> bool:
        total = len(self._draft.statements) + len(program.statements)
        if total <= MAX_STATEMENTS:
            return True
        message = f"the program has more than {MAX_STATEMENTS} statements with its calls put in"
        place, help = self._statement.callee.span, ("compile parts of the program on their own",)
        self._scope.report.add(error("E0902", message, place, "too many with this", help=help))
        return False

    def _put_in(self, program: tir.Program, arguments: list[Symbol | None]) -> bool:
        statement, scope = self._statement, self._scope
        callee = statement.callee.text
        pairs = list(zip(program.outputs, statement.targets, strict=True))
        checks = [
            calls.check_result(target, program.tensors[name], callee, scope)
            for name, target in pairs
        ]
        if not all(checks):
            return False
        renaming = self._renaming(program, arguments)
        fresh = [
            (
                target,
                renaming.tensor(program.tensors[name], self._role(program, name, target), target),
            )
            for name, target in pairs
            if target.text not in scope.tensors
        ]
        opened = self._settle(program, renaming, fresh)
        if opened is None:
            return False
        self._draft.preconditions += opened
        self._define(program, renaming, fresh)
        taken = frozenset(scope.signature.sizes) | scope.tensors.keys() | scope.targets
        self._draft.statements += (renaming.statement(s, taken) for s in program.statements)
        return True

    def _role(self, program: tir.Program, name: str, target: ast.Name) -> tir.Role:
        if target.text in self._scope.signature.outputs:
            return program.tensors[name].role
        return tir.Role.TEMPORARY

    def _renaming(self, program: tir.Program, arguments: list[Symbol | None]) -> _Renaming:
        statement = self._statement
        tensors = {n: a.text for n, a in zip(program.inputs, statement.arguments, strict=True)}
        tensors |= {n: t.text for n, t in zip(program.outputs, statement.targets, strict=True)}
        taken = set(identifiers(self._scope.definition)) | set(self._draft.temporaries)
        for name in program.temporaries:
            tensors[name] = _fresh(f"{statement.callee.text}_{name}", taken)
            taken.add(tensors[name])
        origins = {
            n: a.origin
            for n, a in zip(program.inputs, arguments, strict=True)
            if a is not None and any(o != const(0) for o in a.origin)
        }
        return _Renaming(self._binding.values, tensors, origins)

    def _settle(
        self, program: tir.Program, renaming: _Renaming, fresh: list[tuple[ast.Name, Symbol]]
    ) -> tuple[tir.Precondition, ...] | None:
        requirements = list(self._binding.requirements)
        requirements += (self._lifted(p, renaming) for p in program.preconditions)
        for target, symbol in fresh:
            requirements += calls.result_shape(target, symbol, self._scope)
        scope, draft = self._scope, self._draft
        return settle(requirements, scope.given, draft.preconditions, scope.report)

    def _lifted(self, condition: tir.Precondition, renaming: _Renaming) -> Requirement:
        callee = self._statement.callee
        message = f"this call of `{callee.text}` breaks its condition: {condition.reason}"
        label = Label(condition.span, "the condition comes from here")
        expression = condition.expression.substitute(renaming.sizes)
        return Requirement(
            expression,
            condition.reason,
            "E0309",
            message,
            callee.span,
            "called here",
            (label,),
            (f"pass tensors of sizes for which {condition.reason}",),
        )

    def _define(
        self, program: tir.Program, renaming: _Renaming, fresh: list[tuple[ast.Name, Symbol]]
    ) -> None:
        for _, symbol in fresh:
            self._scope.tensors[symbol.name] = symbol
            if symbol.role is tir.Role.TEMPORARY:
                self._draft.temporaries.append(symbol.name)
        for name in program.temporaries:
            tensor = program.tensors[name]
            symbol = renaming.tensor(tensor, tensor.role, self._statement.callee)
            self._scope.tensors[symbol.name] = symbol
            self._draft.temporaries.append(symbol.name)


def _shifted(subscript: tir.Expression, origin: Affine) -> tir.Expression:
    if origin == const(0):
        return subscript
    first = size_node(origin)
    if subscript.type is ScalarType.INT32:
        return tir.Binary("+", subscript, first, ScalarType.INT32)
    wide = subscript.type if subscript.type is ScalarType.INT64 else ScalarType.INT64
    if subscript.type is not wide:
        subscript = tir.Cast(subscript, wide)
    return tir.Binary("+", subscript, tir.Cast(first, wide), wide)


def _fresh_indices(names: Iterable[str], taken: frozenset[str]) -> dict[str, str]:
    used = set(taken)
    fresh: dict[str, str] = {}
    for name in names:
        fresh[name] = _fresh(name, used)
        used.add(fresh[name])
    return fresh


def _fresh(name: str, taken: Iterable[str]) -> str:
    used = set(taken)
    number, candidate = 1, name
    while candidate in used:
        candidate = f"{name}_{number}"
        number += 1
    return candidate
