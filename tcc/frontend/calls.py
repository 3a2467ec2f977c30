"""Checks a call of another def against the callee's signature: names, types, ranks and sizes."""

from __future__ import annotations

from collections.abc import Iterator

from tcc.affine import Affine
from tcc.diagnostics import Label, error, warning
from tcc.frontend import ast, tir
from tcc.frontend.builtins import BUILTINS
from tcc.frontend.names import dimension
from tcc.frontend.requirements import Requirement
from tcc.frontend.resolve import not_written
from tcc.frontend.scope import Scope, Symbol
from tcc.frontend.suggest import element_form, suggestion
from tcc.frontend.targets import check_rank, check_target, declared_shape


def as_call(statement: ast.Statement, scope: Scope) -> ast.CallStatement | None:
    """The statement as a call of another def, if it is one: `P, Q = f(A, B)` or `P = f(A, B)`."""
    if isinstance(statement, ast.CallStatement):
        return statement
    value = statement.value
    if not isinstance(value, ast.Apply) or not _names_def(value.name.text, scope):
        return None
    arguments = [a.name for a in value.arguments if isinstance(a, ast.Variable)]
    is_plain = statement.operator == "=" and statement.indices is None
    has_more = bool(statement.clauses) or statement.equivalent is not None
    if not is_plain or has_more or len(arguments) < len(value.arguments):
        return None
    return ast.CallStatement((statement.target,), value.name, tuple(arguments), statement.span)


def _names_def(name: str, scope: Scope) -> bool:
    """A def hides a builtin of its name, but not inside itself; a tensor hides both."""
    if name not in scope.defs or scope.is_tensor(name):
        return False
    return name not in BUILTINS or name != scope.definition.name.text


def called_def(statement: ast.CallStatement, scope: Scope) -> ast.Definition | None:
    """The def that a statement calls; reports an unknown one, and wrong counts."""
    name = statement.callee
    definition = scope.defs.get(name.text)
    if definition is None:
        is_builtin = name.text in BUILTINS
        message = f"cannot find def `{name.text}`"
        if is_builtin:
            message = f"`{name.text}` is a builtin function, which gives one value"
        elif scope.is_tensor(name.text):
            message = f"`{name.text}` is a tensor, and an element is assigned to one target"
        help: tuple[str, ...] = ("write one assignment for each target",)
        if not is_builtin and not scope.is_tensor(name.text):
            help = suggestion(name.text, scope.defs)
            help = help or (f"write a def `{name.text}` in the same file",)
        scope.report.add(error("E0201", message, name.span, "not a def", help=help))
        return None
    given, wanted = len(statement.arguments), len(definition.parameters)
    if given != wanted:
        message = f"`{name.text}` takes {_count(wanted, 'argument')}, and gets {given}"
        _mismatch(scope, message, name, definition.name, _form(definition))
        return None
    given, wanted = len(statement.targets), len(definition.outputs)
    if given != wanted:
        message = f"`{name.text}` has {_count(wanted, 'output')}, and {given} here"
        _mismatch(scope, message, statement.targets[0], definition.name, _form(definition))
        return None
    return definition


def check_targets(statement: ast.CallStatement, scope: Scope) -> bool:
    """Report targets that cannot be written, occur twice, or are arguments as well."""
    sound = True
    seen: dict[str, ast.Name] = {}
    arguments = {a.text: a for a in statement.arguments}
    for target in statement.targets:
        if target.text in seen:
            message = f"`{target.text}` is a target twice"
            label = Label(seen[target.text].span, "here first")
            help = ("give each output of the call a target of its own",)
            scope.report.add(
                error("E0202", message, target.span, "again", secondary=(label,), help=help)
            )
            sound = False
        elif not check_target(target, scope):
            sound = False
        elif target.text in arguments:
            message = f"`{target.text}` is an argument of the call and its target"
            label = Label(arguments[target.text].span, "read here")
            help = (f"write to another tensor: `{target.text}_new`",)
            scope.report.add(
                error("E0223", message, target.span, "written here", secondary=(label,), help=help)
            )
            sound = False
        seen.setdefault(target.text, target)
    return sound


def argument(name: ast.Name, scope: Scope) -> Symbol | None:
    """The tensor that an argument names, once it is fully known."""
    text = name.text
    if text in scope.unclear:
        return None
    symbol = scope.tensors.get(text)
    if symbol is not None:
        return symbol if symbol.type is not None and symbol.shape is not None else None
    if scope.is_tensor(text):
        scope.report.add(not_written(text, name.span))
    elif (meaning := scope.meaning(text)) is not None:
        message = f"the arguments of a call are tensors, and `{text}` is {meaning}"
        hint = ("put the value into a tensor, and pass that",)
        scope.report.add(error("E0223", message, name.span, meaning, help=hint))
    else:
        help = suggestion(text, (n for n in scope.readable() if scope.is_tensor(n)))
        help = help or (f"assign `{text}` in a statement above, or add it to the inputs",)
        message = f"cannot find tensor `{text}`"
        scope.report.add(error("E0201", message, name.span, "not found", help=help))
    return None


