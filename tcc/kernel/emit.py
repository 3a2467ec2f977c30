"""Kernel IR to CUDA C++: the translation unit and its header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from tcc.affine import Affine, const
from tcc.artifact import (
    PLAIN,
    Argument,
    ArgumentKind,
    Artifact,
    FastPath,
    Interface,
    Launch,
    Naming,
    Parts,
    Requirement,
)
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.context import NARROW, VECTOR, Context, is_wide
from tcc.kernel.emit_unit import half_headers, header_text, render, unit_text
from tcc.kernel.helpers import helper_texts
from tcc.kernel.int_limits import REASON
from tcc.kernel.names import spell_function
from tcc.kernel.safe_text import comment_text
from tcc.kernel.size_limits import SizeLimits
from tcc.kernel.spelling import C_TYPES
from tcc.kernel.statements import kernel_lines
from tcc.kernel.text import Printer
from tcc.scalar import ScalarType

STATIC_SHARED_LIMIT = 49152
ALIGNMENT = 256
Printed: TypeAlias = dict[str, object]
"""What the template prints of a kernel."""


@dataclass(frozen=True)
class Fast:
    """Kernels for sizes that are multiples of 4, with the context they were lowered in."""

    context: Context
    quarters: tuple[str, ...]
    kernels: tuple[ir.Kernel, ...]


@dataclass(frozen=True)
class Unit:
    """What one translation unit is made of. `comment` lines go to the top of the file."""

    function: str
    kernels: tuple[ir.Kernel, ...]
    preconditions: tuple[tir.Precondition, ...]
    workspace: tuple[str, ...]
    comment: tuple[str, ...]
    sizes: Mapping[str, int]
    fast: Fast | None = None
    naming: Naming = PLAIN


def emit(context: Context, unit: Unit) -> Artifact:
    """The `.cu` and `.h` text of a program and how to call it.

    Requires: kernels in launch order, all from `context`.
    Establishes: the text depends on nothing but its arguments.
    """
    helpers: set[str] = set()
    limits = SizeLimits(_size_names(context, unit))
    fast = (
        _kernels(unit.fast.context, unit, unit.fast.kernels, helpers, limits) if unit.fast else []
    )
    kernels = _kernels(context, unit, unit.kernels, helpers, limits)
    unit = replace(unit, preconditions=_preconditions(context, unit, limits))
    interface = _interface(context, unit)
    parts = _parts(context, unit, interface, helpers, (fast, kernels))
    source = unit_text(parts)
    header = header_text(interface, parts, unit.naming, unit.function)
    return Artifact(source, header, interface, parts)


def _preconditions(
    context: Context, unit: Unit, limits: SizeLimits
) -> tuple[tir.Precondition, ...]:
    """What the unit demands of sizes, and what its arithmetic does: of two limits the stricter."""
    found = [*unit.preconditions]
    for limit in limits.conditions():
        larger = [p for p in found if p.reason == REASON and (p.expression - limit).is_constant]
        fresh = tir.Precondition(limit, REASON, context.program.span)
        at = found.index(larger[0]) if larger else len(found)
        if not larger or limit.constant < larger[0].expression.constant:
            found[at : at + 1] = [fresh]
    return tuple(found)


def _size_names(context: Context, unit: Unit) -> dict[str, tuple[str, int]]:
    """What size each parameter of the kernels is a fraction of, and by what it is divided."""
    contexts = (context, unit.fast.context) if unit.fast else (context,)
    return {
        parameter: (size, 1 if parameter == c.spelling[size] else VECTOR)
        for c in contexts
        for size, parameter in c.parameters.items()
    }


def _parts(
    context: Context,
    unit: Unit,
    interface: Interface,
    helpers: set[str],
    printed: tuple[list[Printed], list[Printed]],
) -> Parts:
    fast, kernels = printed
    variant = unit.naming.variant
    printer = Printer(context.size_ranges, helpers, largest_size=NARROW)
    launcher = _launcher(context, unit, interface, printer)
    return Parts(
        unit.comment,
        ("cuda_runtime.h", *(("stdio.h",) if "inside" in helpers else ())),
        (
            *half_headers([t.type for t in context.program.tensors.values()]),
            *(("cuda_pipeline.h",) if _has_async(unit) else ()),
        ),
        tuple(helper_texts(helpers)),
        render(
            "kernels.cu.j2",
            {"kernels": fast + kernels, "guard": variant.condition if variant else ""},
        ),
        render("launcher.cu.j2", {**launcher, "fast": fast, "kernels": kernels}),
        _parameters(context, interface),
        tuple(context.spelling.get(a.name, a.name) for a in interface.arguments),
    )


def _launcher(
    context: Context, unit: Unit, interface: Interface, printer: Printer
) -> dict[str, object]:
    """What the template prints of the launcher, without the kernels."""
    return {
        "linkage": "static" if unit.naming.variant else 'extern "C"',
        "function": interface.function,
        "parameters": ", ".join([*_parameters(context, interface), "cudaStream_t stream"]),
        "fast_conditions": _fast_conditions(context, unit, interface, printer),
        "quarters": _quarters(context, unit),
        "checks": _checks(context, unit, interface, printer),
        "alignments": _alignments(context, unit, interface),
        "carved": _carved(context, unit, printer),
        "workspace": unit.workspace,
        "workspace_bytes": _bytes(context, unit.workspace, printer),
        "size_parameters": ", ".join(f"int {context.spelling[s]}" for s in interface.symbolic),
        "unused": [context.spelling[s] for s in interface.symbolic],
    }


def _kernels(
    context: Context,
    unit: Unit,
    kernels: tuple[ir.Kernel, ...],
    helpers: set[str],
    limits: SizeLimits,
) -> list[Printed]:
    """What the template prints of each kernel."""
    printer = Printer(context.size_ranges, helpers, limits)
    return [
        {
            **_kernel(k, kernel_lines(k, context.size_ranges, helpers, limits), printer),
            "name": _kernel_name(context, unit, k),
        }
        for k in kernels
    ]


def _quarters(context: Context, unit: Unit) -> list[str]:
    """Declarations of the quartered sizes."""
    if unit.fast is None:
        return []
    used = {s for k in unit.fast.kernels for s in k.sizes}
    pairs = [(context.spelling[s], unit.fast.context.parameters[s]) for s in unit.fast.quarters]
    return [f"int {quarter} = {size} / {VECTOR};" for size, quarter in pairs if quarter in used]


def _fast_conditions(context: Context, unit: Unit, interface: Interface, printer: Printer) -> str:
    """The C++ condition under which the fast kernels are right."""
    if unit.fast is None:
        return ""
    tests = [f"{context.spelling[s]} % {VECTOR} == 0" for s in unit.fast.quarters]
    tests += [f"(size_t){context.spelling[a.name]} % 16 == 0" for a in interface.tensors]
    tests += ["(size_t)workspace % 16 == 0"] if unit.workspace else []
    shapes = (context.program.tensors[t].shape for t in context.program.tensors)
    for shape in shapes:
        if is_wide(shape):
            extents = [f"(long long){printer.factor(context.size(e))}" for e in shape]
            tests.append(f"{' * '.join(extents)} <= {NARROW}")
    return " && ".join(dict.fromkeys(tests))


def _has_async(unit: Unit) -> bool:
    kernels = (*unit.kernels, *(unit.fast.kernels if unit.fast else ()))
    return any(isinstance(s, ir.AsyncWait) for k in kernels for s in ir.walk(k.body))


def _interface(context: Context, unit: Unit) -> Interface:
    program = context.program
    arguments = [
        _tensor_argument(context, name)
        for name in (*program.inputs, *(o for o in program.outputs if o not in program.inputs))
    ]
    needed = _needed_alignments(unit)
    aligned = {a.name: needed.get(context.spelling[a.name], 0) for a in arguments}
    if unit.workspace:
        arguments.append(Argument("workspace", ArgumentKind.WORKSPACE))
    symbolic = tuple(s for s in program.sizes if s not in unit.sizes)
    arguments += [Argument(s, ArgumentKind.SIZE) for s in symbolic]
    launches = tuple(_launch(context, unit, k) for k in unit.kernels)
    offsets, total = {}, const(0)
    for name in unit.workspace:
        offsets[name] = total
        total = total + _padded_bytes(context.tensor(name))
    fast = None
    if unit.fast is not None:
        quick = tuple(_launch(unit.fast.context, unit, k) for k in unit.fast.kernels)
        fast = FastPath(unit.fast.quarters, quick)
    return Interface(
        spell_function(unit.naming.function(unit.function)),
        tuple(arguments),
        launches,
        dict(unit.sizes),
        symbolic,
        total,
        offsets,
        fast,
        tuple(Requirement(p.expression, str(p), p.reason) for p in unit.preconditions),
        {name: most for name, most in aligned.items() if most},
        _unordered(context, unit),
    )


def _unordered(context: Context, unit: Unit) -> tuple[str, ...]:
    """The tensors that kernels combine into by atomic operations."""
    kernels = (*unit.kernels, *(unit.fast.kernels if unit.fast else ()))
    statements = (s for k in kernels for s in ir.walk(k.body))
    combined = {s.buffer.name for s in statements if isinstance(s, ir.Atomic)}
    return tuple(t for t in context.program.tensors if context.spelling[t] in combined)


def _launch(context: Context, unit: Unit, kernel: ir.Kernel) -> Launch:
    """A launch in the program's own names."""
    sizes = context.unspelled
    names = {spelled: name for name, spelled in context.spelling.items()}
    x, y, z = (extent.substitute(sizes) for extent in kernel.grid)
    own = {parameter: size for size, parameter in context.parameters.items()}
    arguments = (*(names[b.name] for b in kernel.buffers), *(own[s] for s in kernel.sizes))
    name = _kernel_name(context, unit, kernel)
    return Launch(name, (x, y, z), kernel.block, kernel.shared_bytes, arguments)


