"""Several processes at one output or one cache; interrupted ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

MATMUL = "def f(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }\n"


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tcc", *words],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TCC_CACHE_DIR": str(folder / "cache")},
    )  # fmt: skip


def test_one_output(tmp_path):
    """The file is always whole: that of one process or another."""
    (tmp_path / "f.tc").write_text(MATMUL)
    running = [
        start(tmp_path, "compile", "f.tc", "--size", f"M={m}", "-o", "f.cu") for m in (64, 65, 66)
    ]
    seen = set()
    while any(p.poll() is None for p in running):
        if (tmp_path / "f.cu").exists():
            seen.add((tmp_path / "f.cu").read_text())
        time.sleep(0.01)
    assert [p.wait() for p in running] == [0, 0, 0]
    for process in running:
        process.communicate()
    assert all(
        text.startswith("// f, compiled by tcc") and text.endswith("#endif\n") for text in seen
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f.cu", "f.tc"]


@pytest.mark.slow
def test_one_cache(tmp_path):
    (tmp_path / "f.tc").write_text(MATMUL)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (20, 20)).astype(np.float32) for _ in range(2))
    np.savez(tmp_path / "in.npz", A=a, B=b)
    running = [
        start(tmp_path, "run", "f.tc", "--inputs", "in.npz", "--outputs", f"out{k}.npz", *check)
        for k, check in enumerate([(), (), ("--check",), ("--check",)])
    ]
    for process in running:
        _, err = process.communicate()
        assert process.returncode == 0, err
    for k in range(4):
        with np.load(tmp_path / f"out{k}.npz") as out:
            np.testing.assert_array_equal(out["C"], a @ b)
    assert not list((tmp_path / "cache").rglob("new-*"))


def _started_by(folder: Path) -> set[str]:
    """The processes that have the folder in their environment."""
    found = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and process.name != str(os.getpid()):
            with suppress(OSError):  # it has ended, or is not ours
                if os.fsencode(folder) in (process / "environ").read_bytes():
                    found.add((process / "cmdline").read_text().replace("\0", " "))
    return found


def _interrupted(folder: Path, words: tuple[str, ...], ready: Callable[[], bool]) -> None:
    """Ctrl-C, for tcc alone, as soon as something has happened."""
    process = start(folder, *words)
    until = time.monotonic() + 120
    while not ready() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    # Python ends by the signal itself where code in a string was interrupted; a shell says 130.
    assert process.returncode in (130, -signal.SIGINT), err
    assert "Traceback" not in err
    until = time.monotonic() + 10
    while (left := _started_by(folder)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left
    assert not [p for p in folder.rglob("*") if p.name.startswith(("new-", "."))]


def test_interrupted_compilers_leave_nothing(tmp_path, monkeypatch):
    """Neither the driver nor what it has started goes on, and no file stays."""
    compiler = tmp_path / "g++"
    compiler.write_text(
        "#!/bin/sh\n[ $# = 1 ] && exec /bin/echo stand-in 1\n"
        f"touch {tmp_path}/called\nsh -c 'sleep 300; true' &\nwait\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "f.tc").write_text(MATMUL)
    called = tmp_path / "called"
    for words in (("verify", "f.tc"), ("verify", "f.tc", "--check")):
        called.unlink(missing_ok=True)
        _interrupted(tmp_path, words, called.exists)
    tune = ("tune", "f.tc", "--size", "M=8", "--time", "5m")
    _interrupted(tmp_path, tune, (tmp_path / "cache/tunings.db").exists)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compile", "verify", "tune"])
def test_interrupted_at_any_time(tmp_path, command):
    """Whenever it comes, by a terminal to all or by a process to one: old outputs stay whole."""
    words = {
        "compile": ("compile", "f.tc", "-o", "f.cu", "--header", "f.h"),
        "verify": ("verify", "f.tc", "--check"),
        "tune": ("tune", "f.tc", "--size", "M=64", "--candidates", "20", "-o", "best.yaml"),
    }[command]
    (tmp_path / "f.tc").write_text(MATMUL)
    for delay_s in (0.2, 0.5, 0.8, 1.5, 3.0):
        (tmp_path / "f.cu").write_text("old")
        process = start(tmp_path, *words)
        time.sleep(delay_s)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (0, 130, -signal.SIGINT), err
        text = (tmp_path / "f.cu").read_text()
        assert text == "old" or text.endswith("#endif\n")
        time.sleep(0.5)
        assert not _started_by(tmp_path)
        assert not [p for p in tmp_path.rglob("*") if p.name.startswith(("new-", "."))]


def test_interrupt(tmp_path):
    """Whenever it comes, the old output stays whole and nothing is left beside it."""
    (tmp_path / "f.tc").write_text(MATMUL)
    (tmp_path / "f.cu").write_text("old")
    for delay_s in (0.3, 0.5, 0.6, 0.7):
        process = start(tmp_path, "compile", "f.tc", "-o", "f.cu")
        time.sleep(delay_s)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        # Before Python has installed its handler, the signal itself ends the process.
        assert process.returncode in (0, 1, 130, -signal.SIGINT), err
        text = (tmp_path / "f.cu").read_text()
        assert text == "old" or text.endswith("#endif\n")
        assert sorted(p.name for p in tmp_path.iterdir()) == ["f.cu", "f.tc"]
