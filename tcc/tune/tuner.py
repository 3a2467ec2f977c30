"""The tuning of one program: asks a strategy, has candidates evaluated, keeps what is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tcc.driver import Request
from tcc.tune.bench import Bench
from tcc.tune.evaluate import Evaluation, Work
from tcc.tune.record import State
from tcc.tune.search import Proposal, Scope, Strategy, TimeIsUp, Told
from tcc.tune.space import Candidate

PRUNED_BEYOND = 3.0
"""Times the best at which a prediction is not worth a verification."""
PATIENCE_S = 0.5
"""The longest between two looks at the clock."""


@dataclass(frozen=True)
class Tried:
    """One candidate and what became of it, `at_s` seconds after the start; `text` makes it."""

    number: int
    candidate: Candidate
    text: str
    origin: str
    evaluation: Evaluation
    at_s: float

    @property
    def time_us(self) -> float | None:
        """Its time, if it is done."""
        return self.looks_us if self.evaluation.state is State.DONE else None

    @property
    def looks_us(self) -> float | None:
        """Its time, even if it is not verified."""
        return self.evaluation.times.median_us if self.evaluation.times else None


@dataclass(frozen=True)
class Means:
    """How times are found: on which device, by which method; from the model or on a GPU."""

    device: str
    method: str
    predicted: bool


@dataclass(frozen=True)
class Tuning:
    """What a search found out about a program.

    `default` is the compiler's own choice, `best` the fastest that is verified: None where that
    could not be evaluated. `tried` is in the order in which the candidates came back; `known`
    are candidates of earlier runs.
    """

    request: Request
    means: Means
    tried: tuple[Tried, ...]
    known: tuple[Tried, ...]
    default: Tried | None
    best: Tried | None
    space_size: int
    seconds: float
    interrupted: bool


class Watcher(Protocol):
    """Is told what happens."""

    def tried(self, one: Tried, best: Tried | None) -> None:
        """A candidate came back; `best` is the best by now."""
        ...

    def tick(self) -> None:
        """Some time passed."""
        ...


class Tuner:
    """One search, of `most` candidates; `keep` gets every one that came back."""

    def __init__(
        self,
        request: Request,
        means: Means,
        scope: Scope,
        strategy: Strategy,
        bench: Bench,
        most: int | None,
        watcher: Watcher,
        keep: Callable[[Tried], None] = lambda _: None,
    ) -> None:
        self._request = request
        self._means = means
        self._scope = scope
        self._strategy = strategy
        self._bench = bench
        self._most = most
        self._watcher = watcher
        self._keep = keep
        self._began = time.monotonic()
        self._submitted = 0
        self._tried: list[Tried] = []
        self._best: Tried | None = None
        self._default: Candidate | None = None

    def run(self, starts: Sequence[Proposal], known: Sequence[Tried] = ()) -> Tuning:
        """Search until the time is up, nothing is left to try, or Ctrl-C.

        `starts` begin with the default, for which the search waits even when the time is up: the
        best is never slower. `known` are candidates of earlier runs.

        ToolchainError when no candidate can be evaluated.
        """
        interrupted = False
        self._default = starts[0].candidate if starts else None
        try:
            self._remember(known)
            self._search(starts)
        except TimeIsUp:
            pass
        except KeyboardInterrupt:
            interrupted = True
        everyone = (*known, *self._tried)
        return Tuning(
            self._request,
            self._means,
            tuple(self._tried),
            tuple(known),
            next((t for t in everyone if t.candidate == self._default), None),
            self._best,
            self._scope.space.size,
            time.monotonic() - self._began,
            interrupted,
        )

    def _remember(self, known: Sequence[Tried]) -> None:
        """Candidates of earlier runs are not tried again."""
        self._scope.forget(t.candidate for t in known)
        point = self._scope.space.point
        self._strategy.tell([Told(point(t.candidate), t.looks_us) for t in known])
        for one in known:
            self._compare(one)

    def _search(self, starts: Sequence[Proposal]) -> None:
        batch: Sequence[Proposal] = list(self._claimed(starts))
        while not self._is_full():
            self._strategy.tell(self._evaluated(batch))
            batch = self._strategy.ask()
            if not batch:
                return

    def _claimed(self, starts: Sequence[Proposal]) -> Iterator[Proposal]:
        """The starts that nobody had, as long as there is time."""
        try:
            yield from (s for s in starts if self._scope.claim(s.point, s.candidate))
        except TimeIsUp:
            return

    def _is_full(self) -> bool:
        return self._most is not None and self._submitted >= self._most

    def _evaluated(self, batch: Sequence[Proposal]) -> list[Told]:
        """Evaluate a batch, side by side; what is pruned is decided before it begins."""
        if self._most is not None:
            batch = batch[: self._most - self._submitted]
        limit = None if self._best is None else _pruned_beyond(self._best)
        running: dict[int, tuple[Proposal, Candidate, str]] = {}
        for proposal in batch:
            candidate = proposal.candidate or self._scope.space.candidate(proposal.point)
            text = self._scope.space.structures[candidate.structure].text(candidate.plan)
            running[self._submitted] = proposal, candidate, text
            self._bench.submit(self._submitted, Work(text, limit))
            self._submitted += 1
        told: dict[int, Told] = {}
        while self._bench.pending:
            waited = (c for n, (_, c, _) in running.items() if n not in told)
            for number, evaluation in self._bench.wait(self._left_s(waited)):
                proposal, candidate, text = running[number]
                at_s = time.monotonic() - self._began
                one = Tried(number, candidate, text, proposal.origin, evaluation, at_s)
                told[number] = Told(proposal.point, one.looks_us)
                self._came_back(one)
            self._watcher.tick()
        return [told[number] for number in running]

    def _left_s(self, waited: Iterable[Candidate | None]) -> float:
        """How long to wait for these, some time even at the end where the default is one."""
        left = self._scope.end - time.monotonic()
        if left > 0:
            return min(left, PATIENCE_S)
        if self._default in waited:
            return PATIENCE_S
        raise TimeIsUp

    def _came_back(self, one: Tried) -> None:
        self._tried.append(one)
        self._compare(one)
        self._keep(one)
        self._watcher.tried(one, self._best)

    def _compare(self, one: Tried) -> None:
        """The fastest is the best; among equals the first that was asked for."""
        if one.time_us is None:
            return
        best = self._best
        if (
            best is None
            or best.time_us is None
            or (one.time_us, one.number)
            < (
                best.time_us,
                best.number,
            )
        ):
            self._best = one


def _pruned_beyond(best: Tried) -> float | None:
    return None if best.time_us is None else best.time_us * PRUNED_BEYOND
