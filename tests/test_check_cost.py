"""The table of what `--check` costs: made, and the documented one complete."""

from __future__ import annotations

import pytest

from bench.check_cost import DOCUMENT, HEAD, MOST, WORKLOADS, measure


def test_a_row() -> None:
    row = measure("max_pool", {"N": 1, "C": 4, "H": 16, "W": 16})
    assert row.fast_s > 0
    assert row.check_s > 0
    assert row.cells()[:2] == ["max_pool", "N=1 C=4 H=16 W=16"]
    assert len(row.cells()) == len(HEAD)


@pytest.mark.slow
def test_the_largest_is_below_the_bar() -> None:
    row = measure("gemm", {"M": 256, "N": 256, "K": 256})
    assert row.times <= MOST


def test_the_documented_table() -> None:
    """Every workload is in it, and below the bar."""
    text = DOCUMENT.read_text("utf-8")
    part = text.split("<!-- measured: check_cost -->")[1].split("<!-- end")[0]
    _, _, *lines = part.strip().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[0] for row in rows] == [name for name, _ in WORKLOADS]
    for _, _, fast, check, times in rows:
        assert float(times) == pytest.approx(float(check) / float(fast), rel=0.1)
        assert float(times) <= MOST
