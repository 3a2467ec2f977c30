"""What campaigns have found stays found."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.called import CASES, Call, check, load
from tests.fuzz.watched import strange, watched

FILES = sorted(CASES.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_found(path: Path, tmp_path: Path) -> None:
    check(load(path), tmp_path, path.stem)


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (lambda: Path("/no/folder/stray").touch(), "writes /no/folder/stray"),
        (lambda: Path("/no/folder/stray").unlink(), "writes /no/folder/stray"),
        (lambda: Path("/no/folder").mkdir(), "writes /no/folder"),
        (lambda: subprocess.run(["true"], check=True), "subprocess.Popen true"),
        (lambda: socket.create_connection(("127.0.0.1", 9), 0.1), "socket.connect"),
    ],
)
def test_what_nobody_asked_for_is_seen(act: Callable[[], object], what: str) -> None:
    with watched() as seen, contextlib.suppress(OSError):
        act()
    assert strange(seen, Path("/folder"))[0].startswith(what)


def test_a_broken_promise_becomes_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> int:
        Path("stray").touch()
        return 0

    (tmp_path / "folder").mkdir()
    (tmp_path / "cases").mkdir()
    monkeypatch.setattr("tests.fuzz.called.main", broken)
    monkeypatch.setattr("tests.fuzz.called.CASES", tmp_path / "cases")
    call = Call(("check", "f.tc"), {"f.tc": b"\xff"})
    with pytest.raises(AssertionError, match="writes stray"):
        check(call, tmp_path / "folder", "stray")
    assert load(tmp_path / "cases" / "stray.json") == call
