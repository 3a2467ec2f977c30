"""What campaigns have found stays found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.called import CASES, Call, check, load

FILES = sorted(CASES.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_found(path: Path, tmp_path: Path) -> None:
    check(load(path), tmp_path, path.stem)


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
