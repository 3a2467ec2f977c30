"""Unions in portions are unions."""

from __future__ import annotations

import islpy as isl
import pytest

from tcc.sched import unions


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 10])
def test_joined(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unions, "_PORTION", 3)
    parts = [isl.UnionSet(f"[N] -> {{ S{k}[i] : 0 <= i < N }}") for k in range(count)]
    wanted = isl.UnionSet(
        "[N] -> { " + "; ".join(f"S{k}[i] : 0 <= i < N" for k in range(count)) + " }"
    )
    assert unions.joined(isl.UnionSet("[N] -> { }"), parts).is_equal(wanted)
