"""Measurements as JSON lines, to carry them to other machines; lines from strangers are checked.

Nothing of an imported line is executed. A plan is an options file that the compiler checks like
any other, so that a wrong one is rejected or slow, never a wrong kernel; a time is a claim, and an
imported measurement counts as not verified.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tcc.errors import CompileError
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.scalar import ScalarType
from tcc.source import Source
from tcc.target import TARGETS
from tcc.tune.database import Database
from tcc.tune.record import Key, Measurement, State

FORMAT = 1
LONGEST_LINE = 400_000
"""Characters: twice an options file of the largest size, and a program."""
LONGEST_TEXT = 500
LONGEST_PROGRAM = 100_000
LARGEST_SIZE = 2**31 - 1
LONGEST_US = 1e15
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_SHORT = re.compile(r"[fi][0-9]{1,6}")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")


@dataclass(frozen=True)
class Imported:
    """What became of the lines: new ones, known ones, and what is wrong with others, by number."""

    added: int
    known: int
    problems: tuple[tuple[int, str], ...]


class Unreadable(Exception):
    """A line that is no measurement; the message says why."""


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
    fields = _Fields(_object(line))
    if fields.integer("tcc_tuning", 1, FORMAT) != FORMAT:
        raise Unreadable(f"`tcc_tuning` is not {FORMAT}")
    key = Key(
        program=fields.text("program", LONGEST_PROGRAM, lines=True),
        sizes=fields.sizes(),
        dtypes=fields.dtypes(),
        target=fields.one_of("target", TARGETS),
        emitter=fields.matching("emitter", _VERSION),
        names=fields.names(),
    )
    measurement = Measurement(
        plan=fields.plan(),
        time_us=fields.time("time_us"),
        p10_us=fields.time("p10_us"),
        p90_us=fields.time("p90_us"),
        predicted=fields.flag("predicted"),
        device=fields.text("device"),
        method=fields.text("method"),
        verified=False,
        state=State(fields.one_of("state", [s.value for s in State])),
        reason=fields.text("reason"),
        origin="imported",
    )
    if (measurement.time_us is None) == (measurement.state is State.DONE):
        raise Unreadable("a measurement has a time exactly when its state is `done`")
    return key, measurement


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


class _Fields:
    """Reads fields of an object, each with its type and bounds."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def text(self, name: str, longest: int = LONGEST_TEXT, *, lines: bool = False) -> str:
        """Printable text: nothing in it can move the cursor of a terminal."""
        value = self._get(name, str)
        plain = value.replace("\n", "") if lines else value
        if len(value) > longest or not plain.isprintable():
            raise Unreadable(f"`{name}` is no text of at most {longest} printable characters")
        return str(value)

    def matching(self, name: str, pattern: re.Pattern[str]) -> str:
        """Text of a given form."""
        value = self._get(name, str)
        if not pattern.fullmatch(value):
            raise Unreadable(f"`{name}` has an unexpected form")
        return str(value)

    def one_of(self, name: str, known: Iterable[str]) -> str:
        """One of the known words."""
        value = self._get(name, str)
        if value not in known:
            raise Unreadable(f"`{name}` is not known: {value[:40]!r}")
        return str(value)

    def integer(self, name: str, least: int, most: int) -> int:
        """An integer within bounds."""
        return _integer(name, self._get(name, int), least, most)

    def flag(self, name: str) -> bool:
        """True or false."""
        return bool(self._get(name, bool))

    def time(self, name: str) -> float | None:
        """A positive number of microseconds, or none."""
        value = self._values.get(name)
        if value is None:
            return None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 < value < LONGEST_US:
            raise Unreadable(f"`{name}` is no time in microseconds")
        return float(value)

    def sizes(self) -> tuple[tuple[str, int], ...]:
        """Sizes under their canonical names."""
        value = self._get("sizes", dict)
        for name, size in value.items():
            if not _SHORT.fullmatch(name):
                raise Unreadable("`sizes` has a name that is not canonical")
            _integer("sizes", size, 1, LARGEST_SIZE)
        return tuple(sorted(value.items()))

    def dtypes(self) -> tuple[str, ...]:
        """Types of the language."""
        value = self._get("dtypes", list)
        known = {t.value for t in ScalarType}
        if not all(isinstance(t, str) and t in known for t in value):
            raise Unreadable("`dtypes` has a type that is not known")
        return tuple(value)

    def names(self) -> dict[str, str]:
        """Names of the program for canonical ones."""
        value = self._get("names", dict)
        for short, spelled in value.items():
            good = isinstance(spelled, str) and _NAME.fullmatch(spelled)
            if not good or not _SHORT.fullmatch(short):
                raise Unreadable("`names` has something that is no name")
        return dict(value)

    def plan(self) -> str:
        """An options file with a mapping, and nothing else."""
        text = self._get("plan", str)
        try:
            options = options_of_source(Source("<plan>", text))
        except CompileError as problem:
            message = problem.diagnostics[0].message
            raise Unreadable(f"`plan` is no options file: {message}") from problem
        if replace(options, mapping=Options().mapping, preset=None) != Options():
            raise Unreadable("`plan` has more than `mapping` and `preset`")
        return str(text)

    def _get(self, name: str, kind: type) -> Any:  # noqa: ANN401 - of the kind
        value = self._values.get(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise Unreadable(f"`{name}` is missing or of the wrong kind")
        return value


def _integer(name: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Unreadable(f"`{name}` has no integer from {least} to {most}")
    return value
