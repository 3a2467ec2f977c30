"""The time of a kernel on a GPU: pruned early, medians beside those of the best candidate.

What was taken from the tuner of Tensor Comprehensions (2018): one launch a hundred times slower
than the best, or two launches five times slower, are the end. What is new: the best candidate so
far is launched in turns with the new one, so that a clock that drifts moves both.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tcc.tune.evaluate import Times

HOPELESS = 100.0
SLOW = 5.0
ROUNDS = 5
LAUNCHES = 4
"""In a row of one kernel, after one to warm up; L2 is flushed before each."""


class Timed(Protocol):
    """Something that can be launched and timed: `tcc.run.cuda.Call`."""

    def time_us(self, *, repeats: int, flush: bool = True) -> tuple[float, ...]:
        """The times of some launches in microseconds, after one that does not count."""
        ...


@dataclass(frozen=True)
class Rival:
    """The best candidate so far, and the time that it is known by."""

    call: Timed
    time_us: float


@dataclass(frozen=True)
class Pruned:
    """A candidate that was given up after a few launches, with the best of their times."""

    time_us: float


def measure(call: Timed, rival: Rival | None) -> Times | Pruned:
    """The times of a call, in microseconds as they were when the rival was measured.

    RunError when a kernel fails.
    """
    if rival is not None:
        for launches, factor in ((1, HOPELESS), (2, SLOW)):
            first = min(call.time_us(repeats=launches))
            if first > factor * rival.time_us:
                return Pruned(first)
    own: list[float] = []
    others: list[float] = []
    for _ in range(ROUNDS):
        own += call.time_us(repeats=LAUNCHES)
        if rival is not None:
            others += rival.call.time_us(repeats=LAUNCHES)
    drift = 1.0
    if rival is not None and (now := statistics.median(others)) > 0:
        drift = rival.time_us / now
    return _times([t * drift for t in own])


def _times(found: Sequence[float]) -> Times:
    deciles = statistics.quantiles(found, n=10, method="inclusive")
    return Times(statistics.median(found), deciles[0], deciles[-1])