def _tensor_argument(context: Context, name: str) -> Argument:
    tensor = context.tensor(name)
    return Argument(
        name, ArgumentKind.TENSOR, tensor.type, tensor.role, tensor.shape, tensor.origin
    )


def _padded_bytes(tensor: tir.Tensor) -> Affine:
    total = const(tensor.type.bytes)
    for extent in tensor.shape:
        total = total * extent
    return (total + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


def _parameters(context: Context, interface: Interface) -> tuple[str, ...]:
    parts: list[str] = []
    for argument in interface.arguments:
        name = context.spelling.get(argument.name, argument.name)
        if argument.kind is ArgumentKind.SIZE:
            parts.append(f"int {name}")
        elif argument.kind is ArgumentKind.WORKSPACE:
            parts.append("void* workspace")
        else:
            parts.append(_pointer(argument.type, name, readonly=argument.role is tir.Role.INPUT))
    return tuple(parts)


def _pointer(type: ScalarType | None, name: str, *, readonly: bool, restrict: bool = False) -> str:
    if type is None:
        raise ValueError(f"{name} has no element type")
    qualifier = " __restrict__" if restrict else ""
    return f"{'const ' if readonly else ''}{C_TYPES[type]}*{qualifier} {name}"


def _kernel_name(context: Context, unit: Unit, kernel: ir.Kernel) -> str:
    """Kernels are called by their def: `matmul_kernel1`, `prefix_matmul_sm_80_kernel1`."""
    name = context.program.name
    return spell_function(unit.naming.function(name) + kernel.name.removeprefix(name))


def _kernel(kernel: ir.Kernel, body: list[str], printer: Printer) -> dict[str, object]:
    threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
    parameters = [
        _pointer(b.type, b.name, readonly=b.readonly, restrict=True) for b in kernel.buffers
    ]
    parameters += [f"int {s}" for s in kernel.sizes]
    bounds = str(threads) + (f", {kernel.min_blocks}" if kernel.min_blocks else "")
    return {
        "bounds": bounds,
        "parameters": ", ".join(parameters),
        "body": "\n".join(body),
        "grid": ", ".join(printer.affine(g) for g in kernel.grid),
        "block": ", ".join(str(b) for b in kernel.block),
        "arguments": ", ".join(
            [*(f"&{b.name}" for b in kernel.buffers), *(f"&{s}" for s in kernel.sizes)]
        ),
        "notes": kernel.notes,
        "geometry": _geometry(kernel),
    }


def _geometry(kernel: ir.Kernel) -> str:
    grid = " x ".join(str(g) for g in kernel.grid)
    block = " x ".join(str(b) for b in kernel.block)
    return f"grid {grid}, block {block}, {kernel.shared_bytes} bytes of shared memory"


def _checks(
    context: Context, unit: Unit, interface: Interface, printer: Printer
) -> list[tuple[str, str]]:
    """Conditions under which the launcher refuses, with the reason."""
    checks = [
        (f"{context.spelling[a.name]} == nullptr", f"{a.name} is null") for a in interface.tensors
    ]
    if unit.workspace:
        checks.append(("workspace == nullptr", "the workspace is null"))
    checks += [(f"{context.spelling[s]} < 1", f"{s} is empty") for s in interface.symbolic]
    for precondition in unit.preconditions:
        text = printer.affine(context.size(precondition.expression))
        checks.append((f"{text} < 0", comment_text(precondition.reason)))
    return checks


def _needed_alignments(unit: Unit) -> dict[str, int]:
    """The bytes that vector accesses need buffers aligned to, by the name in the text."""
    needed: dict[str, int] = {}
    for kernel in unit.kernels:
        needed |= dict.fromkeys(kernel.aligned, ir.ALIGNED_BYTES)
        for statement in ir.walk(kernel.body):
            if isinstance(statement, ir.VectorMove | ir.AsyncCopy):
                for buffer in (statement.target, statement.source):
                    if buffer.space is ir.Space.GLOBAL:
                        size = statement.width * buffer.type.bytes
                        needed[buffer.name] = max(size, needed.get(buffer.name, 0))
    return needed


def _alignments(context: Context, unit: Unit, interface: Interface) -> list[tuple[str, str]]:
    """Pointers that must be aligned; workspace is carved in aligned pieces."""
    needed = _needed_alignments(unit)
    arguments = {context.spelling[a.name]: a.name for a in interface.tensors}
    checks = [
        (f"(size_t){name} % {needed[name]} != 0", f"{arguments[name]} needs {needed[name]} bytes")
        for name in arguments
        if name in needed
    ]
    carved = [needed[n] for n in (context.spelling[w] for w in unit.workspace) if n in needed]
    if carved:
        checks.append(
            (f"(size_t)workspace % {max(carved)} != 0", f"workspace: {max(carved)} bytes")
        )
    return checks


def _carved(context: Context, unit: Unit, printer: Printer) -> list[str]:
    """The temporaries' pointers into the workspace."""
    lines: list[str] = []
    before: list[str] = []
    for name in unit.workspace:
        tensor = context.tensor(name)
        type, spelled = C_TYPES[tensor.type], context.spelling[name]
        base = " + ".join(["static_cast<char*>(workspace)", *before])
        lines.append(f"{type}* {spelled} = reinterpret_cast<{type}*>({base});")
        before.append(_bytes(context, (name,), printer))
    return lines


def _bytes(context: Context, tensors: tuple[str, ...], printer: Printer) -> str:
    """C++ text of the padded size in bytes, in size_t arithmetic."""
    parts = []
    for name in tensors:
        tensor = context.tensor(name)
        factors = [f"{tensor.type.bytes}"]
        factors += [f"(size_t){printer.factor(context.size(e))}" for e in tensor.shape]
        parts.append(f"(({' * '.join(factors)} + {ALIGNMENT - 1}) / {ALIGNMENT} * {ALIGNMENT})")
    return " + ".join(parts) if parts else "0"
