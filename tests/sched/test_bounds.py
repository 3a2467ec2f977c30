"""Accesses outside of a tensor."""

from __future__ import annotations

import pytest

from tcc.diagnostics import Diagnostic, Report
from tcc.frontend import tir
from tcc.sched.bounds import check_bounds
from tcc.sched.scop import build_scop
from tests.sched.programs import PROGRAMS, elaborated


def check(
    text: str, sizes: dict[str, int] | None = None
) -> tuple[tuple[Diagnostic, ...], tuple[tir.Precondition, ...]]:
    report = Report()
    conditions = check_bounds(build_scop(elaborated(text, sizes)), sizes or {}, report)
    return report.items, conditions


@pytest.mark.parametrize("name", PROGRAMS)
def test_inferred_ranges_stay_inside(name: str) -> None:
    assert check(PROGRAMS[name]) == ((), ())


GUARDED = "def f(float(N) X) -> (Y) {{\n Y(n) = {condition} ? X(n + 1) : 0.0 where n in 0:N }}"


def test_a_read_past_the_end() -> None:
    (found,), conditions = check(GUARDED.format(condition="n < N"))
    assert (found.code, found.line, found.column) == ("E0307", 2, 17)
    assert found.message == "`X(n + 1)` reads beyond the end of `X`"
    assert found.primary.text == "subscript `n + 1` must stay in 0:N"
    assert found.notes == (
        "smallest case, at N = 1: iteration (0) needs index 1; dimension 0 of `X` has extent 1",
    )
    assert found.help == ("guard the read: `(n + 1 < N ? X(n + 1) : 0)`",)
    assert conditions == ()


def test_the_help_is_right() -> None:
    text = "def f(float(N) X) -> (Y) { Y(n) = n + 1 < N ? X(n + 1) : 0 where n in 0:N }"
    assert check(text) == ((), ())


def test_a_read_before_the_start() -> None:
    text = "def f(float(N, M) X) -> (Y) { Y(n) = n >= 0 ? X(n, n - 2) : 0.0 where n in 0:N }"
    (found,), _ = check(text, {"N": 3, "M": 3})
    assert found.message == "`X(n, n - 2)` reads before the start of `X`"
    assert "at N = 3, M = 3: iteration (0) needs index -2" in found.notes[0]


def test_an_origin_is_respected() -> None:
    text = """def f(float(N) X) -> (Y) {{
        T(i) = X(i) where i in 2:N
        Y(i) = i >= {low} ? T(i) : 0.0 where i in 0:N
    }}"""
    assert check(text.format(low=2)) == ((), ())
    (found,), _ = check(text.format(low=1), {"N": 5})
    assert found.notes[0].endswith(
        "iteration (1) needs index 1; dimension 0 of `T` has extent 3, its indices are 2 to 4"
    )


@pytest.mark.parametrize(
    "value",
    [
        "n > 0 ? X(n - 1) : 0.0",
        "(n > 0 ? X(n - 1) : 0.0) + (n + 1 < N ? X(n + 1) : 0.0)",
        "n > 0 && X(n - 1) > 0.0 ? 1.0 : 0.0",
        "n == 0 || X(n - 1) > 0.0 ? 1.0 : 0.0",
        "X(max(n - 1, 0)) + X(min(n + 1, N - 1))",
        "X((n + 1) % N)",
        "P(n) > 0 ? X(n - 1) : 0.0",
        "X(P(n) + 5)",
    ],
)
def test_guards_and_data(value: str) -> None:
    text = f"def f(float(N) X, int32(N) P) -> (Y) {{ Y(n) = {value} where n in 0:N }}"
    assert check(text, {"N": 6}) == ((), ())


@pytest.mark.parametrize("value", ["X(n + N)", "X(n - N)", "X(N)", "X(-1)"])
def test_a_read_under_a_condition_on_data_that_is_never_right(value: str) -> None:
    text = f"def f(float(N) X, int32(N) P) -> (Y) {{ Y(n) = P(n) == 1 ? {value} : 0.0 where n in 0:N }}"
    (found,), conditions = check(text)
    assert (found.code, found.primary.span.text, conditions) == ("E0307", value, ())


def test_a_read_under_a_condition_on_data_that_may_be_right() -> None:
    text = (
        "def f(float(N) X, int32(N) P) -> (Y) { Y(n) = P(n) == 1 ? X(n + 3) : 0.0 where n in 0:N }"
    )
    assert check(text) == ((), ())
    assert check(text, {"N": 4}) == ((), ())
    (found,), _ = check(text, {"N": 3})
    assert found.code == "E0307"


