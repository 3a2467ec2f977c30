"""Conditions around reads."""

from __future__ import annotations

import islpy as isl
import pytest

from tcc.sched.scop import Access
from tests.sched.programs import model


def read(value: str, tensor: str = "X") -> Access:
    """The first read of a tensor in `Y(i) = value`, i in 0:N."""
    inputs = "float(M) X, int32(M) P, float(N) s"
    scop, _ = model(f"def f({inputs}) -> (Y) {{ Y(i) = {value} where i in 0:N }}")
    return next(r for r in scop.statements[0].reads if r.tensor == tensor)


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        ("i > 0 ? X(i) : 0.0", "i > 0"),
        ("i > 0 ? 0.0 : X(i)", "i <= 0"),
        ("!(i > 0) ? X(i) : 0.0", "i <= 0"),
        ("i == 0 ? 0.0 : X(i)", "i != 0"),
        ("i != 0 ? 0.0 : X(i)", "i = 0"),
        ("i > 0 && i < 3 ? X(i) : 0.0", "0 < i < 3"),
        ("i > 0 && i < 3 ? 0.0 : X(i)", "i <= 0 or i >= 3"),
        ("i < 1 || i > 3 ? X(i) : 0.0", "i < 1 or i > 3"),
        ("i < 1 || i > 3 ? 0.0 : X(i)", "1 <= i <= 3"),
        ("i % 2 == 0 ? X(i) : 0.0", "i mod 2 = 0"),
        ("i > 0 ? (i < 3 ? X(i) : 0.0) : 0.0", "0 < i < 3"),
        ("i + 1 < N ? X(i) : 0.0", "i + 1 < N"),
        ("i > 0 && X(i) > 0.0 ? 1.0 : 0.0", "i > 0"),
        ("i > 0 || X(i) > 0.0 ? 1.0 : 0.0", "i <= 0"),
        ("1 > 0 ? X(i) : 0.0", "true"),
    ],
)
def test_conditions_on_indices_are_exact(value: str, condition: str) -> None:
    access = read(value)
    assert access.guard is not None
    assert access.guard_exact
    expected = isl.Set(f"[M, N] -> {{ S0[i] : {condition} }}")
    assert access.guard.is_equal(expected)


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        ("P(i) > 0 ? X(i) : 0.0", "true"),
        ("P(i) > 0 ? 0.0 : X(i)", "true"),
        ("i > 0 && P(i) > 0 ? X(i) : 0.0", "i > 0"),
        ("i > 0 && P(i) > 0 ? 0.0 : X(i)", "true"),
        ("i > 0 || P(i) > 0 ? X(i) : 0.0", "true"),
        ("i > 0 || P(i) > 0 ? 0.0 : X(i)", "i <= 0"),
        ("i > 0 ? (P(i) > 0 ? X(i) : 0.0) : 0.0", "i > 0"),
        ("P(i) > 0 && X(i) > 0.0 ? 1.0 : 0.0", "true"),
    ],
)
def test_conditions_on_data_only_widen(value: str, condition: str) -> None:
    access = read(value)
    assert access.guard is not None
    assert not access.guard_exact
    assert access.guard.is_equal(isl.Set(f"[M, N] -> {{ S0[i] : {condition} }}"))


def test_reads_of_a_condition_are_not_below_it() -> None:
    assert read("X(i) > 0.0 ? 1.0 : 0.0").guard is None
    assert read("i > 0 ? 0.0 : s(i) + X(i)", "s").guard is not None
    assert read("X(P(i))", "P").guard is None
    guarded = read("i > 0 ? X(P(i)) : 0.0", "P")
    assert guarded.guard is not None
    assert guarded.guard.is_equal(isl.Set("[M, N] -> { S0[i] : i > 0 }"))
