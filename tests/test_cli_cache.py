"""`tcc cache` and `tcc compile --tuned`."""

from __future__ import annotations

import json

import pytest

from tcc.cli import main
from tcc.tune.database import Database
from tcc.tune.record import State
from tests.tune.records import MATMUL, done, key, numbered

CUBE = key(M=64, N=64, K=64)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TCC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mm.tc").write_text(MATMUL)
    return tmp_path


@pytest.fixture
def filled(folder):
    failed = done(plan=numbered(2), state=State.WRONG, reason="C(0, 0)", time_us=None)
    with Database() as database:
        database.add(CUBE, done(2.5, numbered(15)))
        database.add(CUBE, done(9.0, numbered(1), predicted=True, device="H100", method="model"))
        database.add(CUBE, failed)
        database.add(key(target="sm_80"), failed)
    return folder


def run(capfd, *words):
    code = main(words)
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_nothing_yet(capfd):
    assert run(capfd, "cache", "list") == (0, "id  def  sizes  target  tcc  results  best\n", "")
    assert run(capfd, "cache", "export") == (0, "", "")
    assert run(capfd, "cache", "prune")[1] == "0 removed, 0 left\n"


@pytest.mark.usefixtures("filled")
def test_list_and_show(capfd):
    code, out, _ = run(capfd, "cache", "list")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[1][0] == CUBE.digest
    assert "M=64 K=64 N=64  sm_90" in out
    assert "2 of 3   2.5 us" in out
    assert "open            sm_80   0.1.0  0 of 1   all failed" in out
    code, out, _ = run(capfd, "cache", "show", CUBE.digest)
    assert code == 0
    assert "9 us predicted" in out
    assert "random: C(0, 0)" in out
    assert 'k: ["tile 16"]' in out


@pytest.mark.usefixtures("filled")
def test_unknown_entries(capfd):
    for words in (("show", "x"), ("export", "x", CUBE.digest)):
        code, out, err = run(capfd, "cache", *words)
        assert (code, out) == (2, "")
        assert "no entry `x`" in err


def test_export_and_import(capfd, filled, monkeypatch):
    assert run(capfd, "cache", "export", "-o", "t.jsonl") == (0, "", "")
    lines = (filled / "t.jsonl").read_text().splitlines()
    assert len(lines) == 4
    one = run(capfd, "cache", "export", CUBE.digest)[1].splitlines()
    assert one == lines[:3]
    monkeypatch.setenv("TCC_CACHE_DIR", str(filled / "elsewhere"))
    assert run(capfd, "cache", "import", "t.jsonl") == (0, "4 added, 0 known, 0 rejected\n", "")
    assert run(capfd, "cache", "import", "t.jsonl")[1] == "0 added, 4 known, 0 rejected\n"


def test_bad_lines_have_their_numbers(capfd, filled):
    good = run(capfd, "cache", "export")[1].splitlines()
    (filled / "t.jsonl").write_text("\n".join([good[0], "{}", good[1], "\x1b[2J"]))
    code, out, err = run(capfd, "cache", "import", "t.jsonl")
    assert code == 1
    assert out == "0 added, 2 known, 2 rejected\n"
    assert "t.jsonl:2:1" in err
    assert "t.jsonl:4:1" in err
    assert "\x1b" not in err
    code, _, err = run(capfd, "cache", "import", "t.jsonl", "--message-format", "json")
    found = [json.loads(line) for line in err.splitlines()]
    assert [(d["code"], d["line"]) for d in found] == [("E0631", 2), ("E0631", 4)]


@pytest.mark.usefixtures("filled")
def test_pruned_measurements_keep_their_first_time(capfd):
    """They are shown as pruned, and what is exported can be imported."""
    pruned = done(55.2, numbered(3), state=State.PRUNED, reason="predicted 55.2 us")
    with Database() as database:
        database.add(key(target="sm_80"), pruned)
    out = run(capfd, "cache", "list")[1]
    assert "sm_80   0.1.0  0 of 2   all failed" in out
    shown = run(capfd, "cache", "show", key(target="sm_80").digest)[1]
    assert "pruned" in shown
    assert "random: predicted 55.2 us" in shown
    run(capfd, "cache", "export", "-o", "t.jsonl")
    assert run(capfd, "cache", "import", "t.jsonl") == (0, "0 added, 5 known, 0 rejected\n", "")


def test_files_that_are_not_there(capfd):
    code, _, err = run(capfd, "cache", "import", "t.jsonl")
    assert code == 2
    assert "E0623" in err
    code, _, err = run(capfd, "cache", "export", "-o", "no/t.jsonl")
    assert code == 2
    assert "E0624" in err


@pytest.mark.usefixtures("filled")
def test_prune(capfd):
    assert run(capfd, "cache", "prune", "--keep", "1")[1] == "3 removed, 1 left\n"
    assert run(capfd, "cache", "prune", "--other-versions")[1] == "0 removed, 1 left\n"
    assert "2.5 us" in run(capfd, "cache", "list")[1]


def test_a_damaged_database_is_moved_aside(capfd, filled):
    path = filled / "cache" / "tunings.db"
    path.write_bytes(b"no database" * 1000)
    code, out, err = run(capfd, "cache", "list")
    assert code == 0
    assert len(out.splitlines()) == 1
    assert "damaged" in err
    assert run(capfd, "cache", "list")[2] == ""


@pytest.mark.usefixtures("filled")
def test_compile_tuned(capfd):
    sizes = [w for s in ("M=64", "N=64", "K=64") for w in ("--size", s)]
    code, out, err = run(capfd, "compile", "mm.tc", *sizes, "--tuned", "--emit", "plan")
    assert code == 0
    assert "k: [tile 16]" in out
    assert "note: the tuned plan for {M: 64, K: 64, N: 64} (measured 2.5 us" in err
    code, out, err = run(capfd, "compile", "mm.tc", "--tuned", "--emit", "plan")
    assert code == 0
    assert "no plan of the tuning database is used" in err


def test_tuned_is_for_one_architecture(capfd):
    words = ("mm.tc", "--tuned", "--arch", "sm_80", "--arch", "sm_90")
    code, _, err = run(capfd, "compile", *words)
    assert code == 2
    assert "--tuned" in err
