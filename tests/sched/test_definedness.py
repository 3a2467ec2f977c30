"""Reads before writes. The front end finds those by name; here statements are swapped behind it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tcc.diagnostics import Diagnostic, Report, error
from tcc.frontend import tir
from tcc.sched.definedness import check_definedness
from tcc.sched.scop import build_scop
from tests.sched.programs import PROGRAMS, elaborated


def findings(program: tir.Program) -> tuple[Diagnostic, ...]:
    report = Report()
    check_definedness(build_scop(program), {}, report)
    return report.items


def swapped(text: str) -> tir.Program:
    program = elaborated(text)
    return replace(program, statements=tuple(reversed(program.statements)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_in_order(name: str) -> None:
    assert findings(elaborated(PROGRAMS[name])) == ()


def test_a_temporary_that_is_written_later() -> None:
    (found,) = findings(
        swapped(
            """def f(float(N) X) -> (Y) {
                T(i) = X(i)
                Y(i) = 2.0 * T(i)
            }"""
        )
    )
    assert (found.code, found.primary.span.text) == ("E0220", "T(i)")
    assert found.message == "`T` is read before it is written"
    assert found.primary.text == "no earlier statement writes `T`"
    assert found.secondary[0].span.line == 2
    assert found.notes == ("smallest case, at N = 1: iteration (0) reads `T(0)`",)
    assert found.help == ("move the statement that writes `T` before this one",)


def test_a_part_that_is_written_later() -> None:
    program = swapped(
        """def f(float(N) X) -> (Y, Z) {
            Y(i) = X(i)
            Y(i) = 2.0 * X(i) where i in 2:N
            Z(i) = Y(i)
        }"""
    )
    last, part, first = program.statements
    (found,) = findings(replace(program, statements=(part, last, first)))
    assert found.primary.text == "no earlier statement writes this element of `Y`"
    assert found.notes == ("smallest case, at N = 3: iteration (0) reads `Y(0)`",)
    assert found.secondary == ()


@pytest.mark.parametrize(
    "text",
    [
        "def f(float(N) X) -> (Y) { Y(i) += X(i) }",
        "def f(float(N, K) X) -> (Y) { Y(i) += X(i, k) }",
        "def f(float(N, K) X) -> (Y) { Y(i) +=! X(i, k) }",
    ],
)
def test_values_from_the_caller_or_from_nowhere(text: str) -> None:
    assert findings(elaborated(text)) == ()


@pytest.mark.parametrize("value", ["T(P(i))", "P(i) > 0 ? T(i) : 0.0"])
def test_data_decide_only_where_nothing_is_written(value: str) -> None:
    text = f"""def f(float(N) X, int32(N) P) -> (Y) {{
        T(i) = X(i)
        Y(i) = {value}
    }}"""
    assert findings(elaborated(text)) == ()
    (found,) = findings(swapped(text))
    assert found.notes == ()


def test_a_read_that_never_happens() -> None:
    assert (
        findings(
            swapped(
                """def f(float(N) X) -> (Y) {
                T(i) = X(i)
                Y(i) = i < 0 ? T(i) : X(i)
            }"""
            )
        )
        == ()
    )


def test_a_place_with_an_error_is_passed_over() -> None:
    program = swapped("def f(float(N) X) -> (Y) { T(i) = X(i)\n Y(i) = T(i) }")
    report = Report()
    first = error("E0401", "something else", program.span.source.find("T(i)", 1))
    report.add(first)
    check_definedness(build_scop(program), {}, report)
    assert report.items == (first,)
