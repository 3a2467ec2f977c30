"""Evaluates candidates on a Dask cluster: `--cluster tcp://HOST:PORT`.

Dask moves the work, and does again what was running on a worker that is lost. Each worker keeps a
child process for each of its threads, which evaluates as the processes of one machine do: a
candidate that hangs or crashes costs itself, not the worker. Every candidate has one future, and
comes back once.
"""

from __future__ import annotations

import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self

import distributed

from tcc import __version__
from tcc.errors import TccError, ToolchainError
from tcc.tune.bench import DEADLINE_S, Start
from tcc.tune.child import Child
from tcc.tune.evaluate import Evaluation, Evaluator, Job, Work
from tcc.tune.pool import WorkerHangs, WorkerLost
from tcc.tune.record import State

CONNECT_S = 20.0
"""How long a scheduler may take to answer."""


class ClusterBench:
    """The workers of a cluster.

    `resources` are what a worker must offer for each candidate, `{"GPU": 1}` for those that
    measure: workers are started with `dask worker --resources "GPU=1"`. ToolchainError when the
    scheduler does not answer, when no worker has the resources, or one has another tcc (E0713).
    """

    def __init__(
        self,
        job: Job,
        address: str,
        *,
        resources: Mapping[str, float] | None = None,
        start: Start | None = None,
    ) -> None:
        self._client = _connected(address)
        self._resources = dict(resources or {})
        self._task = _Task(uuid.uuid4().hex, start or partial(_evaluator, job))
        self._running: dict[int, tuple[distributed.Future, Work]] = {}
        self._done: SimpleQueue[int] = SimpleQueue()
        try:
            self._check_workers(address)
        except BaseException:
            self._client.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.cancel([future for future, _ in self._running.values()], force=True)
        self._client.run(self._task.end, on_error="ignore")
        self._client.close()

    @property
    def pending(self) -> int:
        """Candidates that have not come back."""
        return len(self._running)

    def submit(self, number: int, work: Work) -> None:
        """Evaluate a candidate on some worker."""
        future = self._client.submit(
            self._task, work, resources=self._resources, pure=False, retries=0
        )
        self._running[number] = future, work
        future.add_done_callback(lambda _: self._done.put(number))

    def wait(self, timeout_s: float) -> list[tuple[int, Evaluation]]:
        """Those that are finished, at least one unless `timeout_s` pass.

        ToolchainError when the cluster is gone, or when no candidate can be evaluated.
        """
        found: list[tuple[int, Evaluation]] = []
        left = timeout_s
        while self._running:
            try:
                number = self._done.get(timeout=left)
            except Empty:
                break
            left = 0.0
            if number in self._running:
                found += self._taken(number)
        return found

    def _taken(self, number: int) -> list[tuple[int, Evaluation]]:
        """The end of a candidate; nothing when Dask has lost it and it starts again."""
        future, work = self._running.pop(number)
        match future.status:
            case "finished":
                return [(number, future.result())]
            case "error":
                return [(number, _failure(future.exception()))]
            case _:
                if self._client.status != "running":
                    raise _gone("the scheduler of the cluster is gone")
                self.submit(number, work)
                return []

    def _check_workers(self, address: str) -> None:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        if not workers:
            raise _gone(f"the cluster at `{address}` has no worker")
        for name, amount in self._resources.items():
            if not any(w["resources"].get(name, 0) >= amount for w in workers):
                raise _gone(f"no worker of the cluster at `{address}` offers `{name}`")
        versions = self._client.run(_version, on_error="return")
        for worker, found in versions.items():
            if found != __version__:
                raise _gone(f"worker `{worker}` has tcc {found}, not {__version__}")


class _Task:
    """The function that workers run; each has a child process for each of its threads."""

    def __init__(self, name: str, start: Start) -> None:
        self._name = name
        self._start = start

    def __call__(self, work: Work) -> Evaluation:
        key = self._name, threading.get_ident()
        with _LOCK:
            child = _CHILDREN.setdefault(key, Child(self._start, DEADLINE_S))
        try:
            evaluation: Evaluation = child.run(work)
        except WorkerHangs as problem:
            return Evaluation(State.TIMED_OUT, str(problem))
        except WorkerLost as problem:
            return Evaluation(State.CRASHED, str(problem))
        return evaluation

    def end(self) -> None:
        """End the children of this task on a worker."""
        with _LOCK:
            mine = [key for key in _CHILDREN if key[0] == self._name]
            children = [_CHILDREN.pop(key) for key in mine]
        for child in children:
            child.close()


_CHILDREN: dict[tuple[str, int], Child] = {}
_LOCK = threading.Lock()


def _evaluator(job: Job) -> Callable[[Work], Evaluation]:
    """An evaluator with a folder on the machine that it runs on."""
    folder = tempfile.TemporaryDirectory(prefix="tcc-tune-")  # removed when the process ends
    evaluate = Evaluator(replace(job, folder=Path(folder.name)))

    def run(work: Work, _: object = folder) -> Evaluation:
        return evaluate(work)

    return run


def _version() -> str:
    return __version__


def _connected(address: str) -> distributed.Client:
    try:
        # A client that never connected takes long to go away.
        distributed.comm.get_address_host_port(address, strict=True)
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as problem:
        raise _gone(f"no Dask scheduler answers at `{address}`: {problem}") from problem


def _gone(message: str) -> ToolchainError:
    return ToolchainError(
        f"error[E0713]: {message}\n"
        "  = help: `dask scheduler` on one machine, `dask worker tcp://HOST:8786` on each one, "
        "with the same tcc\n"
    )


def _failure(problem: Any) -> Evaluation:  # noqa: ANN401 - whatever the task raised
    """An evaluation for a candidate that has no result. Raises what a tuner cannot go on after."""
    match problem:
        case TccError():
            raise problem
        case distributed.KilledWorker():
            return Evaluation(State.CRASHED, "every worker that it ran on was lost")
        case _:
            return Evaluation(State.CRASHED, f"internal error: {problem!r}")
