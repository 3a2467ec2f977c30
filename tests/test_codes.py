"""Every code has a page, and every page tells the truth: its examples are compiled."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tcc
from tcc.cli import main
from tcc.codes import codes, page, parse
from tcc.diagnostics import Report
from tcc.driver import Request, compile_program
from tcc.errors import CompileError
from tcc.inputs import target_of
from tcc.options import Options
from tcc.options_file import read_options
from tcc.source import Source
from tcc.target import TARGETS

ROOT = Path(__file__).parents[1]
USES = sorted(
    {
        (code, path.relative_to(ROOT / "tcc").parts[0])
        for path in (ROOT / "tcc").rglob("*.py")
        for code in re.findall(r"[\"\[]([EW]\d{4})[\"\]]", path.read_text("utf-8"))
    }
)
USED = sorted({code for code, _ in USES})
PAGES = [page(code) for code in codes()]
# What a test cannot bring about: a missing compiler, library or GPU.
UNTESTED = re.compile("E07..")
EXAMPLES = [
    pytest.param(p.code, example, id=f"{p.code}-{i}-{example.language}")
    for p in PAGES
    for i, example in enumerate(p.wrong)
    if not UNTESTED.fullmatch(p.code)
]
FIXES = [
    pytest.param(example, id=f"{p.code}-{i}-{example.language}")
    for p in PAGES
    for i, example in enumerate(p.right)
    if not UNTESTED.fullmatch(p.code)
]


@pytest.mark.parametrize("code", USED)
def test_every_code_has_a_page(code):
    assert page(code) is not None


def test_a_code_belongs_to_one_part_of_the_compiler():
    """Two parts that take the same number for different things would share a page."""
    shared = {code for code, part in USES if (code, part) != next(u for u in USES if u[0] == code)}
    assert shared <= {"E0524"}, "limits.py finds what every plan exceeds, sched/ what one does"


def test_every_page_has_a_code():
    assert set(codes()) == set(USED)


@pytest.mark.parametrize("found", PAGES, ids=lambda p: p.code)
def test_the_form_of_a_page(found):
    assert page(found.code).code == found.code
    assert not found.title.endswith(".")
    assert found.wrong, "a page needs an example"
    assert found.right, "a page needs `## Fix` with an example"
    assert found.text.endswith("\n")


def test_codes_that_do_not_exist():
    assert page("E9999") is None
    assert page("../__init__") is None
    with pytest.raises(ValueError, match="a page starts with"):
        parse("no title")


def compiled(example):
    """What the compiler reports for the last def of an example."""
    entry = re.findall(r"^\s*def\s+(\w+)", example.text, re.MULTILINE)
    request = Request(
        Source("example.tc", example.text),
        entry[-1] if entry else None,
        example.sizes,
        Options(),
        TARGETS["sm_90"],
    )
    try:
        return compile_program(request).diagnostics
    except CompileError as problem:
        return problem.diagnostics


def yaml_codes(example):
    report = Report()
    options = read_options(Source("example.yaml", example.text), report)
    try:
        target_of(options, None)
    except CompileError as problem:
        report.add(*problem.diagnostics)
    return {d.code for d in report.items}


def console_codes(example, folder, monkeypatch, capfd):
    """The codes that the commands print; `tcc` runs in this process, the rest in a shell."""
    for name in ("gemm.tc", "gemm.yaml"):
        (folder / name).write_bytes((ROOT / "specs" / name).read_bytes())
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TCC_CACHE_DIR", str(folder / "cache"))
    # A reader's `python3` has what tcc needs; the machine's own may not.
    here = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", here + os.pathsep + os.environ["PATH"])
    commands = [line[2:] for line in example.text.splitlines() if line.startswith("$ ")]
    status = 0
    for command in commands:
        if command.startswith("tcc "):
            status = main(shlex.split(command)[1:])
        else:
            subprocess.run(command, shell=True, check=True)
    found = set(re.findall(r"\[([EW]\d{4})\]", capfd.readouterr().err))
    assert (status != 0) == any(code.startswith("E") for code in found)
    return found


def python_codes(example):
    try:
        exec(example.text, {"tcc": tcc})
    except CompileError as problem:
        return {d.code for d in problem.diagnostics}
    return set()


def reported(example, folder, monkeypatch, capfd):
    match example.language:
        case "tc":
            return {d.code for d in compiled(example)}
        case "yaml":
            return yaml_codes(example)
        case "console":
            return console_codes(example, folder, monkeypatch, capfd)
        case "python":
            return python_codes(example)
    raise AssertionError(f"no runner for {example.language}")


@pytest.mark.parametrize(("code", "example"), EXAMPLES)
def test_an_example_triggers_its_code_and_no_other(code, example, tmp_path, monkeypatch, capfd):
    assert reported(example, tmp_path, monkeypatch, capfd) == {code}


@pytest.mark.parametrize("example", FIXES)
def test_a_fix_is_accepted(example, tmp_path, monkeypatch, capfd):
    assert reported(example, tmp_path, monkeypatch, capfd) == set()
