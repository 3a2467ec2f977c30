"""Processes that evaluate candidates: one that hangs or dies costs the candidate it has.

The executors of the standard library cannot end one process that hangs: they give up on all. So
each process here has a pipe and a deadline of its own; it is killed with everything it started in
its process group, and replaced.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

W = TypeVar("W")
R = TypeVar("R")
Starter = Callable[[], Callable[[W], R]]
"""Runs once in a process; what it returns does the work there."""

# Every process starts from a small server without threads, in milliseconds.
_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tcc.tune.evaluate"])
_START_S = 60.0
"""How long a process may take to appear."""


class WorkerLost(Exception):
    """A process did not come back from its work; the message says what became of it."""


class WorkerHangs(WorkerLost):
    """It was ended at its deadline."""


class Spent(Exception):
    """Raised by work that has a result, after which its process is good for nothing more."""

    def __init__(self, result: object) -> None:
        super().__init__()
        self.result = result


@dataclass(frozen=True)
class Finished(Generic[R]):
    """The end of one piece of work: its result, or the exception that it raised."""

    number: int
    result: R | None
    problem: BaseException | None
    seconds: float


class Pool(Generic[W, R]):
    """One process for each starter. Use it in a `with`: its end kills what still works."""

    def __init__(self, starters: Sequence[Starter[W, R]], deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._workers = [_Worker(starter) for starter in starters]
        self._queue: deque[tuple[int, W]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def submit(self, number: int, work: W) -> None:
        """Queue work; `number` comes back with its result."""
        self._queue.append((number, work))
        self._assign()

    @property
    def pending(self) -> int:
        """Pieces of work that have not come back."""
        return len(self._queue) + sum(w.is_busy for w in self._workers)

    def wait(self, timeout_s: float) -> list[Finished[R]]:
        """What is finished by now, at least one unless `timeout_s` pass."""
        end = time.monotonic() + timeout_s
        while True:
            found = [f for w in self._workers if (f := w.poll(self._deadline_s)) is not None]
            self._assign()
            left = end - time.monotonic()
            if found or left <= 0 or not self.pending:
                return found
            busy = [w for w in self._workers if w.is_busy]
            due = min(w.due(self._deadline_s) for w in busy)
            wait([w.connection for w in busy], max(0.0, min(left, due - time.monotonic())))

    def close(self) -> None:
        """End every process."""
        self._queue.clear()
        for worker in self._workers:
            worker.kill()

    def _assign(self) -> None:
        for worker in self._workers:
            if self._queue and not worker.is_busy:
                worker.start(*self._queue.popleft())


class _Worker(Generic[W, R]):
    """One process, and its replacements."""

    def __init__(self, starter: Starter[W, R]) -> None:
        self._starter = starter
        self._number: int | None = None
        self._launch()

    def _launch(self) -> None:
        self._is_there = False
        self.connection, theirs = _CONTEXT.Pipe()
        self._process: BaseProcess = _CONTEXT.Process(
            target=_serve, args=(self._starter, theirs), daemon=False
        )
        self._process.start()
        theirs.close()
        self._started = time.monotonic()

    @property
    def is_busy(self) -> bool:
        return self._number is not None

    def start(self, number: int, work: W) -> None:
        """Send work to the process; one that died of nothing it was asked for is replaced."""
        if not self._process.is_alive():
            self.kill()
            self._launch()
        self._number = number
        self._started = time.monotonic()
        with suppress(OSError):  # a process that is gone shows in `poll`
            self.connection.send_bytes(pickle.dumps(work))

    def due(self, deadline_s: float) -> float:
        """When its work should be done; the time to start a process does not count."""
        return self._started + (deadline_s if self._is_there else _START_S)

    def poll(self, deadline_s: float) -> Finished[R] | None:
        """The end of its work, if it is there."""
        number, now = self._number, time.monotonic()
        if number is None:
            return None
        while self.connection.poll():
            try:
                message = pickle.loads(self.connection.recv_bytes())
            except (EOFError, OSError):
                return self._lost(number, WorkerLost(self._epitaph()), now)
            if message is not None:
                self._number = None
                result, problem, is_spent = message
                if is_spent:
                    self.kill()
                    self._launch()
                return Finished(number, result, problem, now - self._started)
            self._is_there, self._started = True, now
        if now > self.due(deadline_s):
            return self._lost(number, WorkerHangs(f"no end within {deadline_s:g} s"), now)
        return None

    def _epitaph(self) -> str:
        self._process.join(1.0)
        code = self._process.exitcode
        if code is not None and code < 0:
            return f"its process was stopped by {signal.Signals(-code).name}"
        return f"its process ended with status {code}"

    def _lost(self, number: int, problem: WorkerLost, now: float) -> Finished[R]:
        self.kill()
        self._number, seconds = None, now - self._started
        self._launch()
        return Finished(number, None, problem, seconds)

    def kill(self) -> None:
        """End the process, and what it started in its group."""
        if self._process.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


def _serve(starter: Starter[Any, Any], connection: Connection) -> None:
    """The process: work until the pipe is closed."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that has the pool
    serve: Callable[[Any], Any] | None = None
    with suppress(EOFError, BrokenPipeError):
        connection.send_bytes(pickle.dumps(None))
        while True:
            work = pickle.loads(connection.recv_bytes())
            try:
                serve = serve or starter()
                answer: tuple[Any, Exception | None, bool] = serve(work), None, False
            except Spent as end:
                answer = end.result, None, True
            except Exception as problem:  # noqa: BLE001 - it is raised where the pool is
                answer = None, problem, False
            connection.send_bytes(pickle.dumps(answer))
