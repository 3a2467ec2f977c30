"""The evaluation of one candidate: compile it, predict its time, verify it on the host device.

It runs in a process of its own. Nothing that a candidate does wrong is an exception: it is how
the evaluation ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from tcc.driver import Compilation, Request, prepare
from tcc.errors import CompileError, InternalError, RejectedText, TccError, ToolchainError
from tcc.inputs import options_of_source
from tcc.options import Options, given, spell
from tcc.run.verify_outcome import Failure, Kind
from tcc.source import Source
from tcc.tune.objective import predicted_us
from tcc.tune.record import State
from tcc.tune.structure import structural
from tcc.tune.verifier import Verifier

PREPARED = 32
"""Front halves that an evaluator keeps."""
_STATES = {
    Kind.WRONG: State.WRONG,
    Kind.CRASH: State.CRASHED,
    Kind.HANG: State.TIMED_OUT,
    Kind.PROGRAM: State.CRASHED,
}
Sizes: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class Job:
    """What an evaluation needs besides the candidate.

    `request`: the program, its sizes and target; its `verify` options count for every candidate.
    `folder`: for compiled programs, of the caller. A kernel hangs after `timeout_s`.
    """

    request: Request
    folder: Path
    seed: int = 0
    timeout_s: int = 10


@dataclass(frozen=True)
class Work:
    """One candidate: the text of an options file. Above `limit_us` it is of no interest."""

    text: str
    limit_us: float | None = None


@dataclass(frozen=True)
class Times:
    """Microseconds: the median, and the 10th and 90th percentile."""

    median_us: float
    p10_us: float
    p90_us: float


@dataclass(frozen=True)
class Evaluation:
    """How an evaluation ended. `times` are predicted unless a GPU took them."""

    state: State
    reason: str = ""
    times: Times | None = None
    verified: bool = False


class Evaluator:
    """Evaluates candidates of one job, one by one; what they share is done once."""

    def __init__(self, job: Job) -> None:
        self._request = job.request
        self._prepared: dict[str, Callable[[Options], Compilation]] = {}
        self._verifier = Verifier(job.request, job.folder, job.seed, job.timeout_s)

    def __call__(self, work: Work) -> Evaluation:
        """Evaluate one candidate. ToolchainError where no candidate could be evaluated."""
        options = options_of_source(Source("<candidate>", work.text))
        try:
            found = self.compiled(options, self._request.sizes)
            times = self.predicted(found)
            if work.limit_us is not None and times.median_us > work.limit_us:
                return pruned(times)
            failure = self._verifier.failure(found, lambda sizes: self.compiled(options, sizes))
        except (CompileError, InternalError, ToolchainError) as problem:
            return rejection(problem)
        if failure is not None:
            return failed(failure)
        return Evaluation(State.DONE, "", times, verified=True)

    def predicted(self, found: Compilation) -> Times:
        """The predicted time of a candidate."""
        time_us = predicted_us(found, self._request.target)
        return Times(time_us, time_us, time_us)

    def compiled(self, options: Options, sizes: Sizes) -> Compilation:
        """The kernels of a candidate at some sizes. CompileError when it is rejected."""
        mapping = structural(options)
        key = spell({**given(mapping), "sizes": sizes})
        if key not in self._prepared:
            if len(self._prepared) == PREPARED:
                del self._prepared[next(iter(self._prepared))]
            asked = replace(self._request.options, mapping=mapping, preset=None)
            self._prepared[key] = prepare(replace(self._request, sizes=sizes, options=asked))
        return self._prepared[key](options)


def pruned(times: Times) -> Evaluation:
    """The end of an evaluation whose candidate is too slow to be worth more."""
    return Evaluation(State.PRUNED, f"predicted {times.median_us:.3g} us", times)


def rejection(problem: TccError) -> Evaluation:
    """The end of an evaluation that has no kernel to run. Raises what is no candidate's fault."""
    match problem:
        case CompileError():
            return Evaluation(State.REJECTED, problem.diagnostics[0].message)
        case ToolchainError() if not isinstance(problem, RejectedText):
            raise problem
        case _:
            return Evaluation(State.REJECTED, str(problem).partition("\n")[0])


def failed(failure: Failure) -> Evaluation:
    """The end of an evaluation whose kernel did not do what the reference kernel does."""
    return Evaluation(_STATES[failure.kind], failure.summary)
