"""Subscripts that are not affine, of indices and given sizes."""

from __future__ import annotations

import pytest

from tcc.diagnostics import Diagnostic, Report
from tcc.sched.computed import MOST_POINTS, check_computed
from tcc.sched.scop import build_scop
from tests.sched.programs import elaborated

INPUTS = "float(N) A, float(N, M) C, int(N) P"
SIZES = {"N": 9, "M": 3}


def check(
    value: str, ranges: str = "i in 0:4", sizes: dict[str, int] | None = None
) -> tuple[Diagnostic, ...]:
    report = Report()
    sizes = SIZES if sizes is None else sizes
    text = f"def f({INPUTS}) -> (B) {{ B(i) +=! {value} where {ranges} }}"
    check_computed(build_scop(elaborated(text, sizes)), sizes, report)
    return report.items


def test_a_square_beyond_the_end() -> None:
    (found,) = check("A(i * i)")
    assert (found.code, found.primary.span.text) == ("E0307", "A(i * i)")
    assert found.message == "`A(i * i)` reads beyond the end of `A`"
    assert found.primary.text == "subscript 0 must stay in 0:9"
    assert found.notes == ("at i = 3, subscript 0 is 9",)


@pytest.mark.parametrize(
    ("value", "note"),
    [
        ("A(i * (i - 3))", "at i = 1, subscript 0 is -2"),
        ("A(int32(int64(i) * 1103515245) % 11)", "at i = 3, subscript 0 is 9"),
        ("A(7 / (i - 1))", "at i = 0, subscript 0 is -7"),
        ("C(i, i * i % 4 + 2)", "at i = 1, subscript 1 is 3"),
        ("C(i, max(i * i, 1) - 2)", "at i = 0, subscript 1 is -1"),
        ("A(i * k)", "at i = 3, k = 3, subscript 0 is 9"),
        ("A(k * k) * C(i, i * 0)", "at k = 3, subscript 0 is 9"),
    ],
)
def test_the_first_point_outside(value: str, note: str) -> None:
    ranges = "i in 0:4, k in 0:4" if "k" in value else "i in 0:4"
    (found,) = check(value, ranges)
    assert found.notes == (note,)


@pytest.mark.parametrize(
    "value",
    [
        "A(i * i - i)",
        "A(i * i % N)",
        "C(i, i * i % M)",
        "A(min(i * i, N - 1))",
        "A(i * i * 1000000000 / 1000000000 + i)",  # wraps to 3 at i = 3
    ],
)
def test_inside(value: str) -> None:
    assert check(value) == ()


@pytest.mark.parametrize("value", ["i < 3 ? A(i * i) : 0.0", "A(P(i) * i)", "A(int(sqrt(i * i)))"])
def test_conditions_and_data_are_not_looked_at(value: str) -> None:
    assert check(value) == ()


def test_what_is_open() -> None:
    assert check("A(i * i)", sizes={}) == ()
    assert check("A(j * j)", "i in 0:4, j in 0:i") == ()


def test_corners_of_a_large_box() -> None:
    sizes = {"N": 2 * MOST_POINTS, "M": 1}
    assert len(check("A(i * i)", "i in 0:N", sizes)) == 1
    assert check("A(i * (N - 1 - i))", "i in 0:N", sizes) == ()