def test_the_other_subscripts_of_a_gather_are_checked() -> None:
    (found,), _ = check(
        """def f(float(V, D) E, int32(K) P) -> (O) {
            O(k, d) = d < D ? E(P(k), d + 1) : 0.0 where d in 0:D
        }"""
    )
    assert found.primary.text == "subscript `d + 1` must stay in 0:D"
    assert found.help == ("guard the read by a condition on this subscript",)


def test_the_index_of_a_gather_is_checked() -> None:
    text = (
        "def f(float(V) E, int32(K) P) -> (O) { O(k) = k < K ? E(P(k + 1)) : 0.0 where k in 0:K }"
    )
    (found,), _ = check(text)
    assert found.primary.span.text == "P(k + 1)"


OPEN = "def f(float(N) X, float(M) Z) -> (Y) { Y(n) = n < M ? X(n + 1) : 0.0 where n in 0:M }"


def test_sizes_that_are_open_become_a_condition() -> None:
    diagnostics, (condition,) = check(OPEN)
    assert diagnostics == ()
    assert str(condition.expression) == "N - M - 1"
    assert condition.reason == "`X(n + 1)` stays inside `X`"
    assert condition.span.text == "X(n + 1)"
    assert check(OPEN, {"N": 5, "M": 4}) == ((), ())
    (found,), conditions = check(OPEN, {"N": 5, "M": 5})
    assert (found.code, conditions) == ("E0307", ())
    diagnostics, (condition,) = check(OPEN, {"N": 5})
    assert (diagnostics, str(condition.expression)) == ((), "4 - M")


def test_conditions_of_the_front_end_are_known() -> None:
    text = "def f(float(N) X, float(M) Z) -> (Y) { Y(n) = X(n + 1) where n in 0:M }"
    assert [str(p.expression) for p in elaborated(text).preconditions] == ["N - M - 1"]
    assert check(text) == ((), ())


def test_a_product_of_sizes_in_a_condition() -> None:
    _, conditions = check(
        """def f(float(N, M) X, float(L) V) -> (Y) {
            Y(i) = i >= 0 ? V(i) : 0.0 where i in 0:N * M
        }"""
    )
    assert [str(c.expression) for c in conditions] == ["L - M * N"]


def test_sizes_that_read_nothing_do_not_count() -> None:
    """With N = 1 the read never happens; with all other sizes it is wrong."""
    (found,), conditions = check(
        "def f(float(N) X) -> (Y) { Y(n) = n > 0 ? X(n - 2) : 0.0 where n in 0:N }"
    )
    assert "at N = 2: iteration (1) needs index -1" in found.notes[0]
    assert conditions == ()


def test_sizes_that_read_nothing_are_allowed() -> None:
    """Right for N <= 3 and for 2 N <= M."""
    diagnostics, (condition,) = check(
        "def f(float(N) X, float(M) Z) -> (Y) { Y(n) = n > 2 ? Z(n + N) : 0.0 where n in 0:N }"
    )
    assert diagnostics == ()
    assert str(condition.expression) == "max(3 - N, M - 2 * N)"


def test_a_congruence_becomes_a_condition() -> None:
    """Right for even sizes only."""
    diagnostics, (condition,) = check(
        "def f(float(N) X) -> (Y) { Y(n) = n >= 0 ? X(n + N % 2) : 0.0 where n in 0:N }"
    )
    assert diagnostics == ()
    assert [condition.expression.evaluate({"N": n}) >= 0 for n in range(1, 7)] == [False, True] * 3


def test_a_write_outside_of_the_shape() -> None:
    (found,), _ = check(
        "def f(float(N) X) -> (Y) {\n Y(n) = X(n)\n Y(n) = 0.0 where n in 0:N + 2 }"
    )
    assert (found.code, found.line, found.column) == ("E0352", 3, 2)
    assert found.message == "`Y` is written beyond its end"
    assert found.secondary[0].text == "its shape comes from here"
    assert found.notes[0].endswith("iteration (1) needs index 1; dimension 0 of `Y` has extent 1")


def test_both_ends_and_all_dimensions() -> None:
    found, _ = check(
        """def f(float(N, N) X) -> (Y) {
            Y(i) = i >= 0 ? X(i - 1, i + 1) : 0.0 where i in 0:N
        }""",
        {"N": 4},
    )
    assert [d.primary.text for d in found] == [
        "subscript `i - 1` must stay in 0:N",
        "subscript `i + 1` must stay in 0:N",
    ]


def test_triangular_reductions() -> None:
    text = """def f(float(N, N) L) -> (Y) {{
        Y(i) +=! i >= 0 ? L(i, r) : 0.0 where i in 0:N, r in 0:{high}
    }}"""
    assert check(text.format(high="i + 1")) == ((), ())
    (found,), _ = check(text.format(high="i + 2"))
    assert "at N = 1: iteration (i = 0, r = 1) needs index 1" in found.notes[0]
