"""Random search: what every other strategy has to beat."""

from __future__ import annotations

from collections.abc import Sequence

from tcc.tune.search import Proposal, Scope, Told

BATCH = 32


class Random:
    """Random points."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def ask(self) -> Sequence[Proposal]:
        """The next points."""
        new: list[Proposal] = []
        while len(new) < BATCH:
            found = self._scope.random()
            if found is None:
                break
            new.append(found)
        return new

    def tell(self, results: Sequence[Told]) -> None:
        """Nothing is learned."""
