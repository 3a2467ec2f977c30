"""Conditions around reads."""

from __future__ import annotations

import islpy as isl
import pytest

from tcc.sched.guards import MOST_PIECES
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
        ("i > 1.5 ? X(i) : 0.0", "i >= 2"),
        ("i > 1.5 ? 0.0 : X(i)", "i <= 1"),
        ("2.5 >= i ? X(i) : 0.0", "i <= 2"),
        ("double(i) == 2.0 ? X(i) : 0.0", "i = 2"),
        ("i == 0.5 ? X(i) : 0.0", "false"),
        ("i != 0.5 ? X(i) : 0.0", "true"),
        ("(i > 1) == (i > 3) ? X(i) : 0.0", "i <= 1 or i > 3"),
        ("(i > 1) != (i > 3) ? X(i) : 0.0", "1 < i <= 3"),
        ("(i > 1 ? i < 4 : i == 0) ? X(i) : 0.0", "1 < i < 4 or i = 0"),
        ("bool(i) ? X(i) : 0.0", "i != 0"),
        ("!bool(i) ? X(i) : 0.0", "i = 0"),
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
        ("double(s(i)) == 0.5 ? X(i) : 0.0", "true"),
        ("(i > 1) == (P(i) > 3) ? X(i) : 0.0", "true"),
        ("uint32(i) - uint32(1) >= uint32(5) ? X(i) : 0.0", "true"),
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


def test_a_condition_in_too_many_pieces_only_widens() -> None:
    """Each `!=` doubles the pieces; without a limit this one needs minutes."""
    names = "ijklmn"
    conditions = " && ".join(f"{names[k % 6]} != {k // 6 * 2}" for k in range(30))
    ranges = ", ".join(f"{n} in 0:N" for n in names)
    at = ", ".join(names)
    scop, _ = model(
        f"""def f(float({", ".join("N" * 6)}) X) -> (Y) {{
            Y({at}) = {conditions} ? X({at}) : 0.0 where {ranges}
        }}"""
    )
    (access,) = scop.statements[0].reads
    assert access.guard is not None
    assert not access.guard_exact
    assert access.guard.n_basic_set() <= MOST_PIECES
    far = scop.statements[0].space.set([f"{n} = 99" for n in names])
    assert far.is_subset(access.guard)


def test_a_chain_of_cases_stays_exact() -> None:
    value = "X(0)"
    for k in range(40):
        value = f"(i == {k} ? X({k}) : {value})"
    scop, _ = model(f"def f(float(M) X) -> (Y) {{ Y(i) = {value} where i in 0:M }}")
    assert all(r.guard_exact for r in scop.statements[0].reads)
