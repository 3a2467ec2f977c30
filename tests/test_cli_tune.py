"""`tcc tune` from the command line: it ends in time, keeps the best, and never does worse."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tcc.cli import main
from tcc.tune.database import Database
from tests.tune.programs import MATMUL, SCALE

OPTIONS = "sizes: {M: 24, N: 16, K: 8}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TCC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def write(folder: Path) -> None:
    (folder / "mm.tc").write_text(MATMUL)
    (folder / "mm.yaml").write_text(OPTIONS)


def test_best_options_compile(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    write(folder)
    tuned = ("tune", "mm.tc", "--candidates", "12", "--workers", "1")
    code, out, err = run(capfd, *tuned, "-o", "best.yaml", "--report", "best.html")
    assert (code, out) == (0, ""), err
    assert re.search(
        r"^mm.tc: 12 of [0-9.e+]+ candidates in 0:\d\d, \d+ verified", err, re.MULTILINE
    )
    assert "default predicted" in err
    best = (folder / "best.yaml").read_text()
    assert best.startswith("# Found by `tcc tune`: best predicted ")
    assert "sizes: {M: 24, N: 16, K: 8}" in best
    assert run(capfd, "compile", "mm.tc", "--options", "best.yaml", "--emit", "plan")[0] == 0
    assert run(capfd, "verify", "mm.tc", "--options", "best.yaml")[0] == 0
    with Database() as database:
        assert sum(1 for _ in database.entries()) == 12
    page = (folder / "best.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") >= 3
    assert "src=" not in page
    assert "http" not in page.replace("http-equiv", "")

    code, again, err = run(capfd, *tuned)
    assert (code, again) == (0, best), err


def test_every_program_of_the_directory(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    write(folder)
    (folder / "scale.tc").write_text(SCALE)
    (folder / "wrong.tc").write_text("def f(float(N) A) -> (B) { B(i) = C(i) }\n")
    code, out, err = run(capfd, "tune", "--candidates", "2", "--workers", "1")
    assert (code, out) == (1, "")
    assert "mm.tc: 2 of" in err
    assert "scale.tc: 2 of" in err
    assert "error[E0201]" in err
    with Database() as database:
        assert len({key.entry for key, _ in database.entries()}) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mm.tc",), "say how long to search"),
        (("mm.tc", "--time", "soon"), "`soon` is no time; write `10m`, `90s` or `1h30m`"),
        (("mm.tc", "--time", "0"), "`0` is no time"),
        (("mm.tc", "--time", "1s", "--objective", "time"), "times are measured on a GPU"),
        (("mm.tc", "--time", "1s", "--device", "cuda:a"), "is no device"),
        (("mm.tc", "mm.tc", "--time", "1s", "-o", "b.yaml"), "`--output` is for one program"),
        (("none.tc", "--time", "1s"), "cannot read `none.tc`"),
        (("mm.tc", "--time", "1h", "-o", "none/b.yaml"), "cannot write `none/b.yaml`"),
        (("mm.tc", "--time", "1h", "--report", "."), "cannot write `.`"),
    ],
)
def test_what_makes_no_sense(
    capfd: pytest.CaptureFixture[str], folder: Path, words: tuple[str, ...], message: str
) -> None:
    write(folder)
    code, out, err = run(capfd, "tune", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_a_directory_without_programs(capfd: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capfd, "tune", "--time", "1s")
    assert code == 2
    assert "no file ends in `.tc`" in err


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_the_best(folder: Path, stop: signal.Signals) -> None:
    write(folder)
    command = [sys.executable, "-m", "tcc", "tune", "mm.tc", "--time", "10m", "--workers", "1"]
    with subprocess.Popen(
        [*command, "-o", "best.yaml"], stderr=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "best predicted" in line:
                break
        process.send_signal(stop)
        start = time.monotonic()
        rest = process.stderr.read()
        assert process.wait() == 130, rest
    assert time.monotonic() - start < 20
    assert "interrupted" in rest
    assert (folder / "best.yaml").read_text().startswith("# Found by `tcc tune`: best predicted ")


def test_time_is_kept(folder: Path) -> None:
    write(folder)
    start = time.monotonic()
    words = ("tune", "mm.tc", "--time", "12s", "--workers", "1", "-o", "best.yaml")
    assert main(words) == 0
    assert time.monotonic() - start < 12 + 3
    assert (folder / "best.yaml").exists()
