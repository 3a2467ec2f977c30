"""Rendering of diagnostics: the exact form, and what text can do to it."""

import json

import pytest

from tcc.diagnostics import Diagnostic, Label, error, warning
from tcc.errors import CompileError, UsageError
from tcc.render import (
    ordered,
    render_json,
    render_one,
    render_short,
    render_text,
    summary,
)
from tcc.source import Source, Span

TRANSPOSE = Source(
    "transpose.tc",
    "def tr(float(N, N) X) -> (A) {\n    A(i, j) = X(i, j)\n    A(i, j) = A(j, i)\n}\n",
)
CONFLICT = error(
    "E0401",
    "in-place update of `A` reads elements that it also overwrites",
    TRANSPOSE.find("A(j, i)"),
    "reads what iteration (j, i) writes",
    secondary=(Label(TRANSPOSE.find("A(i, j)", 1), "iteration (i, j) writes this"),),
    notes=(
        "smallest conflict, at N = 2: iteration (0, 1) reads `A(1, 0)`, "
        "which iteration (1, 0) writes",
    ),
    help=("write to a new tensor: `T(i, j) = A(j, i)`",),
)


def at(text: str, start: int, end: int, label: str = "here") -> Diagnostic:
    return error("E0101", "wrong", Span(Source("a.tc", text), start, end), label)


def body(diagnostic: Diagnostic) -> list[str]:
    return render_one(diagnostic).splitlines()[3:]


def test_the_form_of_the_conventions():
    assert render_text([CONFLICT]) == (
        """\
error[E0401]: in-place update of `A` reads elements that it also overwrites
 --> transpose.tc:3:15
  |
3 |     A(i, j) = A(j, i)
  |     -------   ^^^^^^^ reads what iteration (j, i) writes
  |     |
  |     iteration (i, j) writes this
  |
  = note: smallest conflict, at N = 2: iteration (0, 1) reads `A(1, 0)`, which
          iteration (1, 0) writes
  = help: write to a new tensor: `T(i, j) = A(j, i)`
"""
    )


def test_two_sources_and_distant_lines():
    program = Source("m.tc", "def f(float(M, K) A) -> (C) {\n\n\n\n\n    C(m) = A(m, k)\n}\n")
    command = Source("<command line>", "tcc compile m.tc --size M=128")
    found = error(
        "E0601",
        "size `K` has no value",
        program.find("K"),
        "needed here",
        secondary=(
            Label(program.find("k)"), "runs over it"),
            Label(command.find("--size M=128"), "only `M` is given"),
        ),
    )
    assert render_one(found) == (
        """\
error[E0601]: size `K` has no value
 --> m.tc:1:16
  |
1 | def f(float(M, K) A) -> (C) {
  |                ^ needed here
...
6 |     C(m) = A(m, k)
  |                 -- runs over it
 ::: <command line>:1:18
  |
1 | tcc compile m.tc --size M=128
  |                  ------------ only `M` is given
"""
    )


def test_one_line_between_two_labels_is_shown():
    source = Source("a.tc", "one\ntwo\nthree\n")
    found = error(
        "E0101",
        "wrong",
        source.find("three"),
        "b",
        secondary=(Label(source.find("one"), "a"),),
    )
    assert body(found) == ["1 | one", "  | --- a", "2 | two", "3 | three", "  | ^^^^^ b"]


def test_the_gutter_is_as_wide_as_the_largest_number():
    found = at("\n" * 99 + "x", 99, 100)
    assert render_one(found).splitlines()[1:] == [
        "   --> a.tc:100:1",
        "    |",
        "100 | x",
        "    | ^ here",
    ]


@pytest.mark.parametrize(
    ("text", "start", "end", "line", "marks"),
    [
        ("\tx = y", 1, 2, "1 |     x = y", "  |     ^ here"),
        ("数 = x", 4, 5, "1 | 数 = x", "  |      ^ here"),
        ("数学 = x", 0, 2, "1 | 数学 = x", "  | ^^^^ here"),
        ("e\u0301 = x", 5, 6, "1 | e\u0301 = x", "  |     ^ here"),
        ("x \x1b[31m", 2, 3, "1 | x ␛[31m", "  |   ^ here"),
        ("x \u202e y", 2, 3, "1 | x \ufffd y", "  |   ^ here"),
        ("x\r\ny", 0, 1, "1 | x", "  | ^ here"),
        ("x", 1, 1, "1 | x", "  |  ^ here"),
        ("x\n", 2, 2, "2 |", "  | ^ here"),
        ("", 0, 0, "1 |", "  | ^ here"),
        ("a\nb", 0, 3, "1 | a", "  | ^ here"),
    ],
    ids=[
        "tab",
        "wide before",
        "wide inside",
        "combining",
        "escape",
        "bidi",
        "crlf",
        "end of line",
        "end of file",
        "empty file",
        "two lines",
    ],
)
def test_odd_text(text, start, end, line, marks):
    assert body(at(text, start, end)) == [line, marks]


