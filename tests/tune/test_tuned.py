"""Compiling with plans of the database: the best, the nearest, stale ones, none."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tcc.api import compile as tcc_compile
from tcc.driver import compile_program
from tcc.errors import CompileError
from tcc.tune.database import Database, default_path
from tcc.tune.key import key_of
from tcc.tune.starts import Starts
from tcc.tune.tuned import compile_tuned
from tests.tune.records import MATMUL, PLAN, RENAMED, done, key, numbered, request

CUBE = {"M": 64, "N": 64, "K": 64}


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TCC_CACHE_DIR", str(tmp_path))
    return default_path()


def compiled(text: str = MATMUL, options: str = "", **sizes: int) -> tuple[str, tuple[str, ...]]:
    """The plan, and the notes on where it is from."""
    asked = request(text, options, **sizes)
    _, made, notes = compile_tuned(asked, compile_program)
    assert made.plan is not None
    return made.plan.text(), notes


def default(text: str = MATMUL, **sizes: int) -> str:
    plan = compile_program(request(text, **sizes)).plan
    assert plan is not None
    return plan.text()


def test_without_a_database_nothing_is_made(path):
    assert compiled(**CUBE) == (default(**CUBE), ("no plan of the tuning database is used",))
    assert not path.exists()


def test_the_best_plan_is_used(path):
    with Database(path) as database:
        database.add(key(**CUBE), done(2.0, numbered(3)))
        database.add(key(**CUBE), done(1.0, numbered(15)))
    plan, notes = compiled(**CUBE)
    assert "k: [tile 16]" in plan
    assert "thread.y 16" in plan
    (note,) = notes
    assert note.startswith("the tuned plan for {M: 64, K: 64, N: 64} (measured 1 us on H100")


def test_a_renamed_program_uses_it(path):
    with Database(path) as database:
        database.add(key(**CUBE), done(1.0, numbered(15)))
    plan, _ = compiled(RENAMED, Z=64, Y=64, X=64)
    assert "r: [tile 16]" in plan


def test_the_nearest_sizes_stand_in(path):
    with Database(path) as database:
        database.add(key(M=32, N=32, K=32), done(1.0, numbered(15), predicted=True, verified=False))
        database.add(key(M=4096, N=32, K=32), done(1.0, numbered(7)))
    plan, notes = compiled(**CUBE)
    assert "k: [tile 16]" in plan
    assert "for {M: 32, K: 32, N: 32} (predicted 1 us" in notes[0]
    assert "not verified here" in notes[0]


def test_what_the_options_demand_stays(path):
    gather = "def f(float(N, D) A, int(M) I) -> (B) { B(m, d) = A(I(m), d) }"
    with Database(path) as database:
        database.add(key(gather), done(1.0, "preset: pointwise\nmapping: {}\n"))
    asked = request(gather, "mapping: {check_bounds: true, max_shared_memory: 16384}")
    used, made, notes = compile_tuned(asked, compile_program)
    assert notes[-1].endswith("is used")
    assert used.options.preset == "pointwise"
    assert used.options.mapping.max_shared_memory == 16384
    assert made.artifact is not None
    assert "inside(" in made.artifact.cuda_source


def test_a_given_number_of_parts_stays(path):
    """Parts need a workspace, which changes what the launcher takes."""
    asked = "def total(float(N) A) -> (S) { S +=! A(n) }"
    cut = compile_program(request(asked, "mapping: {split: 4}", N=4096))
    text = "".join(f"  {line}\n" for line in ("split: 4", *cut.plan.text().splitlines()))
    with Database(path) as database:
        database.add(key_of(request(asked, N=4096)), done(0.001, f"mapping:\n{text}"))
    for options, parts in (("", 4), ("mapping: {split: 1}", 1)):
        used, made, _ = compile_tuned(request(asked, options, N=4096), compile_program)
        assert used.options.mapping.split == parts
        assert (made.artifact.interface.workspace_bytes.value > 0) == (parts > 1)
        starts = Starts(request(asked, options, N=4096))
        starts.all([(f"mapping:\n{text}", "database")])
        found = {s.mapping.split for s in starts.structures.all}
        assert found == {1} if options else 4 in found


def test_a_stale_plan_gives_way(path):
    stale = PLAN.replace("n: [", "column: [")
    with Database(path) as database:
        database.add(key(**CUBE), done(1.0, stale))
        database.add(key(M=32, N=32, K=32), done(1.0, numbered(15)))
    plan, notes = compiled(**CUBE)
    assert "k: [tile 16]" in plan
    assert "does not fit: " in notes[0]
    assert "is used" in notes[1]


def test_only_stale_plans_leave_the_default(path):
    huge = PLAN.replace("thread.y 16", "thread.y 1024")
    with Database(path) as database:
        database.add(key(**CUBE), done(1.0, huge))
    plan, notes = compiled(**CUBE)
    assert plan == default(**CUBE)
    assert [n.partition(" (")[0] for n in notes] == [
        "the tuned plan for {M: 64, K: 64, N: 64}",
        "no plan of the tuning database is used",
    ]


def test_what_is_no_options_file_gives_way(path):
    with Database(path) as database:
        database.add(key(**CUBE), done())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE measurements SET plan = ?", ("mapping:\n  tile: x\n",))
    connection.close()
    plan, notes = compiled(**CUBE)
    assert plan == default(**CUBE)
    assert "is no options file" in notes[0]


def test_options_of_the_mapping_give_way_and_others_stay(path):
    with Database(path) as database:
        database.add(key(**CUBE), done(1.0, numbered(15)))
    asked = request(MATMUL, "preset: naive\nmapping: {tile: [4]}\nverify: {seed: 7}", **CUBE)
    used, _, _ = compile_tuned(asked, compile_program)
    assert used.options.preset is None
    assert used.options.verify.seed == 7


def test_a_wrong_program_is_rejected_as_ever(path):
    with Database(path) as database:
        database.add(key(**CUBE), done())
    wrong = MATMUL.replace("A(m, k)", "X(m, k)")
    with pytest.raises(CompileError, match="E0201"):
        compiled(wrong, **CUBE)
    with pytest.raises(CompileError, match="E01"):
        compiled("def (", **CUBE)


def test_a_newer_database_is_no_obstacle(path):
    with Database(path):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    plan, notes = compiled(**CUBE)
    assert plan == default(**CUBE)
    assert "newer tcc" in notes[0]


def test_the_python_interface(path):
    with Database(path) as database:
        database.add(key(**CUBE), done(1.0, numbered(15)))
    for cache in (True, False, True):
        kernel = tcc_compile(MATMUL, sizes=CUBE, tuned=True, cache=cache)
        assert "k: [tile 16]" in kernel.plan.text()
        assert "is used" in kernel.notes[0]
        assert kernel.compilation.plan == kernel.plan
    assert tcc_compile(MATMUL, sizes=CUBE).plan.text() == default(**CUBE)
