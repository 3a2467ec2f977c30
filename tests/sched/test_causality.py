"""Reads of the written tensor."""

from __future__ import annotations

import pytest

from tcc.diagnostics import Diagnostic, Report
from tcc.render import render_text
from tcc.sched.causality import check_causality
from tcc.sched.scop import build_scop
from tests.sched.programs import elaborated


def findings(text: str, sizes: dict[str, int] | None = None) -> tuple[Diagnostic, ...]:
    report = Report()
    check_causality(build_scop(elaborated(text, sizes)), sizes or {}, report)
    return report.items


def one(text: str, sizes: dict[str, int] | None = None) -> Diagnostic:
    (found,) = findings(text, sizes)
    return found


TRANSPOSE = """def tr(float(N, N) X) -> (Y) {
    Y(a, b) = X(a, b)
    Y(a, b) = Y(b, a)
}
"""


def test_transposition_in_place_as_rendered() -> None:
    assert render_text(findings(TRANSPOSE)).startswith(
        """\
error[E0401]: in-place update of `Y` reads elements that it also overwrites
 --> test.tc:3:15
  |
3 |     Y(a, b) = Y(b, a)
  |     -         ^^^^^^^ reads what iteration (b, a) writes
  |     |
  |     iteration (a, b) writes this
  |
  = note: smallest conflict, at N = 2: iteration (0, 1) reads `Y(1, 0)`, which
          iteration (1, 0) writes
  = help: write to a new tensor: `T(a, b) = Y(b, a)`
"""
    )


def test_sizes_that_leave_nothing_to_conflict() -> None:
    assert findings(TRANSPOSE, {"N": 1}) == ()
    assert "at N = 5" in one(TRANSPOSE, {"N": 5}).notes[0]


@pytest.mark.parametrize(
    ("statement", "note"),
    [
        ("Y(i) = Y(i) + Y(i + 1) where i in 0:N - 1", "at N = 3: iteration (0) reads `Y(1)`"),
        ("Y(i) = Y(i - 1) + X(i) where i in 1:N", "at N = 3: iteration (2) reads `Y(1)`"),
        ("Y(i) = Y(N - 1 - i)", "at N = 2: iteration (0) reads `Y(1)`"),
        ("Y(i) = Y(i / 2) where i in 0:N", "at N = 2: iteration (1) reads `Y(0)`"),
        ("Y(i) = Y(0) where i in 0:N", "at N = 2: iteration (1) reads `Y(0)`"),
        ("Y(i) = i > 2 ? Y(i - 2) : Y(i) where i in 0:N", "at N = 4: iteration (3) reads `Y(1)`"),
        (
            "Y(i) = i > 0 && Y(i - 1) > 0.0 ? 1.0 : 0.0 where i in 0:N",
            "at N = 2: iteration (1) reads `Y(0)`",
        ),
        ("Y(i) = X(i) > 0.0 ? Y((i + 1) % 3) : 0.0 where i in 0:3", "reads `Y(1)`"),
        ("Y(i) += Y(i + 1) where i in 0:N - 1", "at N = 3: iteration (0) reads `Y(1)`"),
    ],
)
def test_elements_that_others_write(statement: str, note: str) -> None:
    found = one(f"def f(float(N) X) -> (Y) {{\n Y(i) = X(i)\n {statement} }}", {})
    assert found.code == "E0401"
    assert found.line == 3
    assert found.primary.span.text.startswith("Y(")
    assert note in found.notes[-1]


@pytest.mark.parametrize(
    "statement",
    [
        "Y(i) = 2.0 * Y(i)",
        "Y(i) += Y(i) * Y(i)",
        "Y(i) +=! Y(i)",
        "Y(i) = Y(i + N) where i in 0:N",
        "Y(i) +=! Y(i + N) * A(i, k) where i in 0:N",
        "Y(i) = i < 0 ? Y(i - 1) : 0.0",
        "Y(i) = Y(0) where i in 1:N",
        "Y(i) = X(P(i))",
    ],
)
def test_own_or_untouched_elements(statement: str) -> None:
    inputs = "float(L) X, float(N, K) A, int32(L) P"
    assert (
        findings(f"def f({inputs}) -> (Y) {{ Y(i) = X(i) where i in 0:2 * N\n {statement} }}") == ()
    )


def test_a_reduction_that_reads_its_target() -> None:
    found = one(
        """def f(float(N, K) A, float(N) X) -> (S) {
            S(n) = X(n)
            S(n) += S(n) * A(n, k)
        }"""
    )
    assert found.code == "E0402"
    assert found.primary.span.text == "S(n)"
    assert found.secondary[0].text == "accumulates over `k`"
    assert found.notes[0].startswith("smallest conflict, at N = 1, K = 2: iteration (n = 0, k = 0)")
    assert found.help == ("copy `S` first, `T(n) = S(n)`, and read `T` here",)


def test_a_total_that_reads_itself() -> None:
    found = one("def f(float(N) X) -> (s) {\n s = 0.0\n s += s * X(n) }")
    assert found.code == "E0402"
    assert found.help == ("copy `s` first, `T = s`, and read `T` here",)


def test_positions_that_depend_on_data() -> None:
    found = one("def f(float(N) X, int32(N) P) -> (Y) {\n Y(i) = X(i)\n Y(i) = Y(P(i)) }")
    assert found.code == "E0401"
    assert found.notes == (
        "the position in `Y` depends on data",
        "smallest conflict, at N = 2: iteration (0) may read what iteration (1) writes",
    )


def test_a_name_for_the_help_is_free() -> None:
    found = one(
        """def f(float(T, T) X) -> (Y, T1) {
            Y(i, j) = X(i, j)
            T1(i) = X(i, 0)
            Y(i, j) = Y(j, i)
        }"""
    )
    assert found.help == ("write to a new tensor: `T2(i, j) = Y(j, i)`",)


def test_every_offending_read_is_reported() -> None:
    found = findings(
        """def f(float(N) X) -> (Y) {
            Y(i) = X(i)
            Y(i) = Y(i - 1) + Y(i) + Y(i + 1) where i in 1:N - 1
        }"""
    )
    assert [d.primary.span.text for d in found] == ["Y(i - 1)", "Y(i + 1)"]


def test_no_case_is_shown_that_may_not_exist() -> None:
    """isl does not know that a product of sizes is one."""
    found = one(
        """def f(float(N, M) X, float(L) V) -> (Y) {
            Y(i) = V(i) where i in 0:N * M
            Y(i) = Y(0) where i in 0:N * M
        }"""
    )
    assert found.notes == ()
