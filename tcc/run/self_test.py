"""A C++ program that checks an emitted kernel against the reference kernel on a GPU, and times it.

It holds the reference kernel, draws its inputs, and needs nothing but the kernel's object file and
the CUDA runtime. Sizes, ranges of the inputs and tolerances are those of `tcc verify`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tcc.artifact import Argument, ArgumentKind, Artifact, Interface, Library
from tcc.driver import Compilation, Request, compile_program
from tcc.errors import CompileError, InternalError, UsageError
from tcc.frontend.tir import Role
from tcc.kernel.emit_unit import render, unit_text
from tcc.kernel.safe_text import comment_text
from tcc.kernel.spelling import C_TYPES, FROM_HALF, TO_HALF
from tcc.run.verify_bound import EPSILON, relative_bounds
from tcc.run.verify_inputs import Domain, find_domain
from tcc.run.verify_sizes import awkward_sizes, points, second_turns
from tcc.scalar import ScalarType

AWKWARD = 6
"""Awkward assignments of open sizes."""
MOST_POINTS = 1 << 31
"""Statement instances up to which one thread of a GPU runs the reference kernel."""


def self_test(request: Request, compilation: Compilation, subject: Artifact | Library) -> str:
    """The text of a `.cu` file with `main`, to be linked with that of the `subject`.

    `compilation` is that of the request; of one of its architectures where there are several.
    UsageError when no inputs are known with which all subscripts from data stay inside.
    """
    reference = compilation.reference
    if reference is None or reference.parts is None:
        raise InternalError("there is no reference kernel to check against")
    domains = _domains(request, compilation)
    if not domains:
        raise UsageError(
            "no inputs are known that keep every data-dependent subscript inside its tensor;"
            " give their ranges under `verify: inputs` of the options file"
        )
    parts = reference.parts
    text = render("self_test.cu.j2", _values(request, subject, reference, domains))
    title = f"Checks and times {subject.interface.function}, made by tcc"
    headers = ("math.h", "stdio.h", "stdlib.h", "string.h")
    return unit_text(
        replace(
            parts,
            comment=(title, *parts.comment[1:]),
            host_includes=tuple(dict.fromkeys((*headers, *parts.host_includes))),
            launcher=parts.launcher + text,
        )
    )


def _domains(request: Request, compilation: Compilation) -> list[Domain]:
    """The sizes to check at, with the ranges of the inputs there."""
    program, plan = compilation.program, compilation.plan
    if program is None or plan is None or compilation.lowering is None:
        raise InternalError("the compilation stopped before it was complete")
    if not program.sizes:
        found = [find_domain(program, request.sizes, request.options.verify.inputs)]
        return [d for d in found if d.harmless]
    about = (program, compilation.preconditions, plan, request.sizes)
    divided = compilation.lowering.program
    near = awkward_sizes(*about, AWKWARD, 0, divided)
    turned = second_turns(*about, divided)
    wanted = (
        [{**near[-1], **request.sizes, **s} for s in request.options.verify.sizes] if near else []
    )
    domains = (_domain(request, sizes) for sizes in (*wanted, *near, *turned))
    return [d for d in domains if d is not None and d.harmless]


def _domain(request: Request, sizes: Mapping[str, int]) -> Domain | None:
    """None for sizes at which the program is rejected."""
    try:
        found = compile_program(replace(request, sizes=sizes), stop_after="check")
    except CompileError:
        return None
    if found.program is None:
        return None
    return find_domain(found.program, sizes, request.options.verify.inputs)


def _values(
    request: Request, subject: Artifact | Library, reference: Artifact, domains: list[Domain]
) -> dict[str, object]:
    """What the template prints."""
    interface = subject.interface
    parameters = subject.parts.parameters if subject.parts else ()
    declared = zip(interface.arguments, parameters, strict=True)
    sizes = [text for a, text in declared if a.kind is ArgumentKind.SIZE]
    work = [points(d.program, d.sizes) for d in domains]
    return {
        "function": interface.function,
        "parameters": ", ".join([*parameters, "cudaStream_t stream"]),
        "size_parameters": ", ".join(sizes),
        "sizes": interface.symbolic,
        "workspace": _has_workspace(interface),
        "workspace_call": _workspace_call(interface),
        "reference_workspace_call": _workspace_call(reference.interface),
        "call": _call(interface),
        "reference_call": _call(reference.interface),
        "tensors": [_tensor(a) for a in interface.tensors],
        "cases": [_case(request, interface, d) for d in domains],
        "timed": work.index(max(work)),
    }


def _tensor(argument: Argument) -> dict[str, str]:
    type = argument.type
    if type is None:
        raise InternalError(f"{argument.name} has no element type")
    element = f"static_cast<const {C_TYPES[type]}*>(data)[i]"
    is_input, is_output = argument.role is not Role.OUTPUT, argument.role is not Role.INPUT
    return {
        "name": argument.name,
        "type": C_TYPES[type],
        "epsilon": repr(EPSILON.get(type, 0.0)),
        "is_input": _bool(is_input),
        "is_output": _bool(is_output),
        "load": f"{FROM_HALF[type]}({element})"
        if type.is_half
        else f"static_cast<double>({element})",
        "store": _stored(type),
    }


def _stored(type: ScalarType) -> str:
    if type is ScalarType.BOOL:
        return "value != 0.0"
    if type.is_half:
        return f"{TO_HALF[type]}(static_cast<float>(value))"
    return f"static_cast<{C_TYPES[type]}>(value)"


def _case(request: Request, interface: Interface, domain: Domain) -> dict[str, str]:
    sizes, program = domain.sizes, domain.program
    given = request.options.verify.relative_tolerance
    bounds = relative_bounds(program, sizes)
    shapes = (program.tensors[a.name].shape for a in interface.tensors)
    name = ", ".join(f"{n} = {v}" for n, v in sizes.items())
    return {
        "name": comment_text(name) or "fixed sizes",
        "is_checked": _bool(points(program, sizes) <= MOST_POINTS),
        "sizes": ", ".join(str(sizes[s]) for s in interface.symbolic) or "0",
        "elements": ", ".join(str(math.prod(e.evaluate(sizes) for e in s)) for s in shapes),
        "drawn": ", ".join(_drawn(domain, a) for a in interface.tensors),
        "tolerance": ", ".join(
            repr(bounds[a.name] if given is None else given) for a in interface.tensors
        ),
    }


def _drawn(domain: Domain, argument: Argument) -> str:
    """How the values of an input are drawn."""
    if argument.type is ScalarType.BOOL:
        return "{kWhole, 0.0, 1.0}"
    if argument.name not in domain.limits:
        return "{kFree, 0.0, 0.0}"
    low, high = domain.limits[argument.name]
    is_whole = isinstance(low, int) and isinstance(high, int)
    return f"{{{'kWhole' if is_whole else 'kReal'}, {float(low)!r}, {float(high)!r}}}"


def _call(interface: Interface) -> str:
    return f"::{interface.function}({', '.join([*_actual(interface), 'nullptr'])})"


def _actual(interface: Interface) -> Iterator[str]:
    """The arguments: pointers in `data`, numbers in `sizes`."""
    tensors, sizes = list(interface.tensors), list(interface.symbolic)
    for argument in interface.arguments:
        match argument.kind:
            case ArgumentKind.WORKSPACE:
                yield "workspace"
            case ArgumentKind.SIZE:
                yield f"sizes[{sizes.index(argument.name)}]"
            case ArgumentKind.TENSOR:
                type = C_TYPES[argument.type] if argument.type else "void"
                qualifier = "const " if argument.role is Role.INPUT else ""
                yield f"static_cast<{qualifier}{type}*>(data[{tensors.index(argument)}])"


def _workspace_call(interface: Interface) -> str:
    if not _has_workspace(interface):
        return "0"
    sizes = ", ".join(f"sizes[{i}]" for i in range(len(interface.symbolic)))
    return f"::{interface.function}_workspace_bytes({sizes})"


def _has_workspace(interface: Interface) -> bool:
    return any(a.kind is ArgumentKind.WORKSPACE for a in interface.arguments)


def _bool(value: bool) -> str:
    return "true" if value else "false"
