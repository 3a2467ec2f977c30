"""Completion in a shell: scripts that the shells read, answers to what they ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tcc.cli import main, tcc
from tcc.cli_completion import _FILES, _parameters
from tcc.target import TARGETS

BIN = Path(sys.executable).parent


def asked(monkeypatch, capfd, line, at=None):
    """The answer to Tab at the end of a line, as bash asks: `kind,value` by line."""
    words = line.split(" ")
    monkeypatch.setenv("_TCC_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1 if at is None else at))
    assert main([]) == 0
    return [tuple(line.split(",", 1)) for line in capfd.readouterr().out.splitlines()]


def test_commands(monkeypatch, capfd):
    assert asked(monkeypatch, capfd, "tcc comp") == [("plain", "compile")]
    names = [name for _, name in asked(monkeypatch, capfd, "tcc ")]
    assert set(names) == set(tcc.commands)


def test_options_and_their_words(monkeypatch, capfd):
    assert asked(monkeypatch, capfd, "tcc compile --opt") == [("plain", "--options")]
    archs = asked(monkeypatch, capfd, "tcc compile --arch ")
    assert archs == [("plain", name) for name in TARGETS]
    forms = asked(monkeypatch, capfd, "tcc check --message-format js")
    assert forms == [("plain", "json")]


@pytest.mark.parametrize(
    "line", ["tcc compile ", "tcc fmt a.tc b", "tcc verify a.tc --options sp", "tcc compile -o "]
)
def test_files(monkeypatch, capfd, line):
    assert asked(monkeypatch, capfd, line) == [("file", line.split(" ")[-1])]


def test_every_value_is_known_to_be_a_file_or_not():
    """A new option whose value is a file must be in the table."""
    others = {
        *("DEF", "NAME=VALUE", "SM", "FORM", "STAGE", "PASS", "P", "A::B", "ID", "[ID]...", "N"),
        *("DEVICE", "TIME", "ADDRESS", None),
    }
    unknown = {
        p.metavar
        for p in _parameters(tcc.commands.values())
        if p.metavar not in _FILES and not isinstance(p.type, click.Choice)
    } - others
    assert unknown == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(monkeypatch, capfd, shell, tmp_path):
    monkeypatch.setenv("_TCC_COMPLETE", f"{shell}_source")
    assert main([]) == 0
    script = capfd.readouterr().out
    assert "_TCC_COMPLETE" in script
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(script)
    subprocess.run([path, "-n", str(tmp_path / "script")], check=True)


def test_in_bash():
    """The script as a user's `.bashrc` runs it, and a key press."""
    text = (
        'eval "$(_TCC_COMPLETE=bash_source tcc)"\n'
        "COMP_WORDS=(tcc comp); COMP_CWORD=1; _tcc_completion tcc\n"
        'echo "${COMPREPLY[@]}"; complete -p tcc\n'
    )
    done = subprocess.run(
        ["bash", "-c", text],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
    )
    first, second = done.stdout.splitlines()
    assert first == "compile"
    assert second.endswith("-F _tcc_completion tcc")


def test_what_no_shell_asks(monkeypatch, capfd):
    monkeypatch.setenv("_TCC_COMPLETE", "nonsense")
    assert main([]) == 1
    assert capfd.readouterr().out == ""
