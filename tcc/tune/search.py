"""What every search strategy is given, and what it has to do."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tcc.tune.space import Candidate, Point, Space

TRIES = 200
"""How often a strategy looks for a point that nobody had before it takes what comes."""


@dataclass(frozen=True)
class Proposal:
    """A point that should be evaluated, and how it was found.

    `candidate` is what is evaluated where the point only comes close to it.
    """

    point: Point
    origin: str
    candidate: Candidate | None = None


@dataclass(frozen=True)
class Told:
    """What became of a point: its time, which may be one that nobody verified; None without."""

    point: Point
    time_us: float | None


class Strategy(Protocol):
    """Searches a space. All its chances come from the `rng` of its scope.

    It is told of the points to start from before it is asked.
    """

    def ask(self) -> Sequence[Proposal]:
        """The points to evaluate next, all at once; none when nothing is left to try."""
        ...

    def tell(self, results: Sequence[Told]) -> None:
        """What became of some points, those of the last `ask` in its order."""
        ...


class TimeIsUp(Exception):
    """The search is over; what is still being done does not count."""


class Scope:
    """A space, and what of it was tried.

    `rank` says how good a candidate looks before it is
    compiled: the smaller the better, infinite where nothing is known. After `end`, a time of
    `time.monotonic`, nothing can be claimed any more.
    """

    def __init__(
        self,
        space: Space,
        seed: int,
        rank: Callable[[Candidate], float] = lambda _: float("inf"),
        end: float = float("inf"),
    ) -> None:
        self.space = space
        self.rng = random.Random(seed)
        self.rank = rank
        self.end = end
        self._claimed: set[Candidate] = set()

    def claim(self, point: Point, itself: Candidate | None = None) -> bool:
        """Whether a point fits the target and nobody had its candidate before; now it is had.

        `itself` is what is evaluated where the point only comes close to it. TimeIsUp at the end
        of the search, but for the first one: that is the default.
        """
        if self._claimed and time.monotonic() >= self.end:
            raise TimeIsUp
        candidate = self.space.candidate(point)
        named = {candidate, itself or candidate}
        if named & self._claimed or self.space.problem(candidate) is not None:
            return False
        self._claimed |= named
        return True

    def forget(self, candidates: Iterable[Candidate]) -> None:
        """These were tried already."""
        for candidate in candidates:
            self._claimed |= {candidate, self.space.candidate(self.space.point(candidate))}

    def random(self) -> Proposal | None:
        """A random point that nobody had; None when there seems to be none."""
        for _ in range(TRIES):
            point = self.space.sample(self.rng)
            if self.claim(point):
                return Proposal(point, "random")
        return None

    def mutated(self, point: Point, rate: float) -> Point:
        """A point with some parameters drawn anew, half of them from their neighbours.

        It fits the target if shrinking makes it fit.
        """
        changed = tuple(
            self._redrawn(k, len(p.values)) if self.rng.random() < rate else k
            for k, p in zip(point, self.space.parameters, strict=True)
        )
        return self.space.shrunk(changed, self.rng)

    def _redrawn(self, index: int, count: int) -> int:
        if self.rng.random() < 0.5:  # noqa: PLR2004 - a coin
            return min(max(index + self.rng.choice((-1, 1)), 0), count - 1)
        return self.rng.randrange(count)
