"""One child process that evaluates candidates, for hosts whose processes may have no workers.

The processes of a cluster are daemons, which the multiprocessing of Python allows no children.
This child is a plain subprocess with a pipe each way; it ends when the pipe to it is closed, so
that it does not outlive a host that was killed.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from tcc.tune.pool import Spent, WorkerHangs, WorkerLost

_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 16
_END_S = 1.0
"""How long a process that closed its pipe may take to end."""
_Answer = tuple[Any, BaseException | None, bool]
"""A result, the exception that there was instead, whether the process is spent."""
_MAIN = "from tcc.tune.child import serve; serve()"


class Child:
    """A process that `starter` begins, and its replacements."""

    def __init__(self, starter: Callable[[], Callable[[Any], Any]], deadline_s: float) -> None:
        self._starter = starter
        self._deadline_s = deadline_s
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, work: Any) -> Any:  # noqa: ANN401 - what the starter's function takes and gives
        """Do a piece of work. Raises what it raises; WorkerLost when the process is gone."""
        process = self._process or self._launch()
        try:
            _send(_pipe(process.stdin), work)
            result, problem, is_spent = self._receive(process)
        except (BrokenPipeError, EOFError):
            raise WorkerLost(f"its process ended with status {self._end(_END_S)}") from None
        if is_spent:
            self._end(_END_S)
        if problem is not None:
            raise problem
        return result

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._end()

    def _launch(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        _send(_pipe(self._process.stdin), sys.path)
        _send(_pipe(self._process.stdin), self._starter)
        return self._process

    def _receive(self, process: subprocess.Popen[bytes]) -> _Answer:
        end = time.monotonic() + self._deadline_s
        output, data = _pipe(process.stdout).fileno(), b""
        while True:
            wanted = _LENGTH.size
            if len(data) >= wanted:
                wanted += _LENGTH.unpack_from(data)[0]
                if len(data) == wanted:
                    answer: tuple[Any, BaseException | None, bool] = pickle.loads(
                        data[_LENGTH.size :]
                    )
                    return answer
            ready, _, _ = select.select([output], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                self._end()
                raise WorkerHangs(f"no end within {self._deadline_s:g} s")
            part = os.read(output, min(_CHUNK, wanted - len(data)))
            if not part:
                raise EOFError
            data += part

    def _end(self, patience_s: float = 0.0) -> int:
        """Kill the process and its group; its status, that of its own end if that comes soon."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                _pipe(pipe).close()
        return process.wait()


def serve() -> None:
    """The child: a path to import from, a starter, then work until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that asks
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", 0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is printed must not end up in answers
    with suppress(EOFError, BrokenPipeError):
        sys.path[:] = _next(sys.stdin.buffer)
        starter = _next(sys.stdin.buffer)
        work = None
        while True:
            asked = _next(sys.stdin.buffer)
            try:
                work = work or starter()
                answer: tuple[Any, Exception | None, bool] = work(asked), None, False
            except Spent as end:
                answer = end.result, None, True
            except Exception as problem:  # noqa: BLE001 - it is raised where it was asked for
                answer = None, problem, False
            _send(answers, answer)


def _send(pipe: BinaryIO | Any, message: object) -> None:  # noqa: ANN401 - raw or buffered
    data = pickle.dumps(message)
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[pipe.write(view) :]
    pipe.flush()


def _next(pipe: BinaryIO) -> Any:  # noqa: ANN401 - what was sent
    length = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))[0]
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: BinaryIO, count: int) -> bytes:
    data = pipe.read(count)
    if len(data) < count:
        raise EOFError
    return data


def _pipe(pipe: Any) -> Any:  # noqa: ANN401 - of a process that has pipes
    if pipe is None:
        raise BrokenPipeError
    return pipe
