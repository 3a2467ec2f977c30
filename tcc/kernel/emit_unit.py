"""Puts an emitted file and its header together from their parts, by templates without logic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import jinja2

from tcc.affine import const
from tcc.artifact import Argument, ArgumentKind, Interface, Naming, Parts
from tcc.kernel.names import spell
from tcc.scalar import ScalarType

_HALVES = {ScalarType.FLOAT16: "cuda_fp16.h", ScalarType.BFLOAT16: "cuda_bf16.h"}


def unit_text(parts: Parts) -> str:
    """The text of a `.cu` file."""
    return render("unit.cu.j2", {"parts": parts})


def header_text(interface: Interface, parts: Parts, naming: Naming, name: str) -> str:
    """The text of the `.h` file, for C and C++; `name` is that of the def."""
    taken = zip(interface.arguments, parts.names, parts.parameters, strict=True)
    sizes = [(n, p) for a, n, p in taken if a.kind is ArgumentKind.SIZE]
    values = {
        "comment": parts.comment,
        "guard": f"TCC_{interface.function.upper()}_H",
        "halves": half_headers([a.type for a in interface.tensors]),
        "tensors": [_tensor_comment(a) for a in interface.tensors],
        "function": interface.function,
        "parameters": ", ".join([*parts.parameters, "cudaStream_t stream"]),
        "names": ", ".join([*parts.names, "stream"]),
        "workspace": any(a.kind is ArgumentKind.WORKSPACE for a in interface.arguments),
        "size_parameters": ", ".join(p for _, p in sizes),
        "size_names": ", ".join(n for n, _ in sizes),
        "namespace": naming.namespace,
        "inside": spell(name),
    }
    return render("unit.h.j2", values)


def half_headers(types: Sequence[ScalarType | None]) -> tuple[str, ...]:
    """The headers of CUDA that declare some types."""
    return tuple(header for type, header in _HALVES.items() if type in types)


def render(template: str, values: dict[str, object]) -> str:
    """A template of `tcc/templates` with its values."""
    return _environment().get_template(template).render(values)


def _tensor_comment(argument: Argument) -> str:
    shape = ", ".join(str(e) for e in argument.shape)
    role = argument.role.value if argument.role else ""
    text = f"{argument.name}({shape}): {role}"
    if any(o != const(0) for o in argument.origin):
        origin = ", ".join(str(o) for o in argument.origin)
        text += f", element ({origin}) is stored first"
    return text


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("tcc"),
        undefined=jinja2.StrictUndefined,
        variable_start_string="${",
        variable_end_string="}",
        block_start_string="/*%",
        block_end_string="%*/",
        comment_start_string="/*#",
        comment_end_string="#*/",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
