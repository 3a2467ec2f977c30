"""Puts a tuning together: its space, where it starts, where candidates go, the database."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tcc.driver import Request
from tcc.tune.database import Database
from tcc.tune.devices import Place
from tcc.tune.evaluate import Evaluation, Job, Times
from tcc.tune.key import from_canonical, key_of, to_canonical
from tcc.tune.objective import Ranking
from tcc.tune.record import Key, Measurement
from tcc.tune.search import Proposal, Scope
from tcc.tune.space import Space
from tcc.tune.starts import Start, Starts
from tcc.tune.strategies import strategy_of
from tcc.tune.tuner import Means, Tried, Tuner, Tuning, Watcher

NEIGHBOURS = 3
"""Other sizes whose best plans a search starts from."""
REMEMBERED = "database"


@dataclass(frozen=True)
class Asked:
    """What kind of search.

    `end` is a time of `time.monotonic`; `candidates` the most that are evaluated, no limit when
    not given. With `resume` what earlier runs found counts.
    """

    end: float
    candidates: int | None = None
    strategy: str = "genetic"
    seed: int = 0
    resume: bool = False


def tune(place: Place, asked: Asked, watcher: Watcher, database: Database | None = None) -> Tuning:
    """Search for a faster plan than the default of the request of a place.

    Every candidate goes to the database as soon as it is known. CompileError when the program is
    rejected, UsageError for a strategy that is not there, ToolchainError when nothing can be
    evaluated.
    """
    request, means = place.request, place.means
    starts = Starts(request)
    store = _Store(request, database, means)
    found = starts.all(list(store.nearby()))
    known = list(_known(store, starts)) if asked.resume else []
    space = _space(request, starts, [*found, *(Start(t.candidate, REMEMBERED) for t in known)])
    scope = Scope(space, asked.seed, Ranking(space.structures, request.target), asked.end)
    strategy = strategy_of(asked.strategy, scope)
    proposals = [Proposal(space.point(s.candidate), s.origin, s.candidate) for s in found]
    with tempfile.TemporaryDirectory(prefix="tcc-tune-") as folder:
        job = Job(request, Path(folder), asked.seed)
        with place.bench(job) as evaluators:
            most = asked.candidates
            tuner = Tuner(request, means, scope, strategy, evaluators, most, watcher, store.keep)
            return tuner.run(proposals, known)


def _space(request: Request, starts: Starts, found: list[Start]) -> Space:
    limit = request.options.mapping.max_shared_memory
    most = request.target.max_shared_bytes
    return Space(
        starts.structures.all,
        request.target,
        most if limit is None else min(limit, most),
        [s.candidate for s in found],
    )


class _Store:
    """The database as one request sees it."""

    def __init__(self, request: Request, database: Database | None, means: Means) -> None:
        self._database = database
        self._key = None if database is None else key_of(request)
        self._means = means

    def keep(self, one: Tried) -> None:
        """Write down what became of a candidate."""
        if self._database is not None and self._key is not None:
            self._database.add(self._key, measurement(one, self._means))

    def entries(self) -> Iterator[Measurement]:
        """What is known of exactly this key, by the same method for the same device."""
        if self._database is None or self._key is None:
            return
        for key, found in self._database.entries(self._key):
            if (found.method, found.device) == (self._means.method, self._means.device):
                yield replace(found, plan=self._spelled(found.plan, key))

    def nearby(self) -> Iterator[tuple[str, str]]:
        """The best plans of the closest other sizes, with their origin."""
        if self._database is None or self._key is None:
            return
        own = self._key
        near = [e for e in self._database.by_distance(own) if e[0].sizes != own.sizes]
        for key, found in near[:NEIGHBOURS]:
            sizes = " ".join(f"{n}={v}" for n, v in key.spelled_sizes.items())
            yield found.plan, f"tuned for {sizes}"

    def _spelled(self, plan: str, key: Key) -> str:
        """A plan of a program that differs in names, under the names of this one."""
        return from_canonical(to_canonical(plan, key), self._key or key)


def _known(store: _Store, starts: Starts) -> Iterator[Tried]:
    """The candidates of earlier runs; numbers below 0."""
    for count, found in enumerate(store.entries(), 1):
        candidate = starts.of_text(found.plan)
        if candidate is not None:
            times = None
            if found.time_us is not None:
                low, high = found.p10_us or found.time_us, found.p90_us or found.time_us
                times = Times(found.time_us, low, high)
            ended = Evaluation(found.state, found.reason, times, found.verified)
            text = starts.structures.all[candidate.structure].text(candidate.plan)
            yield Tried(-count, candidate, text, found.origin, ended, 0.0)


def measurement(one: Tried, means: Means) -> Measurement:
    """What the database keeps of a candidate."""
    times = one.evaluation.times
    return Measurement(
        plan=one.text,
        time_us=None if times is None else times.median_us,
        p10_us=None if times is None else times.p10_us,
        p90_us=None if times is None else times.p90_us,
        predicted=means.predicted,
        device=means.device,
        method=means.method,
        verified=one.evaluation.verified,
        state=one.evaluation.state,
        reason=one.evaluation.reason,
        origin=one.origin,
    )
