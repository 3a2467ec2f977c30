"""Several processes at one output or one cache; interrupted ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
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
