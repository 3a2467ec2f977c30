"""What tools start ends with them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tcc.run.process import end_tree, run_tool, uninterrupted


def test_a_tool_says_something(tmp_path: Path) -> None:
    done = run_tool(["sh", "-c", "pwd; echo wrong >&2; cat; exit 3"], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{tmp_path}\n", "wrong\n")


def test_a_missing_tool() -> None:
    with pytest.raises(FileNotFoundError):
        run_tool(["/no/such/tool"])


@pytest.mark.skipif(sys.platform != "linux", reason="children are found by /proc")
def test_a_tree_ends() -> None:
    script = "sh -c 'sleep 300; true' & echo $!; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = Path("/proc") / process.stdout.readline().strip()
        end_tree(process.pid)
    until = time.monotonic() + 10
    while child.exists() and "Z" not in (child / "stat").read_text() and time.monotonic() < until:
        time.sleep(0.05)
    assert not child.exists() or "Z" in (child / "stat").read_text()
    end_tree(process.pid)


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    steps = []

    def work() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("still here")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["still here"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
