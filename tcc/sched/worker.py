"""Scheduling in a process of its own: isl has no deadline, and a crash in it must not be ours.

A fork takes a few milliseconds; where it is not safe (other Python threads, or a library that
forbids it) or not there, a new interpreter runs this module, which takes about 0.2 s.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

from tcc.sched.fusion import Problem, solve


def solve_within(problem: Problem, deadline_s: float) -> list[list[str]] | None:
    """The texts of what `solve` finds; None after the deadline or a crash of isl."""
    text = json.dumps(problem.to_data())
    if _may_fork():
        return _forked(text, deadline_s)
    return _spawned(text, deadline_s)


def _may_fork() -> bool:
    """JAX has threads of its own that a child may wait for, and warns at every fork."""
    return hasattr(os, "fork") and threading.active_count() == 1 and "jax" not in sys.modules


def main() -> None:
    """Solve the problem on standard input, JSON to JSON."""
    sys.stdout.write(_answer(sys.stdin.read()))


def _answer(text: str) -> str:
    """Both ways start from the text: the order inside an isl value, and with it the schedule,
    hangs on how the value was made.
    """
    problem = Problem.from_data(json.loads(text))
    return json.dumps([[str(s) for s in schedules] for schedules in solve(problem)])


def _forked(problem: str, deadline_s: float) -> list[list[str]] | None:
    receiver, sender = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        child = _fork(problem, sender, deadline_s)
        try:  # nothing that interrupts comes between the fork and this
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(sender)
            answer = _read_all(receiver, deadline_s)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(receiver)
    return _parse(answer)


def _fork(problem: str, sender: int, deadline_s: float) -> int:
    with warnings.catch_warnings():
        # Newer Pythons warn of native threads. Those of a BLAS hold no lock that isl needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, deadline_s + 1.0)  # should the parent be killed
        _run_child(problem, sender)
    return child


def _run_child(problem: str, sender: int) -> None:
    """Never returns: whatever happens, the child ends here and runs no code of its parent."""
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stderr__.fileno() if sys.__stderr__ else 2)
        with os.fdopen(sender, "w") as pipe:
            pipe.write(_answer(problem))
        status = 0
    finally:
        os._exit(status)


def _read_all(receiver: int, deadline_s: float) -> bytes:
    """Everything until the pipe is closed; nothing when that takes longer."""
    chunks: list[bytes] = []
    end = time.monotonic() + deadline_s
    while select.select([receiver], [], [], max(0.0, end - time.monotonic()))[0]:
        chunk = os.read(receiver, 1 << 16)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
    return b""


def _spawned(problem: str, deadline_s: float) -> list[list[str]] | None:
    root = Path(__file__).parents[2]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tcc.sched.worker"],
            input=problem.encode(),
            capture_output=True,
            cwd=root,
            timeout=deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return _parse(done.stdout)


def _parse(answer: bytes) -> list[list[str]] | None:
    """None for an answer cut short by a crash."""
    if not answer.endswith(b"]"):
        return None
    schedules: list[list[str]] = json.loads(answer)
    return schedules


if __name__ == "__main__":
    main()
