"""Every finding says where, what is there, and what to do about it."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tcc.api import request_of
from tcc.codes import codes, page
from tcc.diagnostics import Diagnostic, Report
from tcc.driver import compile_program
from tcc.errors import CompileError
from tcc.frontend.ast import Statement
from tcc.frontend.elaborate import elaborate_all
from tcc.frontend.parser import parse
from tcc.options import Options
from tcc.source import Source
from tests import case_files
from tests.frontend.test_mutations import PROGRAMS, mutant, tokens
from tests.teaching import assert_teaches
from tests.test_cases import checked
from tests.test_codes import compiled

ROOT = Path(__file__).parents[1]
REJECTED = case_files.rejected()
OF_THE_LANGUAGE = re.compile("E0[1-4]|E09|W0")
EXAMPLES = [
    pytest.param(example, id=f"{code}-{i}")
    for code in codes()
    if OF_THE_LANGUAGE.match(code) and code != "E0902"  # which takes seconds, see test_codes
    for i, example in enumerate(page(code).wrong)
    if example.language == "tc"
]


@pytest.mark.parametrize("case", REJECTED, ids=[c.name for c in REJECTED])
def test_rejected_cases_teach(case):
    with pytest.raises(CompileError) as rejection:
        checked(case)
    for found in rejection.value.diagnostics:
        assert_teaches(found)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_pages_teach(example):
    found = compiled(example)
    assert found
    for diagnostic in found:
        assert_teaches(diagnostic)


IN_PLACE = re.compile(
    r"(?:guard the read|cast it|compare it|divide floats|the lower bound comes first|use|write)"
    r":? `(.*)`|did you mean `(.*)`\?"
)
"""Helps that say what to write in place of the text that is wrong."""


def corrected(found: Diagnostic) -> str | None:
    """The program with the first help followed, where a test can do that."""
    span = found.primary.span
    text, place = span.source.text, (span.start, span.end)
    match = IN_PLACE.fullmatch(found.help[0])
    if match is not None and found.code not in ("E0103", "E0104", "E0107"):
        new = match[1] or match[2]
    elif found.help[0].startswith("remove it"):
        new = ""
    elif found.help[0].startswith("for example: `where "):
        statement = next(s for s in statements(span.source) if s.target.span == span)
        new = f"{', ' if statement.clauses else ' where '}{found.help[0][20:-1]}"
        place = (statement.span.end, statement.span.end)
    else:
        return None
    return f"{text[: place[0]]}{new}{text[place[1] :]}"


def statements(source: Source) -> list[Statement]:
    return [s for d in parse(source, Report()).definitions for s in d.statements]


def test_helps_that_can_be_followed_are_right():
    """With its errors corrected one after the other as the helps say, a program is accepted."""
    codes_followed = [code for program in programs() for code in followed(*program)]
    assert len(codes_followed) >= 30
    assert len(set(codes_followed)) >= 11


def followed(text: str, entry: str | None, sizes: Mapping[str, int]) -> list[str]:
    """The codes of the errors that were corrected until there was none."""
    seen: list[str] = []
    while found := [d for d in reported(text, entry, sizes) if d.is_error]:
        new = corrected(found[0]) if len(found) == 1 else None
        if new is None:
            assert not seen, text
            break
        assert found[0].code not in seen, new
        seen.append(found[0].code)
        text = new
    return seen


def programs() -> Iterator[tuple[str, str | None, Mapping[str, int]]]:
    for case in REJECTED:
        yield case.text, case.entry, case.sizes
    for parameter in EXAMPLES:
        example = parameter.values[0]
        names = re.findall(r"^\s*def\s+(\w+)", example.text, re.MULTILINE)
        yield example.text, names[-1] if names else None, example.sizes


def reported(text: str, entry: str | None, sizes: Mapping[str, int]) -> tuple[Diagnostic, ...]:
    try:
        request = request_of(Source("test.tc", text), entry, sizes, Options(), None)
        return compile_program(request, stop_after="check").diagnostics
    except CompileError as problem:
        return problem.diagnostics


def test_mutants_teach():
    """Whatever words are changed in a program, each finding has a label and a help."""
    rng = random.Random(7)
    words = {name: tokens(text) for name, text in PROGRAMS.items()}
    for _ in range(600):
        report = Report()
        module = parse(Source("mutant.tc", mutant(words[rng.choice(sorted(words))], rng)), report)
        elaborate_all(module, report)
        for found in report.items:
            assert_teaches(found)


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call of a function or class by its name."""
    for path in sorted((ROOT / "tcc").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield f"{path.name}:{node.lineno}", node


def test_every_place_gives_a_label_and_a_help():
    """Also the places that no example reaches."""
    wanted = {"error": (4, None), "warning": (4, None), "Requirement": (6, 8)}
    found = [(place, c, *wanted[c.func.id]) for place, c in calls() if c.func.id in wanted]
    # Classes and functions of the same name that make no finding.
    found = [each for each in found if not each[0].startswith(("emit.py", "host_call.py"))]
    assert len(found) > 110
    for place, call, label, help in found:
        named = {k.arg for k in call.keywords}
        assert len(call.args) >= label or "label" in named, place
        assert "help" in named or (help is not None and len(call.args) >= help), place


def test_what_is_missing_says_how_to_get_it():
    """Failures of the toolchain have no place in a text; their messages are whole."""
    found = [(p, c) for p, c in calls() if c.func.id in ("ToolchainError", "RejectedText")]
    assert len(found) > 12
    for place, call in found:
        text = ast.unparse(call)
        assert "error[E07" in text, place
        assert "  = help: " in text or "ANOTHER" in text, place
