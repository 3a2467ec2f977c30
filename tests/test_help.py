"""The help of every command fits one screen and names the defaults."""

from __future__ import annotations

import re

import click
import pytest

from tcc.cli import tcc

SCREEN = 40
"""Lines of a terminal window, 80 columns wide."""


def commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> dict[tuple[str, ...], click.Command]:
    found: dict[tuple[str, ...], click.Command] = {path: group}
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found |= commands(command, (*path, name))
        else:
            found[*path, name] = command
    return found


COMMANDS = commands(tcc)


def help_of(path: tuple[str, ...]) -> str:
    command = COMMANDS[path]
    context = click.Context(command, info_name=" ".join(("tcc", *path)), terminal_width=80)
    return command.get_help(context)


@pytest.mark.parametrize("path", COMMANDS, ids=lambda p: " ".join(p) or "tcc")
def test_help_fits_one_screen(path):
    lines = help_of(path).splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("path", COMMANDS, ids=lambda p: " ".join(p) or "tcc")
def test_help_says_what_a_command_does(path):
    command = COMMANDS[path]
    assert command.help
    assert command.get_short_help_str(60).endswith(".")
    assert "..." not in command.get_short_help_str(60)


@pytest.mark.parametrize("path", COMMANDS, ids=lambda p: " ".join(p) or "tcc")
def test_every_option_has_a_help_and_names_its_default(path):
    command = COMMANDS[path]
    for option in command.params:
        if not isinstance(option, click.Option):
            continue
        assert option.help, option.name
        given = option.to_info_dict()["default"]
        plain = isinstance(given, str | int | float) and not isinstance(given, bool)
        if plain and not option.is_flag and not option.hidden:
            said = re.sub(r"\s+", " ", help_of(path))
            at = said.index(option.opts[-1] + " ")
            assert f"default: {given}" in said[at : at + 400], option.name
