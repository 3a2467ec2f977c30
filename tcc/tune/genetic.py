"""The genetic search of Tensor Comprehensions (2018, section 5), repaired.

There all survivors stayed and only the slots of invalid candidates were filled, so that hardly
any child was ever made. Here the elites stay, and every other slot of a generation is new: most
by uniform crossover of three parents, drawn in proportion to their speed, the rest by mutation.
"""

from __future__ import annotations

from collections.abc import Sequence

from tcc.tune.search import TRIES, Proposal, Scope, Told
from tcc.tune.space import Point

POPULATION = 32
ELITES = 6
CROSSOVER = 0.8
MUTATION = 0.07
PARENTS = 3


class Genetic:
    """Generations of candidates; the first one is what the search starts from."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._survivors: list[Told] = []

    def ask(self) -> Sequence[Proposal]:
        """The new members of the next generation."""
        new: list[Proposal] = []
        while len(new) < POPULATION - min(ELITES, len(self._survivors)):
            found = self._child() if len(self._survivors) >= PARENTS else self._scope.random()
            if found is None:
                break
            new.append(found)
        return new

    def tell(self, results: Sequence[Told]) -> None:
        """The fastest of old and new may have children."""
        timed = [r for r in results if r.time_us is not None]
        everyone = sorted([*self._survivors, *timed], key=_time)
        self._survivors = everyone[:POPULATION]

    def _child(self) -> Proposal | None:
        scope = self._scope
        crossed = scope.rng.random() < CROSSOVER
        for _ in range(TRIES):
            parents = self._parents(PARENTS if crossed else 1)
            genes = zip(*parents, strict=True)
            child = tuple(scope.rng.choice(values) for values in genes)
            child = scope.mutated(child, MUTATION)
            if scope.claim(child):
                return Proposal(child, "crossover" if crossed else "mutation")
        return scope.random()

    def _parents(self, count: int) -> list[Point]:
        """A roulette: twice as fast, twice as likely."""
        weights = [1 / max(_time(s), 1e-9) for s in self._survivors]
        return [s.point for s in self._scope.rng.choices(self._survivors, weights, k=count)]


def _time(told: Told) -> float:
    return float("inf") if told.time_us is None else told.time_us
