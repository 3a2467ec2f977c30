"""The database of what was measured: SQLite, written by any number of tuners at once.

A measurement is one transaction that is on the disk when `add` returns: a process that is killed,
or a power cut, loses the one that was under way and nothing else. Plans are kept under canonical
names, so that a program finds those of another one that differs in names only.
"""

from __future__ import annotations

import fcntl
import json
import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tcc.errors import ToolchainError
from tcc.run.cache import default_directory, writable
from tcc.tune.database_schema import VERSION, has_known_schema, migrate, version_of
from tcc.tune.fields import Unreadable, brief, entry_of
from tcc.tune.key import from_canonical, to_canonical
from tcc.tune.record import Key, Measurement, State

BUSY_SECONDS = 60.0
"""How long a transaction waits for those of other processes, each of which takes milliseconds."""
_KEY_FIELDS = ("program", "sizes", "dtypes", "target", "emitter", "names")
_VALUE_FIELDS = (
    "plan", "time_us", "p10_us", "p90_us", "predicted", "device", "method", "verified", "state",
    "reason", "origin",
)  # fmt: skip
_KEY = ", ".join(f"keys.{name}" for name in _KEY_FIELDS)
_VALUE = ", ".join(_VALUE_FIELDS)
# Measured before predicted, verified before taken on trust.
_BEST_FIRST = "state != 'done', predicted, verified DESC, time_us, id"


def default_path() -> Path:
    """The database of the user: `tunings.db` in the cache directory."""
    return default_directory() / "tunings.db"


