"""A wrong entry or size is marked where it was given: command line, options file or call."""

from __future__ import annotations

from pathlib import Path

import pytest

import tcc
from tcc.cli import main
from tcc.diagnostics import Diagnostic
from tcc.errors import CompileError

PROGRAM = "def scale(float(N) A) -> (B) { B(i) = 2 * A(i) }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("scale.tc").write_text(PROGRAM)
    return tmp_path


def printed(capfd: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The first lines that a rejected compilation prints."""
    assert main(["compile", "scale.tc", *words, "-o", "-"]) == 1
    return capfd.readouterr().err.splitlines()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("words", [("--size", "M=4"), ("--size=M=4",)], ids=["two", "one"])
def test_a_size_on_the_command_line(words, capfd):
    lines = printed(capfd, *words, "--size", "N=8")
    assert lines[0] == "error[E0613]: `scale` has no size `M`"
    text = f"tcc compile scale.tc {' '.join(words)} --size N=8 -o -"
    assert lines[1] == f" --> <command line>:1:{text.index('M=4') + 1}"
    assert lines[3] == f"1 | {text}"
    assert lines[4] == f"  | {' ' * text.index('M=4')}^ not a size of the def"
    assert " ::: scale.tc:1:5" in lines
    assert "  |     ----- its sizes are `N`" in lines


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("words", [("--entry", "scal"), ("--entry=scal",)], ids=["two", "one"])
def test_an_entry_on_the_command_line(words, capfd):
    lines = printed(capfd, *words)
    assert lines[0] == "error[E0612]: the file has no def `scal`"
    text = f"tcc compile scale.tc {' '.join(words)} -o -"
    at = text.rindex("scal")
    assert lines[4] == f"  | {' ' * at}^^^^ no def of the file"
    assert " ::: scale.tc:1:5" in lines
    assert "  = help: did you mean `scale`?" in lines


@pytest.mark.usefixtures("folder")
def test_an_entry_that_is_spelled_like_the_file(capfd):
    Path("f").write_text(PROGRAM)
    assert main(["compile", "f", "--entry", "f", "-o", "-"]) == 1
    assert " --> <command line>:1:23" in capfd.readouterr().err.splitlines()


@pytest.mark.usefixtures("folder")
def test_an_options_file(capfd):
    Path("o.yaml").write_text("entry: scal\n")
    lines = printed(capfd, "--options", "o.yaml")
    assert lines[1:5] == [
        " --> o.yaml:1:8",
        "  |",
        "1 | entry: scal",
        "  |        ^^^^ no def of the file",
    ]
    Path("o.yaml").write_text("sizes:\n  N: 8\n  M: 4\n")
    lines = printed(capfd, "--options", "o.yaml")
    assert lines[1] == " --> o.yaml:3:3"
    assert lines[4] == "  |   ^ not a size of the def"


@pytest.mark.usefixtures("folder")
def test_the_command_line_wins_over_the_options_file(capfd):
    Path("o.yaml").write_text("entry: scale\nsizes: {M: 4}\n")
    lines = printed(capfd, "--options", "o.yaml", "--size", "M=5", "--entry", "scale")
    assert lines[1].startswith(" --> <command line>:1:")


def rejection(**given: object) -> Diagnostic:
    with pytest.raises(CompileError) as problem:
        tcc.compile(PROGRAM, **given)
    (found,) = problem.value.diagnostics
    assert (problem.value.line, problem.value.column) == (found.line, found.column)
    return found


@pytest.mark.parametrize("given", [{"sizes": {"M": 4}}, {"options": {"sizes": {"M": 4}}}])
def test_a_size_in_a_call(given):
    found = rejection(**given)
    assert found.code == "E0613"
    assert found.primary.span.text == '"M"'
    assert found.secondary[0].span.text == "scale"


@pytest.mark.parametrize("given", [{"entry": "scal"}, {"options": {"entry": "scal"}}])
def test_an_entry_in_a_call(given):
    found = rejection(**given)
    assert found.code == "E0612"
    assert found.primary.span.text == '"scal"'


def test_an_entry_that_is_no_name():
    assert rejection(entry="").code == "E0502"
