"""The tuning database: keys, order, damage, versions, processes that write at once or die."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tcc.errors import CompileError, ToolchainError
from tcc.tune import database_schema
from tcc.tune.database import _KEY_FIELDS, _VALUE_FIELDS, Database, default_path, distance
from tcc.tune.exchange import export_lines
from tcc.tune.record import State
from tests.tune.records import MATMUL, PLAN, RENAMED, done, key, numbered

ROOT = Path(__file__).parents[2]
CUBE = {"M": 64, "N": 64, "K": 64}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "tunings.db"


def test_what_is_added_is_found(path):
    with Database(path) as database:
        assert database.add(key(**CUBE), done(3.0))
        assert database.best(key(**CUBE)) == done(3.0)
    with Database(path) as database:
        assert database.best(key(**CUBE)) == done(3.0)
        assert list(database.entries()) == [(key(**CUBE), done(3.0))]
        assert database.notes == ()


@pytest.mark.parametrize(
    "other",
    [
        key(M=64, N=64, K=32),
        key(M=64, N=64),
        key(target="sm_80", **CUBE),
        key(MATMUL.replace("float", "double"), **CUBE),
        key(MATMUL.replace("+=!", "max=!"), **CUBE),
    ],
)
def test_other_keys_have_their_own(path, other):
    with Database(path) as database:
        database.add(key(**CUBE), done())
        assert database.best(other) is None
        database.add(other, done(2.0))
        assert database.best(key(**CUBE)) == done()


def test_the_same_plan_is_counted_once(path):
    with Database(path) as database:
        assert database.add(key(**CUBE), done(3.0))
        assert not database.add(key(**CUBE), done(2.0))
        assert database.best(key(**CUBE)).time_us == 2.0
        assert not database.add(key(**CUBE), done(1.0), overwrite=False)
        assert database.best(key(**CUBE)).time_us == 2.0
        assert database.add(key(**CUBE), done(9.0, device="model", predicted=True))
        assert len(list(database.entries())) == 2


def test_best_first(path):
    order = [
        done(3.0, numbered(1)),
        done(5.0, numbered(2)),
        done(1.0, numbered(3), verified=False),
        done(1.0, numbered(4), predicted=True),
        done(2.0, numbered(5), predicted=True),
    ]
    failed = done(plan=numbered(6), state=State.WRONG, reason="C(0, 0)", time_us=None)
    with Database(path) as database:
        for measurement in (*reversed(order), failed):
            database.add(key(**CUBE), measurement)
        assert database.best(key(**CUBE)) == order[0]
        assert [m for _, m in database.entries(key(**CUBE), State.DONE)] == order
        assert [m for _, m in database.entries(state=State.WRONG)] == [failed]
        assert database.prune(2) == 4
        assert [m for _, m in database.entries()] == order[:2]
        assert database.prune(2, emitter="0.0.1") == 2
        assert list(database.entries()) == []


def test_pruning_beside_a_reader(path):
    with Database(path) as database, Database(path) as other:
        for number in range(5):
            database.add(key(**CUBE), done(plan=numbered(number)))
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM keys").fetchone()
        assert database.prune(1) == 4
        assert len(list(other.entries())) == 1
        reader.close()


def test_what_is_locked_for_too_long_is_an_error(path, monkeypatch):
    monkeypatch.setattr("tcc.tune.database.BUSY_SECONDS", 0.1)
    with Database(path) as database:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ToolchainError, match=r"E0711.*locked"):
            database.add(key(**CUBE), done())
        other.execute("COMMIT")
        other.close()
        assert database.add(key(**CUBE), done())


def test_a_renamed_program_finds_the_plan_in_its_own_words(path):
    with Database(path) as database:
        database.add(key(**CUBE), done())
        found = database.best(key(RENAMED, Z=64, Y=64, X=64))
    assert found.plan == PLAN.replace("mm_", "g_").replace("m: [", "i: [").replace(
        "n: [", "j: ["
    ).replace("k: [", "r: [").replace("A: ", "Q: ")


def test_nearest_sizes(path):
    with Database(path) as database:
        assert database.nearest(key(**CUBE)) is None
        for number, size in enumerate((32, 100, 4096)):
            database.add(key(M=size, N=size, K=size), done(plan=numbered(number)))
        database.add(key(M=64, N=64), done())
        near, found = database.nearest(key(M=128, N=128, K=64))
        assert near.spelled_sizes == {"M": 100, "N": 100, "K": 100}
        assert found.plan == numbered(1)
        assert database.nearest(key(target="sm_80", **CUBE)) is None


def test_distance():
    assert distance(key(**CUBE), key(**CUBE)) == 0
    assert distance(key(**CUBE), key(M=64, N=64, K=32)) == distance(
        key(**CUBE), key(M=128, N=64, K=64)
    )


def test_only_options_files_are_kept(path):
    with Database(path) as database, pytest.raises(CompileError):
        database.add(key(**CUBE), done(plan="mapping: {tile: !!python/name:os.system [1]}"))


DAMAGE = {
    "no database": b"not a database at all, but long enough to be one" * 40,
    "cut": None,
    "overwritten": bytes(range(256)) * 16,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_moved_aside(path, damage):
    with Database(path) as database:
        for number in range(200):
            database.add(key(**CUBE), done(plan=numbered(number)))
    content = path.read_bytes()
    match damage:
        case "no database":
            path.write_bytes(DAMAGE[damage])
        case "cut":
            path.write_bytes(content[: len(content) // 2 + 100])
        case _:
            path.write_bytes(content[:4096] + DAMAGE[damage] + content[8192:])
    damaged = path.read_bytes()
    with Database(path) as database:
        assert "damaged" in database.notes[0]
        assert list(database.entries()) == []
        assert database.add(key(**CUBE), done())
    assert path.with_name("tunings.db.damaged1").read_bytes() == damaged
    with Database(path) as database:
        assert database.notes == ()
        assert database.best(key(**CUBE)) == done()


@pytest.mark.parametrize(
    "change", ["keys SET sizes = '['", "measurements SET state = 'x'", "measurements SET plan='{'"]
)
def test_a_damaged_entry_is_left_out(path, change):
    with Database(path) as database:
        database.add(key(**CUBE), done())
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {change}")
    connection.close()
    with Database(path) as database:
        assert list(database.entries()) == []
        assert "damaged entry" in database.notes[0]


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n"


@pytest.mark.parametrize(
    "change",
    [
        f"DROP TABLE keys; CREATE VIEW keys AS {ENDLESS}",
        "CREATE TRIGGER t AFTER INSERT ON keys BEGIN DELETE FROM measurements; END",
        "CREATE TABLE other (x)",
        "DROP INDEX best",
    ],
)
def test_tables_that_are_not_ours_are_moved_aside(path, change):
    with Database(path) as database:
        database.add(key(**CUBE), done())
    with sqlite3.connect(path) as connection:
        connection.executescript(change)
    connection.close()
    with Database(path) as database:
        assert list(database.entries()) == []
        assert "its tables are not those of tcc" in database.notes[0]


VALUES = (
    "x", "", b"\xff", None, -1, 2, 2**63 - 1, 1.5, math.inf, "\x1b[2J", "\u202e", "a\nb", "null",
    "[" * 5000, "[1]", '{"f0": 3}', '{"f0": "\\u001b"}', '[["i0", 0]]', '[["i0", "1"]]', "[[[]]]",
)  # fmt: skip


@pytest.mark.parametrize("column", [*_KEY_FIELDS, *_VALUE_FIELDS])
def test_rows_of_strangers_hold_what_lines_may_hold(path, column):
    """Whatever stands in a column, what comes out can be written as lines, and shown."""
    table = "keys" if column in _KEY_FIELDS else "measurements"
    with Database(path) as database, closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA synchronous = OFF")
        for value in VALUES:
            database.add(key(**CUBE), done())
            with suppress(sqlite3.IntegrityError):
                other.execute(f"UPDATE {table} SET {column} = ?", (value,))
            other.commit()
            database.notes = ()
            found = list(database.entries())
            assert len(found) == 1 or "damaged" in database.notes[0]
            for line in export_lines(found):
                assert json.loads(line)["plan"].replace("\n", "").isprintable()
                assert json.loads(line)["device"].isprintable()
            other.execute("DELETE FROM measurements")
            other.execute("DELETE FROM keys")
            other.commit()


def test_text_that_is_no_utf8(path):
    with Database(path) as database:
        database.add(key(**CUBE), done())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE measurements SET device = CAST(X'ff41' AS TEXT)")
    connection.close()
    with Database(path) as database:
        assert [m.device for _, m in database.entries()] == ["\ufffdA"]


def test_reasons_are_brief_and_printable(path):
    failed = done(time_us=None, state=State.CRASHED, reason="\x1b[2J\n" + 600 * "x")
    with Database(path) as database:
        database.add(key(**CUBE), failed)
        ((_, found),) = database.entries()
    assert found.reason == "?[2J?" + 495 * "x"


def test_an_older_schema_is_migrated(path, monkeypatch):
    with monkeypatch.context() as older:
        first = database_schema.MIGRATIONS[:1]
        older.setattr("tcc.tune.database.VERSION", 1)
        older.setattr("tcc.tune.database.migrate", lambda c: database_schema.migrate(c, first))
        older.setattr("tcc.tune.database.has_known_schema", lambda _: True)
        with Database(path) as database:
            database.add(key(**CUBE), done())
    assert version(path) == 1
    with Database(path) as database:
        assert database.best(key(**CUBE)) == done()
    assert version(path) == database_schema.VERSION


def test_a_newer_schema_is_left_alone(path):
    with Database(path):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ToolchainError, match="E0710"):
        Database(path)
    assert path.read_bytes() == before


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return database_schema.version_of(connection)
    finally:
        connection.close()


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(ToolchainError, match="E0705"):
        Database(Path("/proc/tcc/tunings.db"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(ToolchainError, match="E0711"):
        Database(tmp_path / "folder")


def test_default_path(monkeypatch, tmp_path):
    monkeypatch.setenv("TCC_CACHE_DIR", str(tmp_path))
    assert default_path() == tmp_path / "tunings.db"


WRITER = """
import sys
from pathlib import Path
from tcc.tune.database import Database
from tests.tune.records import done, key, numbered
path, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
measured = key(M=64, N=64, K=64)
for number in range(first, first + count):
    if number % 10 == 0 or number == first:
        database = Database(path)
    database.add(measured, done(plan=numbered(number)))
    print(number, flush=True)