def check_argument(parameter: ast.Parameter, name: ast.Name, symbol: Symbol, scope: Scope) -> bool:
    """Report an argument of another type or rank than its parameter."""
    wanted, rank = parameter.type.scalar, len(parameter.type.dimensions)
    if symbol.type is not wanted and symbol.type is not None:
        message = f"`{name.text}` is {symbol.type.value}, and `{parameter.name.text}` of the call"
        fresh, old = (element_form(n, symbol.rank or 0) for n in ("T", name.text))
        cast = f"{fresh} = {wanted.value}({old})"
        help = f"convert it in a statement of its own, `{cast}`, and pass `T`"
        _mismatch(scope, f"{message} is {wanted.value}", name, parameter.name, help)
        return False
    if symbol.rank != rank:
        message = f"`{name.text}` has {_count(symbol.rank or 0, 'dimension')}"
        message += f", and `{parameter.name.text}` of the call has {rank}"
        help = f"pass a tensor with {_count(rank, 'dimension')}"
        _mismatch(scope, message, name, parameter.name, help)
        return False
    return True


class SizeBinding:
    """The sizes of the callee, as expressions over those of the caller."""

    def __init__(self) -> None:
        self.values: dict[str, Affine] = {}
        self.requirements: list[Requirement] = []
        self._first: dict[str, ast.Name] = {}

    def bind(self, parameter: ast.Parameter, name: ast.Name, symbol: Symbol) -> None:
        """Bind the dimensions of a parameter to the extents of its argument."""
        for stated, extent in zip(parameter.type.dimensions, symbol.shape or (), strict=True):
            if isinstance(stated, ast.Number):
                wanted = dimension(stated)
                message = f"`{parameter.name.text}` needs {wanted} elements in this dimension"
                self._equal(wanted, extent, name, f"{message}, and `{name.text}` has {extent}", ())
            elif stated.text not in self.values:
                self.values[stated.text] = extent
                self._first[stated.text] = name
            else:
                earlier, first = self.values[stated.text], self._first[stated.text]
                message = f"size `{stated.text}` of the call is {earlier} and {extent}"
                label = Label(first.span, f"{earlier} here")
                self._equal(earlier, extent, name, message, (label,))

    def _equal(
        self, a: Affine, b: Affine, name: ast.Name, message: str, labels: tuple[Label, ...]
    ) -> None:
        reason = f"{a} and {b} are equal"
        for difference in (a - b, b - a):
            self.requirements.append(
                Requirement(
                    difference,
                    reason,
                    "E0309",
                    message,
                    name.span,
                    f"{b} here",
                    labels,
                    ("pass tensors whose extents agree with the def that is called",),
                )
            )


def check_result(target: ast.Name, tensor: tir.Tensor, callee: str, scope: Scope) -> bool:
    """Report a target whose type, rank or value before the call does not fit an output."""
    if not check_rank(target, tensor.rank, scope):
        return False
    old = scope.tensors.get(target.text)
    output = scope.signature.outputs.get(target.text)
    wanted = old.type if old is not None else None
    if old is None and output is not None and output.type is not None:
        wanted = output.type.scalar
    if wanted is not None and wanted is not tensor.type:
        message = f"`{target.text}` is {wanted.value}, and `{callee}` gives {tensor.type.value}"
        help = (f"let the call write a new {tensor.type.value} tensor, and cast its elements",)
        scope.report.add(error("E0223", message, target.span, f"{wanted.value} here", help=help))
        return False
    if old is None and tensor.role is tir.Role.INOUT:
        return _check_in_out(target, tensor, callee, scope)
    return True


def _check_in_out(target: ast.Name, tensor: tir.Tensor, callee: str, scope: Scope) -> bool:
    text = target.text
    label = Label(tensor.span, "an in/out tensor of the callee")
    help = (f"set `{text}` before the call",)
    if text in scope.signature.outputs:
        message = f"`{callee}` updates `{text}`, which is read from the caller's buffer"
        scope.report.add(
            warning("W0210", message, target.span, "not set yet", secondary=(label,), help=help)
        )
        return True
    message = f"`{callee}` updates `{text}`, and a temporary starts without values"
    scope.report.add(
        error("E0220", message, target.span, "holds nothing yet", secondary=(label,), help=help)
    )
    return False


def result_shape(target: ast.Name, symbol: Symbol, scope: Scope) -> Iterator[Requirement]:
    """That the shape of a new target is the declared one."""
    return declared_shape(target.text, symbol.shape or (), scope)


def _form(definition: ast.Definition) -> str:
    targets = ", ".join(o.name.text for o in definition.outputs)
    arguments = ", ".join(p.name.text for p in definition.parameters)
    return f"a call has the form `{targets} = {definition.name.text}({arguments})`"


def _mismatch(scope: Scope, message: str, place: ast.Name, defined: ast.Name, help: str) -> None:
    label = Label(defined.span, "defined here")
    scope.report.add(
        error("E0223", message, place.span, "does not fit", secondary=(label,), help=(help,))
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
