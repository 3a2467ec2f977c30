"""Where candidates are evaluated: what a tuner sees of it, and the processes of this machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Protocol, Self

from tcc.errors import TccError
from tcc.tune.evaluate import Evaluation, Evaluator, Job, Work
from tcc.tune.pool import Finished, Pool, WorkerHangs, WorkerLost
from tcc.tune.record import State

DEADLINE_S = 60.0
"""For one candidate, with the run of the reference kernel that the first one waits for."""

Start = Callable[[], Callable[[Work], Evaluation]]


class Bench(AbstractContextManager["Bench"], Protocol):
    """Evaluates candidates, several at a time; leaving it ends what still runs."""

    @property
    def pending(self) -> int:
        """Candidates that have not come back."""
        ...

    def submit(self, number: int, work: Work) -> None:
        """Evaluate a candidate; `number` comes back with its evaluation."""
        ...

    def wait(self, timeout_s: float) -> list[tuple[int, Evaluation]]:
        """Those that are finished, at least one unless `timeout_s` pass.

        ToolchainError when no candidate can be evaluated.
        """
        ...


class HostBench:
    """Processes of this machine, which verify on its CPU.

    `start` makes what evaluates candidates in a process; an evaluation takes at most `deadline_s`.
    """

    def __init__(
        self,
        job: Job,
        workers: int,
        *,
        start: Start | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        starters = [start or partial(Evaluator, job)] * workers
        self._pool: Pool[Work, Evaluation] = Pool(starters, deadline_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.close()

    @property
    def pending(self) -> int:
        """Candidates that have not come back."""
        return self._pool.pending

    def submit(self, number: int, work: Work) -> None:
        """Evaluate a candidate in the next free process."""
        self._pool.submit(number, work)

    def wait(self, timeout_s: float) -> list[tuple[int, Evaluation]]:
        """Those that are finished; see `Bench.wait`."""
        return [(f.number, ended(f)) for f in self._pool.wait(timeout_s)]


def ended(finished: Finished[Evaluation]) -> Evaluation:
    """The evaluation that came back, or what became of its process.

    Raises what a tuner cannot go on after.
    """
    match finished.problem:
        case None if finished.result is not None:
            return finished.result
        case WorkerHangs() as problem:
            return Evaluation(State.TIMED_OUT, str(problem))
        case WorkerLost() as problem:
            return Evaluation(State.CRASHED, str(problem))
        case TccError() as problem:
            raise problem
        case problem:
            return Evaluation(State.CRASHED, f"internal error: {problem!r}")