"""


def writer(path: Path, first: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(first), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def tiles(path: Path) -> set[int]:
    with Database(path) as database:
        assert database.notes == ()
        plans = [m.plan for _, m in database.entries()]
    found = {int(p.partition("tile ")[2].partition('"')[0]) - 1 for p in plans}
    assert len(found) == len(plans)
    return found


def test_two_processes_write_at_once(path):
    running = [writer(path, first, 60) for first in (0, 40)]
    for process in running:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert tiles(path) == set(range(100))


def killed_at_random(path: Path, times: int, seed: int) -> None:
    """Writers are killed in the middle; what they said they had written is there afterwards."""
    chance, finished, first = random.Random(seed), set(), 0
    for kills in range(1, times + 1):
        process = writer(path, first, 100_000)
        assert process.stdout is not None
        said = [process.stdout.readline()]
        time.sleep(chance.uniform(0, 0.05))
        os.kill(process.pid, signal.SIGKILL)
        said += process.stdout.read().splitlines()
        process.wait(timeout=30)
        process.stdout.close()
        finished |= {int(line) for line in said if line.strip()}
        there = tiles(path)
        assert finished <= there
        assert len(there - finished) <= kills, "each kill may interrupt one that is written"
        first = max(there) + 1
    assert len(finished) >= times


def test_killed_processes_lose_nothing(path):
    killed_at_random(path, 3, seed=1)


@pytest.mark.slow
def test_fifty_killed_processes_lose_nothing(path):
    killed_at_random(path, 50, seed=2)
