"""What a statement may write, and the shape and type its target must have."""

from __future__ import annotations

from collections.abc import Iterator

from tcc.affine import Affine
from tcc.diagnostics import Diagnostic, Label, error, warning
from tcc.frontend import ast, tir
from tcc.frontend.builtins import BUILTINS
from tcc.frontend.names import dimension
from tcc.frontend.requirements import Requirement
from tcc.frontend.scope import Scope
from tcc.frontend.suggest import closest


def check_target(name: ast.Name, scope: Scope) -> bool:
    """Report a target that is no output and no temporary."""
    text = name.text
    if text in scope.unclear:
        return False
    if text in scope.signature.outputs:
        return True
    if text in scope.signature.inputs:
        help = (f"write to an output or a new tensor: `{text}_out`",)
        message = f"input `{text}` cannot be written"
        label = Label(scope.signature.inputs[text].span, "an input")
        scope.report.add(
            error(
                "E0204", message, name.span, "inputs are immutable", secondary=(label,), help=help
            )
        )
    elif (meaning := _other_meaning(text, scope)) is not None:
        message = f"`{text}` is {meaning} and cannot be written"
        help = (f"write to another name, such as `{text}_out`",)
        scope.report.add(error("E0203", message, name.span, meaning, help=help))
        if scope.meaning(text) is None or text in BUILTINS:
            scope.unclear.add(text)
    elif text not in scope.read:
        scope.report.add(_unused(name, scope))
    else:
        return True
    scope.wrong_targets = True
    return False


def _other_meaning(text: str, scope: Scope) -> str | None:
    if text in scope.indices and text not in scope.tensors:
        return "an index variable"
    meaning = scope.meaning(text)
    return None if meaning == "a tensor" else meaning


def _unused(name: ast.Name, scope: Scope) -> Diagnostic:
    missing = [o for o in scope.signature.outputs if o not in scope.targets]
    near = closest(name.text, scope.signature.outputs)
    meant = near or (missing[0] if len(missing) == 1 else None)
    help = ("remove the statement, or add the tensor to the outputs",)
    if meant is not None:
        help = (f"did you mean `{meant}`?",)
    message = f"`{name.text}` is no output, and no statement reads it"
    return error("E0207", message, name.span, "the result is lost", help=help)


def check_reads_old(name: ast.Name, operator: ast.Name, scope: Scope) -> tir.Role | None:
    """The role of a tensor that is first written by `op=`; None after an error."""
    text, fresh = name.text, f"{operator.text}!"
    if text in scope.signature.outputs:
        message = f"`{text}` is updated before it is set: it is read from the caller's buffer"
        help = (f"use `{fresh}` to start from the identity of the operator",)
        scope.report.add(warning("W0210", message, operator.span, "keeps old values", help=help))
        return tir.Role.INOUT
    message = f"`{text}` is updated before it is set, and a temporary starts without values"
    help = (f"use `{fresh}` to start from the identity of the operator",)
    scope.report.add(error("E0220", message, name.span, "holds nothing yet", help=help))
    return None


def check_rank(name: ast.Name, rank: int, scope: Scope) -> bool:
    """Report a target with another number of indices than before, or than declared."""
    symbol = scope.tensors.get(name.text)
    output = scope.signature.outputs.get(name.text)
    wanted: int | None = None
    place = name.span
    if symbol is not None:
        wanted, place = symbol.rank, symbol.span
    elif output is not None and output.type is not None:
        wanted, place = len(output.type.dimensions), output.type.span
    if wanted is None or wanted == rank:
        return True
    message = f"`{name.text}` has {_count(wanted, 'dimension')}, and {rank} here"
    label = Label(place, f"{_count(wanted, 'dimension')} here")
    here = _count(rank, "dimension") + " here"
    help = (f"use {_count(wanted, 'subscript')}, or another name for this tensor",)
    scope.report.add(error("E0225", message, name.span, here, secondary=(label,), help=help))
    return False


def declared_shape(name: str, shape: tuple[Affine, ...], scope: Scope) -> Iterator[Requirement]:
    """That the shape of an output is the one its declaration states."""
    output = scope.signature.outputs.get(name)
    if output is None or output.type is None:
        return
    for position, (stated, extent) in enumerate(zip(output.type.dimensions, shape, strict=True)):
        wanted = dimension(stated)
        if not wanted.variables <= scope.signature.sizes.keys():
            continue
        reason = f"dimension {position} of `{name}` has {wanted} elements"
        message = f"dimension {position} of `{name}` is declared as `{wanted}`"
        message += f", and its statement gives `{extent}`"
        label = "declared here"
        help = (f"leave out the type, `-> ({name})`: its shape follows from the statement",)
        for difference in (wanted - extent, extent - wanted):
            yield Requirement(difference, reason, "E0306", message, stated.span, label, help=help)


def check_outputs(scope: Scope) -> None:
    """Report outputs that nothing writes; not after a wrong target, which may be the cause."""
    if scope.wrong_targets:
        return
    for name, output in scope.signature.outputs.items():
        if name not in scope.targets and name not in scope.unclear:
            message = f"output `{name}` is never assigned"
            help = (f"assign it, or remove `{name}` from the outputs",)
            scope.report.add(
                error("E0205", message, output.name.span, "no statement writes it", help=help)
            )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
