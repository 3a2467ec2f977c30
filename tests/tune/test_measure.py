"""Timing: pruned early, medians and deciles, a drifting clock."""

from __future__ import annotations

from itertools import cycle

import pytest

from tcc.tune.evaluate import Times
from tcc.tune.measure import LAUNCHES, ROUNDS, Pruned, Rival, measure


class Call:
    """Launches whose times repeat; `clock` slows all of them down together."""

    def __init__(self, *times: float, clock: list[float] | None = None) -> None:
        self._times = cycle(times)
        self._clock = clock or [1.0]
        self.launches = 0

    def time_us(self, *, repeats: int, flush: bool = True) -> tuple[float, ...]:
        assert flush
        self.launches += repeats
        return tuple(next(self._times) * self._clock[0] for _ in range(repeats))


def test_median_and_deciles() -> None:
    call = Call(*(float(n) for n in range(20)))
    assert measure(call, None) == Times(9.5, pytest.approx(1.9), pytest.approx(17.1))
    assert call.launches == ROUNDS * LAUNCHES == 20


@pytest.mark.parametrize(("time_us", "launches"), [(1001.0, 1), (51.0, 3)])
def test_slow_candidates_are_given_up_early(time_us: float, launches: int) -> None:
    call, best = Call(time_us), Call(10.0)
    assert measure(call, Rival(best, 10.0)) == Pruned(time_us)
    assert (call.launches, best.launches) == (launches, 0)


def test_a_first_launch_that_is_slow_for_once_does_not_matter() -> None:
    call = Call(60.0, 9.0, *[9.0] * 100)
    found = measure(call, Rival(Call(10.0), 10.0))
    assert isinstance(found, Times)
    assert found.median_us == 9.0


def test_a_clock_that_drifts_moves_both() -> None:
    """The GPU runs at half its clock since the best was measured."""
    clock = [2.0]
    found = measure(Call(9.0, clock=clock), Rival(Call(10.0, clock=clock), 10.0))
    assert found == Times(pytest.approx(9.0), pytest.approx(9.0), pytest.approx(9.0))
