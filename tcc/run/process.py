"""Runs compilers and other tools: when tcc is interrupted, nothing that they started goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


def run_tool(
    command: Sequence[str], directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without input; its status and what it said."""
    process = None
    try:
        with uninterrupted():
            process = subprocess.Popen(
                command,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        out, err = process.communicate()
    except BaseException:
        if process is not None:
            end_tree(process.pid)
            with process:  # closes the pipes, waits for the end
                pass
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: a process that starts there gets its name first."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python interrupts the main thread only
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def end_tree(pid: int) -> None:
    """Kill a process and all that it started (Linux; elsewhere only the process).

    A compiler driver that is killed leaves its passes behind. Not by process group: those of a
    worker of the tuner must stay in the worker's.
    """
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)  # nothing new from now on
        for child in _children(pid):
            end_tree(child)
        os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> tuple[int, ...]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return ()
    return tuple(map(int, text.split()))