def test_long_lines_are_cut_around_the_label():
    lines = body(at("x" * 1000 + "?" + "y" * 1000, 1000, 1001))
    assert lines[0] == "1 | ..." + "x" * 40 + "?" + "y" * 119 + "..."
    assert lines[1] == "  | " + " " * 43 + "^ here"


def test_a_label_longer_than_the_cut_stays_short():
    assert max(len(line) for line in body(at("x" * 5000, 0, 5000))) < 200


def test_three_labels_on_one_line_hang_from_their_marks():
    source = Source("a.tc", "aa bb cc")
    found = error(
        "E0101",
        "wrong",
        source.find("bb"),
        "second",
        secondary=(Label(source.find("aa"), "first"), Label(source.find("cc"), "third")),
    )
    assert body(found) == [
        "1 | aa bb cc",
        "  | -- ^^ -- third",
        "  | |  |",
        "  | |  second",
        "  | first",
    ]


def test_labels_that_start_together_and_labels_without_text():
    source = Source("a.tc", "aa(bb)")
    found = error(
        "E0101",
        "wrong",
        source.find("aa(bb)"),
        "whole",
        secondary=(Label(source.find("aa"), "name"), Label(source.find("bb"))),
    )
    assert body(found) == ["1 | aa(bb)", "  | ^^^^^^ whole", "  | |", "  | name"]


def test_notes_wrap_but_never_inside_backticks():
    code = "`O(b, m) = O(b, m) + Bias(m) + Bias(m) + Bias(m) + Bias(m)`"
    text = f"a rather long note that has to wrap somewhere, for instance before {code}"
    found = error("E0101", "wrong", Span(Source("a.tc", "x"), 0, 1), notes=(text,))
    lines = render_one(found).splitlines()
    assert f"          {code}" in lines
    assert render_one(found).count("`") == 2


def test_errors_first_then_stages_as_found_then_positions():
    source = Source("a.tc", "0123456789")

    def make(code, start):
        build = warning if code.startswith("W") else error
        return build(code, f"{code} {start}", Span(source, start, start + 1))

    found = [make("W0201", 0), make("E0301", 7), make("E0201", 9), make("E0301", 2)]
    messages = [d.message for d in ordered(found)]
    assert messages == ["E0301 2", "E0301 7", "E0201 9", "W0201 0"]


def test_at_most_twenty_are_shown_and_the_rest_is_counted():
    source = Source("a.tc", "x" * 40)
    errors = [error("E0101", f"e{i}", Span(source, i, i + 1)) for i in range(25)]
    warnings = [warning("W0101", "w", Span(source, 30, 31))]
    text = render_text([*warnings, *errors])
    assert text.count("error[") == 20
    assert text.endswith("\n5 errors, 1 warning more not shown\n")
    assert summary([*warnings, *errors]) == (
        "error: a.tc rejected: 25 errors, 1 warning\nhelp: tcc explain E0101\n"
    )


def test_no_summary_for_warnings_alone():
    assert summary([warning("W0101", "w", TRANSPOSE.find("A"))]) == ""


def test_short_form():
    assert render_short([CONFLICT]) == (
        "transpose.tc:3:15: error[E0401]: "
        "in-place update of `A` reads elements that it also overwrites\n"
    )


def test_json_lines_are_complete_and_ascii():
    source = Source("a\udcff.tc", "é x")
    found = error("E0101", "`é`", source.find("x"), "l", notes=("n",), help=("h",))
    line = render_json([found, CONFLICT]).splitlines()[0]
    assert line.isascii()
    assert json.loads(line) == {
        "severity": "error",
        "code": "E0101",
        "message": "`é`",
        "file": "a\udcff.tc",
        "line": 1,
        "column": 3,
        "end_line": 1,
        "end_column": 4,
        "label": "l",
        "secondary": [],
        "notes": ["n"],
        "help": ["h"],
    }


def test_compile_error_knows_its_first_error():
    first = warning("W0101", "w", TRANSPOSE.find("def"))
    problem = CompileError([first, CONFLICT])
    assert (problem.line, problem.column) == (3, 15)
    assert problem.diagnostics == (CONFLICT, first)
    assert str(problem) == render_text([CONFLICT, first])


def test_usage_error_without_a_place_is_its_message():
    assert str(UsageError("no such file")) == "no such file"
