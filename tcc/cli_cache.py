"""The commands on the tuning database: list, show, export, import, prune."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tcc.cli_inputs import cannot_write, message_format, read_bytes
from tcc.cli_session import Session, put
from tcc.errors import CompileError, UsageError

if TYPE_CHECKING:
    from tcc.diagnostics import Diagnostic
    from tcc.tune.database import Database
    from tcc.tune.record import Key, Measurement

SHOWN = 10
"""Measurements of a key that `show` lists."""
KEPT = 10
"""Measurements of a key that `prune` leaves."""
SHOWN_CHARACTERS = 60
"""Of a line that cannot be imported."""


@click.group("cache")
def cache_command() -> None:
    """Look into the tuning database, copy it, clean it up.

    The database is `tunings.db` in $TCC_CACHE_DIR, else in `tcc` in the user's cache directory.
    """


@cache_command.command("list")
@message_format
@click.pass_obj
def list_command(session: Session, /) -> None:
    """Print a line for each program, sizes and target."""
    with _database(session) as database:
        entries = list(database.entries())
        _tell(session, database)
    rows = [_row(key, [m for _, m in group]) for key, group in groupby(entries, lambda e: e[0])]
    put(_table(("id", "def", "sizes", "target", "tcc", "results", "best"), rows))


@cache_command.command("show")
@click.argument("id", metavar="ID")
@message_format
@click.pass_obj
def show_command(session: Session, /, id: str) -> None:
    """Print the results of an entry, and its best plan.

    ID is that of `tcc cache list`; the best result comes first.
    """
    with _database(session) as database:
        found = [e for e in database.entries() if e[0].digest == id]
        _tell(session, database)
    if not found:
        raise UsageError(f"the tuning database has no entry `{id}`; see `tcc cache list`")
    key = found[0][0]
    put(f"{key.entry} {_sizes(key)} {key.target}, tcc {key.emitter}\n\n{key.program}\n\n")
    rows = [_result(m) for _, m in found[:SHOWN]]
    put(_table(("time", "10 %", "90 %", "device", "method", "verified", "origin"), rows))
    if len(found) > SHOWN:
        put(f"and {len(found) - SHOWN} more\n")
    put(f"\n{found[0][1].plan}")


@cache_command.command("export")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("-o", "--output", metavar="FILE", help="JSON lines.  [default: standard output]")
@message_format
@click.pass_obj
def export_command(session: Session, /, ids: tuple[str, ...], output: str | None) -> None:
    """Write results as JSON lines.

    Those of the entries with these IDs of `tcc cache list`; without any, all.
    """
    from tcc.output import write_all
    from tcc.tune.exchange import export_lines

    with _database(session) as database:
        entries = [e for e in database.entries() if not ids or e[0].digest in ids]
        _tell(session, database)
    missing = set(ids) - {key.digest for key, _ in entries}
    if missing:
        raise UsageError(f"the tuning database has no entry `{min(missing)}`")
    text = "".join(f"{line}\n" for line in export_lines(entries))
    if output in (None, "-"):
        put(text)
        return
    try:
        write_all({Path(str(output)): text.encode()})
    except OSError as problem:
        raise cannot_write(session, str(output), problem) from problem


@cache_command.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@message_format
@click.pass_obj
def import_command(session: Session, /, files: tuple[str, ...]) -> None:
    """Add results from JSON lines; `-` reads standard input.

    They count as not verified. Results of this machine are not replaced.
    """
    from tcc.inputs import source_of
    from tcc.tune.exchange import import_lines

    found: list[Diagnostic] = []
    added = known = 0
    with _database(session) as database:
        for file in files:
            lines = source_of(file, read_bytes(session, file)).text.split("\n")
            done = import_lines(database, lines)
            added, known = added + done.added, known + done.known
            found += _rejected(file, lines, done.problems)
        _tell(session, database)
    put(f"{added} added, {known} known, {len(found)} rejected\n")
    if found:
        raise CompileError(found)


@cache_command.command("prune")
@click.option(
    "--keep",
    type=click.IntRange(0),
    default=KEPT,
    metavar="N",
    help=f"Results of an entry that stay.  [default: {KEPT}]",
)
@click.option("--other-versions", is_flag=True, help="Remove those of other versions of tcc, too.")
@message_format
@click.pass_obj
def prune_command(session: Session, /, keep: int, other_versions: bool) -> None:
    """Remove failed results, and all but the best of each entry."""
    from tcc import __version__

    with _database(session) as database:
        removed = database.prune(keep, emitter=__version__ if other_versions else None)
        left = sum(1 for _ in database.entries())
        _tell(session, database)
    put(f"{removed} removed, {left} left\n")


def _database(session: Session) -> Database:
    from tcc.tune.database import Database

    database = Database()
    _tell(session, database)
    return database


def _tell(session: Session, database: Database) -> None:
    """The notes since the last time."""
    for note in dict.fromkeys(database.notes):
        session.note(note)
    database.notes = ()


def _rejected(
    file: str, lines: Sequence[str], problems: Sequence[tuple[int, str]]
) -> list[Diagnostic]:
    """A diagnostic for each bad line; only the beginning of lines is shown."""
    from tcc.diagnostics import error
    from tcc.source import Source, Span

    shown = (line[:SHOWN_CHARACTERS].encode("ascii", "replace").decode() for line in lines)
    source = Source(file, "\n".join(shown))
    return [
        error(
            "E0631",
            f"line {number} of `{file}` holds no tuning result",
            Span(source, at := source.line_starts[number - 1], at + 1),
            problem,
            help=("leave the line out, or export it again by `tcc cache export`",),
        )
        for number, problem in problems
    ]


# -- tables --------------------------------------------------------------------------------


def _row(key: Key, found: list[Measurement]) -> list[str]:
    done = [m for m in found if m.is_done]
    best = _time(done[0].time_us, done[0].predicted) if done else "all failed"
    return [
        key.digest,
        key.entry,
        _sizes(key),
        key.target,
        key.emitter,
        f"{len(done)} of {len(found)}",
        best,
    ]


def _result(m: Measurement) -> list[str]:
    if not m.is_done:
        return [m.state.value, "", "", m.device, m.method, "", f"{m.origin}: {m.reason}"]
    times = [_time(t, m.predicted) for t in (m.time_us, m.p10_us, m.p90_us)]
    return [*times, m.device, m.method, "yes" if m.verified else "no", m.origin]


def _sizes(key: Key) -> str:
    return " ".join(f"{name}={value}" for name, value in key.spelled_sizes.items()) or "open"


def _time(time_us: float | None, predicted: bool) -> str:
    if time_us is None:
        return ""
    return f"{time_us:.4g} us{' predicted' if predicted else ''}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )
