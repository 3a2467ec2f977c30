"""The command that editors run: lsp."""

from __future__ import annotations

import click

from tcc.errors import ToolchainError


@click.command("lsp")
def lsp_command() -> None:
    """Serve an editor over standard input and output.

    Diagnostics while typing, hover, go to definition, formatting, by the Language Server
    Protocol.
    """
    try:
        from tcc.lsp.server import serve
    except ModuleNotFoundError as problem:
        raise ToolchainError(
            f"error[E0712]: the language server needs a library: {problem}\n"
            '  = help: `pip install "tcc[lsp]"`\n'
        ) from problem
    serve()
