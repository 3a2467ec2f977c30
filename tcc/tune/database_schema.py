"""The tables of the tuning database, and how an older database becomes one of today."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

# One script for each version of the schema, from the one before it. Append; never change one:
# databases of every version are out there.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE keys (
        id INTEGER PRIMARY KEY,
        program TEXT NOT NULL,
        sizes TEXT NOT NULL,
        dtypes TEXT NOT NULL,
        target TEXT NOT NULL,
        emitter TEXT NOT NULL,
        names TEXT NOT NULL,
        UNIQUE (program, sizes, dtypes, target, emitter)
    );
    CREATE TABLE measurements (
        id INTEGER PRIMARY KEY,
        key INTEGER NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
        plan TEXT NOT NULL,
        time_us REAL,
        p10_us REAL,
        p90_us REAL,
        predicted INTEGER NOT NULL,
        device TEXT NOT NULL,
        method TEXT NOT NULL,
        verified INTEGER NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        origin TEXT NOT NULL,
        UNIQUE (key, plan, predicted, device, method)
    );
    """,
    "CREATE INDEX best ON measurements (key, state, predicted, verified DESC, time_us);",
)
VERSION = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the schema; 0 for an empty database."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def migrate(connection: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the schema to the newest version, each step in a transaction of its own."""
    for version in range(version_of(connection), len(migrations)):
        connection.executescript(
            f"BEGIN IMMEDIATE;{migrations[version]}PRAGMA user_version = {version + 1};COMMIT;"
        )


def has_known_schema(connection: sqlite3.Connection) -> bool:
    """Whether the database has the tables and indices of the newest version, and nothing else."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        migrate(fresh)
        return _schema(connection) == _schema(fresh)


def _schema(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
