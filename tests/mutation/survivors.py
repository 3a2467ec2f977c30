"""The changes that no run explains: each was read in its kernel, and has a sentence.

They are in survivors.json, which docs/verification.md shows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("survivors.json")


@dataclass(frozen=True)
class Change:
    """A line of a program's kernel, before and after a change of some kind."""

    program: str
    operator: str
    before: str
    after: str


@dataclass(frozen=True)
class Reading:
    """What whoever read the kernel says: why the change changes nothing, or how it was missed."""

    missed: bool
    reason: str


def known() -> dict[Change, Reading]:
    """What was read of each of the listed changes."""
    entries = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        Change(e["program"], e["operator"], e["before"], e["after"]): Reading(
            e["missed"], e["reason"]
        )
        for e in entries
    }
