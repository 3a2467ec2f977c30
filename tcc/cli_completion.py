"""Completion in a shell, by click: what bash, zsh and fish ask when Tab is pressed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

VARIABLE = "_TCC_COMPLETE"
"""The shell's script sets it to what it asks; `NAME_source` asks for the script itself."""
_FILES = frozenset(
    {"CU", "CUBIN", "D", "FILE", "FILE...", "FILE.tc", "FILE.tc...", "[FILE.tc]...", "H", "HTML"}
    | {"JSON", "NPZ", "PTX", "YAML"}
)
"""What the help calls the values that are names of files."""


def complete(group: click.Group, question: str) -> int:
    """Answer the shell; the exit code."""
    from click.shell_completion import shell_complete

    for parameter in _parameters(group.commands.values()):
        if parameter.metavar in _FILES:
            parameter.type = click.Path(allow_dash=True)
    return shell_complete(group, {}, "tcc", VARIABLE, question)


def _parameters(commands: Iterable[click.Command]) -> Iterator[click.Parameter]:
    for command in commands:
        yield from command.params
        if isinstance(command, click.Group):
            yield from _parameters(command.commands.values())
