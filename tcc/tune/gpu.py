"""Candidates on GPUs: many processes compile them, one for each GPU verifies and times them.

A kernel that hangs, crashes or reads what it must not costs its candidate and the process that
had the GPU, which is replaced.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, Self, assert_never

from tcc.driver import Compilation, compile_program
from tcc.errors import CompileError, InternalError, RunError, ToolchainError
from tcc.inputs import options_of_source
from tcc.run.cache import ObjectCache
from tcc.run.cuda import CudaDevice, cubin
from tcc.run.verify_inputs import Style, draw, find_domain
from tcc.run.verify_outcome import Kind
from tcc.run.verify_trial import Pair, Settings, try_pair
from tcc.sched.model import TYPICAL_SIZE
from tcc.source import Source
from tcc.tune.bench import DEADLINE_S, ended
from tcc.tune.evaluate import Evaluation, Evaluator, Job, Times, Work, failed, pruned, rejection
from tcc.tune.measure import Pruned, Rival, Timed, measure
from tcc.tune.pool import Finished, Pool, Spent
from tcc.tune.record import State
from tcc.tune.verifier import UNTRIED, Verifier, present

POLL_S = 0.02
Make = Callable[..., Any]


@dataclass(frozen=True)
class Built:
    """A candidate that is compiled: what to verify, what to time, and its predicted time."""

    pairs: tuple[Pair, ...]
    timed: Pair
    predicted_us: float


@dataclass(frozen=True)
class Errand:
    """What a GPU has to do: verify a candidate, and time it beside the best so far."""

    built: Built
    best: Built | None = None
    best_us: float | None = None


class Builder(Evaluator):
    """Compiles candidates to binaries for a GPU; takes none."""

    def __init__(self, job: Job, architecture: str) -> None:
        super().__init__(job)
        self._architecture = architecture
        self._cache = ObjectCache(job.folder)

    def build(self, work: Work) -> Built | Evaluation:
        """The candidate, or why there is none."""
        options = options_of_source(Source("<candidate>", work.text))
        try:
            found = self.compiled(options, self._request.sizes)
            predicted = self.predicted(found)
            if work.limit_us is not None and predicted.median_us > work.limit_us:
                return pruned(predicted)
            pairs = tuple(self._verifier.pairs(found, lambda sizes: self.compiled(options, sizes)))
            for text in {p.optimized.cuda_source for p in pairs}:
                cubin(text, self._architecture, self._cache)
            return Built(pairs, self._timed(found), predicted.median_us)
        except (CompileError, InternalError, ToolchainError) as problem:
            return rejection(problem)

    def _timed(self, found: Compilation) -> Pair:
        """The candidate at the sizes to time it at; open ones are TYPICAL_SIZE."""
        open_sizes = dict.fromkeys(present(found.program).sizes, TYPICAL_SIZE)
        sizes = {**self._request.sizes, **open_sizes}
        program = present(found.program)
        if open_sizes:
            at = compile_program(replace(self._request, sizes=sizes), stop_after="check")
            program = present(at.program)
        domain = find_domain(program, sizes, self._request.options.verify.inputs)
        return Pair(domain, present(found.artifact), present(found.reference), "given")


class Meter:
    """Verifies and times candidates on one GPU.

    What a kernel breaks stays broken for its process: then Spent is raised, with the evaluation.
    """

    def __init__(self, job: Job, index: int, *, measures: bool, make: Make = CudaDevice) -> None:
        self._make = partial(make, index=index, cache=ObjectCache(job.folder))
        self._device = self._make()
        self._measures = measures
        self._verifier = Verifier(job.request, job.folder, job.seed, job.timeout_s)
        self._seed = job.seed
        verify = job.request.options.verify
        self._settings = Settings("cuda", verify, None, job.seed, make=lambda: self._device)

    def __call__(self, errand: Errand) -> Evaluation:
        """Verify the candidate, then time it beside the best so far."""
        built = errand.built
        self._device = self._make()  # it keeps what it has loaded
        try:
            for pair in built.pairs:
                failure = try_pair(pair, self._settings, self._verifier.expected(pair)).failure
                if failure is not None and failure.kind is Kind.WRONG:
                    return failed(failure)
                if failure is not None:
                    raise Spent(failed(failure))
            if not built.pairs:
                return failed(UNTRIED)
            return self._timed(errand)
        except RunError as problem:
            raise Spent(Evaluation(State.CRASHED, str(problem))) from problem

    def _timed(self, errand: Errand) -> Evaluation:
        built, rival = errand.built, None
        if not self._measures:
            predicted = Times(built.predicted_us, built.predicted_us, built.predicted_us)
            return Evaluation(State.DONE, "", predicted, verified=True)
        if errand.best is not None and errand.best_us is not None:
            rival = Rival(self._call(errand.best.timed), errand.best_us)
        found = measure(self._call(built.timed), rival)
        match found:
            case Pruned(time_us):
                times = Times(time_us, time_us, time_us)
                return Evaluation(State.PRUNED, f"{time_us:.3g} us", times, verified=True)
            case Times():
                return Evaluation(State.DONE, "", found, verified=True)
            case _:
                assert_never(found)

    def _call(self, pair: Pair) -> Timed:
        inputs = draw(pair.domain, Style.NORMAL, self._seed)
        sizes = {n: pair.domain.sizes[n] for n in pair.optimized.interface.symbolic}
        call: Timed = self._device.prepare(pair.optimized, inputs, sizes)
        return call


class GpuEvaluator:
    """Compiles, verifies and times candidates in one process, for workers that have one GPU."""

    def __init__(self, job: Job, *, measures: bool, make: Make = CudaDevice) -> None:
        self._measures = measures
        self._builder = Builder(job, make(index=0, cache=ObjectCache(job.folder)).architecture)
        self._meter = Meter(job, 0, measures=measures, make=make)
        self._best: tuple[Built, float] | None = None

    def __call__(self, work: Work) -> Evaluation:
        """Evaluate one candidate; times are compared with the best that this process has had."""
        built = self._builder.build(replace(work, limit_us=None) if self._measures else work)
        if isinstance(built, Evaluation):
            return built
        errand = Errand(built) if self._best is None else Errand(built, *self._best)
        evaluation = self._meter(errand)
        times = evaluation.times if evaluation.state is State.DONE else None
        if times is not None and (self._best is None or times.median_us < self._best[1]):
            self._best = built, times.median_us
        return evaluation


class GpuBench:
    """Processes that compile, and one for each GPU; `indices` are the numbers of the GPUs.

    `measures`: times are taken on the GPU; else candidates are only verified there. `make` makes
    the device of a process from its keywords. A compilation and a measurement take at most
    `deadline_s` each.
    """

    def __init__(
        self,
        job: Job,
        workers: int,
        indices: Sequence[int],
        architecture: str,
        *,
        measures: bool,
        make: Make = CudaDevice,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._measures = measures
        builders = [partial(_builder, job, architecture)] * workers
        meters = [partial(Meter, job, i, measures=measures, make=make) for i in indices]
        self._builders: Pool[Work, Built | Evaluation] = Pool(builders, deadline_s)
        self._meters: Pool[Errand, Evaluation] = Pool(meters, deadline_s)
        self._built: dict[int, Built] = {}
        self._waiting: deque[int] = deque()
        self._gpus = len(indices)
        self._best: Built | None = None
        self._best_us: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._builders.close()
        self._meters.close()

    @property
    def pending(self) -> int:
        """Candidates that have not come back."""
        return self._builders.pending + len(self._waiting) + self._meters.pending

    def submit(self, number: int, work: Work) -> None:
        """Compile a candidate; it goes to a GPU when that is done."""
        # The limit is one of measured times, and a prediction is none.
        limit = None if self._measures else work.limit_us
        self._builders.submit(number, replace(work, limit_us=limit))

    def wait(self, timeout_s: float) -> list[tuple[int, Evaluation]]:
        """Those that are finished; see `Bench.wait`."""
        end = time.monotonic() + timeout_s
        found: list[tuple[int, Evaluation]] = []
        while not found and self.pending:
            left = max(0.0, end - time.monotonic())
            for finished in self._builders.wait(min(POLL_S, left)):
                found += self._was_built(finished)
            self._send()
            for measured in self._meters.wait(min(POLL_S, left)):
                found.append((measured.number, self._was_measured(measured)))
            if left == 0:
                break
        return found

    def _was_built(self, finished: Finished[Built | Evaluation]) -> list[tuple[int, Evaluation]]:
        number, result = finished.number, finished.result
        if isinstance(result, Built):
            self._built[number] = result
            self._waiting.append(number)
            return []
        end = Finished(number, result, finished.problem, finished.seconds)
        return [(number, ended(end))]

    def _send(self) -> None:
        """Give each free GPU one candidate, with the best of that moment beside it."""
        while self._waiting and self._meters.pending < self._gpus:
            number = self._waiting.popleft()
            errand = Errand(self._built[number], self._best, self._best_us)
            self._meters.submit(number, errand)

    def _was_measured(self, finished: Finished[Evaluation]) -> Evaluation:
        evaluation, built = ended(finished), self._built.pop(finished.number)
        times = evaluation.times if evaluation.state is State.DONE else None
        if times is not None and (self._best_us is None or times.median_us < self._best_us):
            self._best, self._best_us = built, times.median_us
        return evaluation


def _builder(job: Job, architecture: str) -> Callable[[Work], Built | Evaluation]:
    return Builder(job, architecture).build
