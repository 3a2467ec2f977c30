"""The documents tell the truth: their blocks run, their generated parts are up to date."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from tcc.api import request_of
from tcc.diagnostics import Report
from tcc.driver import compile_program
from tcc.errors import CompileError
from tcc.options import Options
from tcc.options_file import read_options
from tcc.schema import entries
from tcc.source import Source
from tests.doc_blocks import (
    DOCUMENTS,
    ROOT,
    RUNS,
    SILENT,
    Block,
    Command,
    agrees,
    blocks,
    commands,
)
from tests.generate_docs import PARTS, refreshed

# Frameworks leave threads behind, with which tcc cannot fork; their documents have a process each.
ALONE = {"python.md"}
ALL = [block for path in DOCUMENTS for block in blocks(path)]
PROMISES = [block for block in ALL if block.promises]
MARK = "\x1e"
HURRY = (("--time 1m ", "--time 1m --candidates 2 "),)
"""A search that a page gives a minute tries two candidates here; `test_tutorial` takes the minute."""
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FAILURE = re.compile(r"^error|error\[|\"error\"", re.MULTILINE)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def ids(found: list[Any]) -> list[str]:
    return [b.name for b in found]


# -- programs and options ------------------------------------------------------------------


@pytest.mark.parametrize("block", PROMISES, ids=ids(PROMISES))
def test_a_block_keeps_its_promise(block: Block) -> None:
    assert bool(block.codes) != ("ok" in block.words), "`ok`, or `warn` or `reject` with codes"
    assert codes_of(block) == block.codes
    rejected = {code for code in block.codes if code.startswith("E")}
    assert bool(rejected) == ("reject" in block.words)


def codes_of(block: Block) -> set[str]:
    if block.language == "yaml":
        report = Report()
        read_options(Source(block.name, block.text), report)
        return {d.code for d in report.items}
    assert block.language == "tc"
    source = Source(block.name, block.text)
    try:
        request = request_of(source, block.entry, block.sizes, Options(), None)
        return {d.code for d in compile_program(request, stop_after="check").diagnostics}
    except CompileError as problem:
        return {d.code for d in problem.diagnostics}


# -- commands and Python -------------------------------------------------------------------


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("path", DOCUMENTS, ids=[p.name for p in DOCUMENTS])
def test_what_a_document_runs(
    path: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands, sessions and files of one document, in order, in one folder."""
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    for name in ("TCC_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(cache))
    if path.name in ALONE:
        run_alone(path)
        return
    wrong = run_blocks(path)
    assert not wrong, "\n".join(wrong)


def run_alone(path: Path) -> None:
    """Run the blocks of a document in a process of their own, in the current folder."""
    script = (
        "import sys, pathlib; from tests.test_docs import run_blocks;"
        "print(*run_blocks(pathlib.Path(sys.argv[1])), 'the end', sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "the end\n", done.stdout


def run_blocks(path: Path) -> list[str]:
    """What is not as the blocks of a document say, in order."""
    names: dict[str, Any] = {}
    return [problem for block in blocks(path) for problem in run_block(block, names)]


def run_block(block: Block, names: dict[str, Any]) -> list[str]:
    """What is not as the block says."""
    if block.file is not None:
        Path(block.file).parent.mkdir(parents=True, exist_ok=True)
        Path(block.file).write_text(block.text, encoding="utf-8")
    match block.language:
        case "console":
            return run_console(block)
        case "pycon" | "python" if any(importlib.util.find_spec(m) is None for m in block.needs):
            return []
        case "pycon":
            return run_session(block, names)
        case "python" if block.file is None:
            exec(block.text, names)
    return []


def run_console(block: Block) -> list[str]:
    if any(shutil.which(program) is None for program in block.needs):
        return []
    asked = commands(block)
    problems = []
    following = [c.text for c in asked[1:]] + [""]
    results = run_commands(asked)
    for command, after, (status, output) in zip(asked, following, results, strict=True):
        expected = "\n".join(command.output)
        if not agrees(expected, output):
            problems.append(f"{block.name}: $ {command.text}\n{output}")
        fails = _FAILURE.search(expected) is not None
        if (status != 0) != fails and after != "echo $?":
            problems.append(f"{block.name}: $ {command.text}\nexits with {status}")
    return problems


def run_commands(asked: list[Command]) -> list[tuple[int, str]]:
    """Exit status and output of each command; they share one shell, so that `$?` works."""
    lines = ['mark() { local status=$?; printf "\\n\\x1e%d\\n" $status; return $status; }']
    for command in asked:
        text = reduce(lambda t, change: t.replace(*change), HURRY, command.text)
        lines += [text, "mark"]
    # A `make` that runs the tests would have those of the documents talk like its children.
    outside = {n: v for n, v in os.environ.items() if n not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    environment = outside | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "80",
    }
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    *parts, rest = done.stdout.decode().split(f"\n{MARK}")
    outputs = [parts[0], *(part.partition("\n")[2] for part in parts[1:])]
    statuses = [int(part.partition("\n")[0]) for part in (*parts[1:], rest)]
    return list(zip(statuses, outputs, strict=True))


def run_session(block: Block, names: dict[str, Any]) -> list[str]:
    session = doctest.DocTestParser().get_doctest(block.text, {}, block.name, block.document, 0)
    session.globs = names
    printed: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(verbose=False, optionflags=flags)
    runner.run(session, out=printed.append, clear_globs=False)
    return [f"{block.name}\n{''.join(printed)}"] if printed else []


# -- the documents themselves --------------------------------------------------------------


@pytest.mark.parametrize("path", DOCUMENTS, ids=[p.name for p in DOCUMENTS])
def test_generated_parts_are_up_to_date(path: Path) -> None:
    text = path.read_text("utf-8")
    assert refreshed(text) == text, "run `make docs`"


def test_every_option_is_documented() -> None:
    text = (ROOT / "docs" / "options.md").read_text("utf-8")
    rows = "\n".join(line for line in text.splitlines() if line.startswith("| `"))
    names = [entry.path.rpartition(".")[2] for entry in entries(Options)]
    for name in names:
        assert rows.count(f"| `{name}` |") >= names.count(name), name


def test_every_generated_part_is_used() -> None:
    texts = "".join(path.read_text("utf-8") for path in DOCUMENTS)
    assert {name for name in PARTS if f"<!-- generated: {name} -->" not in texts} == set()


@pytest.mark.parametrize("block", ALL, ids=ids(ALL))
def test_every_block_is_of_a_known_kind(block: Block) -> None:
    known = block.language in (*SILENT, *RUNS) or block.promises or block.file is not None
    assert known, "say what this block is"


@pytest.mark.parametrize("path", DOCUMENTS, ids=[p.name for p in DOCUMENTS])
def test_links_lead_somewhere(path: Path) -> None:
    for link in _LINK.findall(path.read_text("utf-8")):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        file = path.parent / target if target else path
        assert file.exists(), link
        if anchor:
            assert anchor in anchors(file), link


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    headings = _HEADING.findall(path.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
