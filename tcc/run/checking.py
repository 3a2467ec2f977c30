"""The checking build is the host device's; asking a GPU for it is an error."""

from __future__ import annotations

from tcc.diagnostics import error
from tcc.errors import CompileError
from tcc.source import Source, Span


def refuse_check(device: str) -> CompileError:
    """The error for asking another device than the host for the checking build."""
    text = "--check"
    found = error(
        "E0911",
        f"there is no checking build for the device `{device}`",
        Span(Source("<arguments>", text), 0, len(text)),
        "asks for one",
        notes=("races, bounds and undefined reads are checked on the CPU",),
        help=("take the host device: `--device host --check`",),
    )
    return CompileError((found,))
