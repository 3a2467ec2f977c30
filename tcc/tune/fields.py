"""Reads keys and measurements from values that anybody may have written; each is checked.

Text is printable: nothing in it can move the cursor of a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tcc.scalar import ScalarType
from tcc.tune.record import Key, Measurement, State

LONGEST_TEXT = 500
LARGEST_SIZE = 2**31 - 1
LONGEST_US = 1e15
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORT = re.compile(r"[fi][0-9]{1,6}")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")


class Unreadable(Exception):
    """Values that are no measurement; the message says why."""


def entry_of(values: Mapping[str, Any]) -> tuple[Key, Measurement]:
    """A measurement and its key. Unreadable when a field is missing or wrong.

    Whether the plan is an options file, and whether the target is known, is not looked at.
    """
    fields = Fields(values)
    key = Key(
        program=fields.text("program", lines=True),
        sizes=fields.sizes(),
        dtypes=fields.dtypes(),
        target=fields.matching("target", _NAME),
        emitter=fields.matching("emitter", _VERSION),
        names=fields.names(),
    )
    measurement = Measurement(
        plan=fields.text("plan", lines=True),
        time_us=fields.time("time_us"),
        p10_us=fields.time("p10_us"),
        p90_us=fields.time("p90_us"),
        predicted=fields.flag("predicted"),
        device=fields.text("device"),
        method=fields.text("method"),
        verified=fields.flag("verified"),
        state=State(fields.one_of("state", [s.value for s in State])),
        reason=fields.text("reason"),
        origin=fields.text("origin"),
    )
    if measurement.time_us is None and measurement.state is State.DONE:
        raise Unreadable("a measurement that is done has a time")
    if measurement.time_us is not None and not measurement.state.may_have_time:
        raise Unreadable("only a measurement that is done or pruned has a time")
    return key, measurement


def brief(text: str) -> str:
    """The beginning of a text, as a field may hold it."""
    return "".join(c if c.isprintable() else "?" for c in text[:LONGEST_TEXT])


class Fields:
    """Reads fields of an object, each with its type and bounds."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def text(self, name: str, *, lines: bool = False) -> str:
        """Printable text; with `lines` also long text in lines."""
        value = self._get(name, str)
        plain = value.replace("\n", "") if lines else value
        if not plain.isprintable():
            raise Unreadable(f"`{name}` has characters that cannot be printed")
        if len(value) > LONGEST_TEXT and not lines:
            raise Unreadable(f"`{name}` is longer than {LONGEST_TEXT} characters")
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
        if not number or not 0 < value < LONGEST_US:
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

    def _get(self, name: str, kind: type) -> Any:  # noqa: ANN401 - of the kind
        value = self._values.get(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise Unreadable(f"`{name}` is missing or of the wrong kind")
        return value


def _integer(name: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Unreadable(f"`{name}` has no integer from {least} to {most}")
    return value
