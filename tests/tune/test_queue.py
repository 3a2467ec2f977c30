"""Mean value analysis between its bounds."""

from __future__ import annotations

from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from tcc.tune.queue import cycle_time

times = st.floats(0.1, 1000)


@given(times, times, times)
def test_one_customer_waits_for_everything(a, b, delay):
    assert isclose(cycle_time(1, (a, b), delay), a + b + delay)


@given(times, times, times)
def test_many_customers_keep_the_slowest_station_busy(a, b, delay):
    most = cycle_time(2000, (a, b), delay)
    assert max(a, b) <= most * (1 + 1e-9)
    if max(a, b) > 1.2 * min(a, b):
        assert most <= max(a, b) * 1.1 + delay / 2000


@given(st.integers(1, 40), times, times, times)
def test_another_customer_never_makes_it_slower(count, a, b, delay):
    assert cycle_time(count + 1, (a, b), delay) <= cycle_time(count, (a, b), delay) * (1 + 1e-9)


def test_two_blocks_hide_half_of_a_wait():
    """By hand: one customer 3, two 2 * (1 + 2/3) + 1 over 2."""
    assert isclose(cycle_time(2, (2.0,), 1.0), (2 * (1 + 2 / 3) + 1) / 2)


def test_nothing_to_do():
    assert cycle_time(3, (), 0.0) == 0.0