class Database:
    """The measurements in one file, which is made when it is missing. Use it in a `with`.

    `notes` says what the user should know: that a damaged file was moved aside. ToolchainError
    when the file cannot be written (E0705) or used (E0711), or is of a newer tcc (E0710).
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or default_path()
        self.notes: tuple[str, ...] = ()
        with writable(self.path.parent), self._alone():
            self._connection = self._opened()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def add(self, key: Key, measurement: Measurement, *, overwrite: bool = True) -> bool:
        """Keep a measurement; whether it was new.

        An older one of the same plan, found on the same device in the same way, is replaced, or
        wins when `overwrite` is false. CompileError when the plan is no options file.
        """
        plan = to_canonical(measurement.plan, key)
        m = measurement
        numbers = (m.time_us, m.p10_us, m.p90_us, m.predicted)
        texts = (m.device, m.method, m.verified, m.state.value, brief(m.reason), m.origin)
        with self._transaction():
            row = self._row_of(key)
            same = (row, plan, m.predicted, m.device, m.method)
            known = self._connection.execute(
                "SELECT 1 FROM measurements WHERE key = ? AND plan = ? AND predicted = ?"
                " AND device = ? AND method = ?",
                same,
            ).fetchone()
            if known is None or overwrite:
                self._connection.execute(
                    f"INSERT OR REPLACE INTO measurements (key, {_VALUE})"
                    f" VALUES ({', '.join('?' * 12)})",
                    (row, plan, *numbers, *texts),
                )
        return known is None

    def best(self, key: Key) -> Measurement | None:
        """The fastest that is done for exactly this key.

        Measured times come before predicted ones, verified before unverified.
        """
        found = self._select(
            "program = ? AND sizes = ? AND dtypes = ? AND target = ? AND emitter = ?"
            " AND state = 'done'",
            _columns(key)[:5],
            key,
        )
        return next((m for _, m in found), None)

    def nearest(self, key: Key) -> tuple[Key, Measurement] | None:
        """The best for the closest sizes, and for what it was found; see `by_distance`."""
        return next(iter(self.by_distance(key)), None)

    def by_distance(self, key: Key) -> tuple[tuple[Key, Measurement], ...]:
        """The best of every key that differs in its sizes and its version of tcc at most.

        The same sizes are fixed in all of them. The closest first: by `distance`, then the own
        version. Plans are spelled with the names of `key`.
        """
        same = (key.program, _texts(key.dtypes), key.target)
        found = self._select(
            "program = ? AND dtypes = ? AND target = ? AND state = 'done' AND place = 1", same, key
        )
        sizes = [name for name, _ in key.sizes]
        best = [(k, m) for k, m in found if [name for name, _ in k.sizes] == sizes]
        best.sort(key=lambda e: (distance(e[0], key), e[0].emitter != key.emitter))
        return tuple(best)

    def entries(
        self, key: Key | None = None, state: State | None = None
    ) -> Iterator[tuple[Key, Measurement]]:
        """All that is known, of one key or of one state where they are given.

        Key by key in the order of their first measurement; the best first. Plans are spelled with
        the names that the key has.
        """
        conditions, values = ["1"], list[object]()
        if key is not None:
            conditions.append("program = ? AND sizes = ? AND dtypes = ? AND target = ?")
            conditions.append("emitter = ?")
            values += _columns(key)[:5]
        if state is not None:
            conditions.append("state = ?")
            values.append(state.value)
        return self._select(" AND ".join(conditions), values)

    def prune(self, keep: int, *, emitter: str | None = None) -> int:
        """Remove what no tuner starts from; how many measurements went.

        Only those done stay, the best `keep` of each key; with `emitter`, only of that version.
        """
        with self._transaction() as connection:
            removed = connection.execute(
                "DELETE FROM measurements WHERE id NOT IN (SELECT id FROM ("
                f" SELECT id, row_number() OVER (PARTITION BY key ORDER BY {_BEST_FIRST})"
                " AS place FROM measurements WHERE state = 'done' AND (? IS NULL OR key IN"
                " (SELECT id FROM keys WHERE emitter = ?))) WHERE place <= ?)",
                (emitter, emitter, keep),
            ).rowcount
            connection.execute("DELETE FROM keys WHERE id NOT IN (SELECT key FROM measurements)")
        with suppress(sqlite3.OperationalError):  # in use: the room is used again later
            self._connection.execute("VACUUM")
        return removed

    def _select(
        self, condition: str, values: Sequence[object], spelling: Key | None = None
    ) -> Iterator[tuple[Key, Measurement]]:
        """Rows with their plans under the names of `spelling`, else under those of their keys.

        Damaged ones are left out with a note.
        """
        try:
            rows = self._connection.execute(
                f"SELECT {_KEY}, {_VALUE} FROM keys JOIN (SELECT *, row_number() OVER"
                f" (PARTITION BY key ORDER BY {_BEST_FIRST}) AS place FROM measurements) AS m"
                f" ON keys.id = m.key WHERE {condition} ORDER BY keys.id, place",
                values,
            ).fetchall()
        except sqlite3.DatabaseError as problem:
            raise _cannot_use(self.path, problem) from problem
        for row in rows:
            try:
                key, measurement = _entry(row)
                plan = from_canonical(measurement.plan, spelling or key)
            except (Unreadable, ValueError, TypeError, RecursionError):
                self.notes += (f"`{self.path}`: a damaged entry is left out",)
                continue
            yield key, replace(measurement, plan=plan)

    def _row_of(self, key: Key) -> int:
        """The id of a key, which is added when it is new. Inside a transaction."""
        self._connection.execute(
            "INSERT OR IGNORE INTO keys (program, sizes, dtypes, target, emitter, names)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            _columns(key),
        )
        (row,) = self._connection.execute(
            "SELECT id FROM keys WHERE program = ? AND sizes = ? AND dtypes = ? AND target = ?"
            " AND emitter = ?",
            _columns(key)[:5],
        ).fetchone()
        return int(row)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Taken at once for writing, so that it never has to give way half done."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                yield self._connection
        except sqlite3.DatabaseError as problem:
            raise _cannot_use(self.path, problem) from problem

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While a file is made, migrated or moved, no other process opens it."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.path.with_name(f"{self.path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _opened(self) -> sqlite3.Connection:
        try:
            return _connected(self.path)
        except sqlite3.OperationalError as problem:
            raise _cannot_use(self.path, problem) from problem
        except sqlite3.DatabaseError as problem:
            kept = _move_aside(self.path)
            why = brief(str(problem))
            self.notes += (f"the tuning database was damaged ({why}); it is now `{kept}`",)
            return _connected(self.path)


def distance(one: Key, other: Key) -> float:
    """Between the sizes of two keys with the same sizes fixed: that of their logarithms, summed."""
    pairs = zip(one.sizes, other.sizes, strict=True)
    return sum(abs(math.log(a / b)) for (_, a), (_, b) in pairs)


def _connected(path: Path) -> sqlite3.Connection:
    """A connection to an intact database of today's schema. sqlite3.DatabaseError for damage."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        version = version_of(connection)
        if version > VERSION:
            raise ToolchainError(
                f"error[E0710]: the tuning database `{path}` is of a newer tcc: its version is "
                f"{version}, this tcc reads up to {VERSION}\n"
                "  = help: update tcc, or set `TCC_CACHE_DIR` to another directory\n"
            )
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        migrate(connection)
        if not has_known_schema(connection):  # a view may never end, a trigger may change rows
            raise sqlite3.DatabaseError("its tables are not those of tcc")
    except BaseException:
        connection.close()
        raise
    return connection


def _move_aside(path: Path) -> Path:
    """Rename a damaged file and what belongs to it; the new name."""
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged{number}")).exists():
        number += 1
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.replace(kept.with_name(kept.name + suffix))
    return kept


def _cannot_use(path: Path, problem: sqlite3.DatabaseError) -> ToolchainError:
    return ToolchainError(
        f"error[E0711]: the tuning database `{path}` cannot be used: {brief(str(problem))}\n"
        "  = help: set `TCC_CACHE_DIR` to a directory of yours\n"
    )


def _columns(key: Key) -> tuple[str, str, str, str, str, str]:
    sizes, names = json.dumps(key.sizes), json.dumps(dict(key.names), sort_keys=True)
    return key.program, sizes, _texts(key.dtypes), key.target, key.emitter, names


def _texts(items: Sequence[str]) -> str:
    return json.dumps(list(items))


def _entry(row: Sequence[Any]) -> tuple[Key, Measurement]:
    """Of a row that anybody may have written. Unreadable, ValueError or TypeError for damage."""
    values = dict(zip((*_KEY_FIELDS, *_VALUE_FIELDS), row, strict=True))
    for name in ("sizes", "dtypes", "names"):
        values[name] = json.loads(values[name])
    flags = {name: {0: False, 1: True}.get(values[name]) for name in ("predicted", "verified")}
    return entry_of(values | flags | {"sizes": dict(values["sizes"])})
