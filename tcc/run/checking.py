"""The checking build: asked for by `--check` and `check=True`, and not supported yet."""

from __future__ import annotations

from tcc.diagnostics import error
from tcc.errors import CompileError
from tcc.source import Source, Span


def refuse_check() -> CompileError:
    """The error for everything that asks for the checking build."""
    text = "--check"
    found = error(
        "E0911",
        "a checking build is not supported yet",
        Span(Source("<arguments>", text), 0, len(text)),
        "asks for one",
        notes=("`tcc verify` runs the threads in both orders, with poisoned memory",),
        help=("leave `--check` out",),
    )
    return CompileError((found,))
