"""Measurements as JSON lines, to carry them to other machines; lines from strangers are checked.

Nothing of an imported line is executed. A plan is an options file that the compiler checks like
any other, so that a wrong one is rejected or slow, never a wrong kernel; a time is a claim, and an
imported measurement counts as not verified.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tcc.errors import CompileError
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.source import Source
from tcc.target import TARGETS
from tcc.tune.database import Database
from tcc.tune.fields import Fields, Unreadable, entry_of
from tcc.tune.record import Key, Measurement

FORMAT = 1
LONGEST_LINE = 400_000
"""Characters: twice an options file of the largest size, and a program."""
LONGEST_PROGRAM = 100_000


@dataclass(frozen=True)
class Imported:
    """What became of the lines: new ones, known ones, and what is wrong with others, by number."""

    added: int
    known: int
    problems: tuple[tuple[int, str], ...]


def export_lines(entries: Iterable[tuple[Key, Measurement]]) -> Iterator[str]:
    """A line for each measurement, without its end."""
    for key, m in entries:
        yield json.dumps(
            {
                "tcc_tuning": FORMAT,
                "program": key.program,
                "sizes": dict(key.sizes),
                "dtypes": list(key.dtypes),
                "target": key.target,
                "emitter": key.emitter,
                "names": dict(key.names),
                "plan": m.plan,
                "time_us": m.time_us,
                "p10_us": m.p10_us,
                "p90_us": m.p90_us,
                "predicted": m.predicted,
                "device": m.device,
                "method": m.method,
                "verified": m.verified,
                "state": m.state.value,
                "reason": m.reason,
                "origin": m.origin,
            }
        )


def import_lines(database: Database, lines: Iterable[str]) -> Imported:
    """Add the measurements of lines; what the database knows itself stays as it is."""
    added = known = 0
    problems: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            key, measurement = read_line(line)
        except Unreadable as problem:
            problems.append((number, str(problem)))
            continue
        if database.add(key, measurement, overwrite=False):
            added += 1
        else:
            known += 1
    return Imported(added, known, tuple(problems))


def read_line(line: str) -> tuple[Key, Measurement]:
    """The measurement in a line, as not verified. Unreadable when anything is wrong with it."""
    values = _object(line)
    fields = Fields(values)
    if fields.integer("tcc_tuning", 1, FORMAT) != FORMAT:
        raise Unreadable(f"`tcc_tuning` is not {FORMAT}")
    fields.one_of("target", TARGETS)
    key, measurement = entry_of(values | {"verified": False, "origin": "imported"})
    if len(key.program) > LONGEST_PROGRAM:
        raise Unreadable(f"`program` is longer than {LONGEST_PROGRAM} characters")
    _check_plan(measurement.plan)
    return key, measurement


def _check_plan(text: str) -> None:
    """An options file with a mapping, and nothing else."""
    try:
        options = options_of_source(Source("<plan>", text))
    except CompileError as problem:
        message = problem.diagnostics[0].message
        raise Unreadable(f"`plan` is no options file: {message}") from problem
    if replace(options, mapping=Options().mapping, preset=None) != Options():
        raise Unreadable("`plan` has more than `mapping` and `preset`")


def _object(line: str) -> dict[str, Any]:
    if len(line) > LONGEST_LINE:
        raise Unreadable(f"longer than {LONGEST_LINE} characters")
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise Unreadable(f"no JSON: {problem}") from problem
    if not isinstance(found, dict):
        raise Unreadable("no JSON object")
    return found
