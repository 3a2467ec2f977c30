"""Search led by the quick model: many plans are ranked, the best ones are evaluated.

The quick model costs a thousandth of an evaluation. It knows tiled reductions only; where it
knows nothing, neighbours of the best evaluated candidates are tried, and some random ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import isfinite

from tcc.tune.search import Proposal, Scope, Told

BATCH = 16
RANKED = 128
"""Points that are ranked for one batch."""
RANDOM = 4
"""Of a batch, whatever the model says."""
PARENTS = 8
MUTATION = 0.1


class ModelGuided:
    """Ranks random points and neighbours of the best, and asks for those that look best."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._best: list[Told] = []

    def ask(self) -> Sequence[Proposal]:
        """The next points."""
        new: list[Proposal] = []
        for proposal in self._ordered():
            if len(new) < BATCH - RANDOM and self._scope.claim(proposal.point):
                new.append(proposal)
        while len(new) < BATCH:
            found = self._scope.random()
            if found is None:
                break
            new.append(found)
        return new

    def tell(self, results: Sequence[Told]) -> None:
        """The best become the centres of what is ranked next."""
        timed = [r for r in results if r.time_us is not None]
        self._best = sorted([*self._best, *timed], key=lambda r: r.time_us or 0.0)[:PARENTS]

    def _proposals(self) -> list[Proposal]:
        scope = self._scope
        count = RANKED // 2 if self._best else 0
        near = [scope.rng.choice(self._best).point for _ in range(count)]
        found = [Proposal(scope.mutated(p, MUTATION), "neighbour") for p in near]
        far = (scope.space.sample(scope.rng) for _ in range(RANKED - count))
        return found + [Proposal(p, "ranked") for p in far]

    def _ordered(self) -> list[Proposal]:
        """Those that look best and those of which nothing is known, in turns."""
        ranks = [
            (self._scope.rank(self._scope.space.candidate(p.point)), p) for p in self._proposals()
        ]
        known = sorted((r for r in ranks if isfinite(r[0])), key=lambda r: r[0])
        unknown = [r for r in ranks if not isfinite(r[0])]
        pairs = zip_longest(known, unknown)
        return [proposal for pair in pairs for _, proposal in filter(None, pair)]
