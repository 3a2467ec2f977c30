"""What accesses of a warp cost: banks, lines, sectors; forms over all lanes at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcc.affine import const, maximum, minimum, var
from tcc.tune.lanes import (
    active_warps,
    distinct_units,
    evaluate,
    shared_wavefronts,
    spread,
    thread_axes,
)

LANES = np.arange(32)
ALL = np.ones((1, 32), dtype=bool)


def wavefronts(words, width=4, mask=ALL):
    return shared_wavefronts(np.asarray(words).reshape(1, 32) * 4, mask, width)


@pytest.mark.parametrize(
    ("words", "width", "passes"),
    [
        (LANES, 4, 1),
        (LANES * 0, 4, 1),
        (LANES * 2, 4, 2),
        (LANES * 32, 4, 32),
        (LANES * 33, 4, 1),
        (LANES % 8 * 32, 4, 8),
        (LANES * 2, 8, 2),
        (LANES * 4, 16, 4),
        (LANES * 0, 16, 2),
        (LANES // 8 * 4, 16, 2),
        (LANES % 16 * 8, 16, 4),
    ],
)
def test_banks(words, width, passes):
    assert wavefronts(words, width) == passes


def test_lanes_that_are_left_out_cost_nothing():
    half = (LANES < 4).reshape(1, 32)
    assert wavefronts(LANES * 32, mask=half) == 4
    assert wavefronts(LANES, mask=~ALL) == 0
    assert distinct_units(LANES.reshape(1, 32) * 128, half, 4, 128) == 4


@pytest.mark.parametrize(
    ("stride", "width", "lines", "sectors"),
    [(4, 4, 1, 4), (16, 16, 4, 16), (128, 4, 32, 32), (0, 4, 1, 1), (32, 16, 8, 32)],
)
def test_lines_and_sectors(stride, width, lines, sectors):
    addresses = LANES.reshape(1, 32) * stride
    assert distinct_units(addresses, ALL, width, 128) == lines
    assert distinct_units(addresses, ALL, width, 32) == sectors


def test_threads_of_a_block():
    x, y, z, mask = thread_axes((7, 3, 2))
    assert mask.sum() == 42
    assert mask.shape == (2, 32)
    assert [a[mask][-1] for a in (x, y, z)] == [6, 2, 1]
    assert active_warps(mask) == 1
    assert active_warps(mask & (x == 0) & (z == 0)) == 0.5


@given(st.integers(-50, 50), st.integers(1, 9), st.integers(-3, 3))
def test_forms_are_evaluated_as_ever(start, divisor, factor):
    t, n = var("t"), var("n")
    form = (t * factor + n) // divisor + minimum(t, n) - maximum(t * 2, const(3)) + t % divisor
    values = np.arange(start, start + 32).reshape(1, 32)
    found = spread(evaluate(form, {"t": values, "n": 5}), ALL)
    expected = [form.evaluate({"t": int(v), "n": 5}) for v in values[0]]
    assert found[0].tolist() == expected
