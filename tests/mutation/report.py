"""What a campaign found, in a small file, and as the tables of docs/verification.md.

    python -m tests.mutation.report mutants.jsonl

writes the small file from the data of a campaign; `make docs` makes the tables of it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.mutation.reasons import Reason
from tests.mutation.survivors import Change, Reading, known

RESULTS = Path(__file__).with_name("results.json")
_FOUND = ("CHECK", "VALUES", "REJECTED")
SURVIVED = "SURVIVED"


def summarise(data: Path) -> dict[str, Any]:
    """Counts by operator and verdict, or reason; and the changes that nothing explains."""
    records = [json.loads(line) for line in data.read_text().splitlines()]
    counts: dict[str, Counter[str]] = {}
    for record in records:
        verdict = record["verdict"]
        kind = (record.get("reason") or SURVIVED) if verdict == SURVIVED else verdict
        counts.setdefault(record["operator"], Counter())[kind] += 1
    left = {
        (program(r["subject"]), r["operator"], r["before"], r["after"])
        for r in records
        if r["verdict"] == SURVIVED and not r.get("reason")
    }
    return {
        "programs": len({program(r["subject"]) for r in records}),
        "texts": len({r["text"] for r in records}),
        "counts": {name: dict(sorted(counts[name].items())) for name in sorted(counts)},
        "left": sorted(left),
    }


def program(subject: str) -> str:
    """The program that a subject was made from."""
    return subject.split(",", maxsplit=1)[0].split(" at ", maxsplit=1)[0]


def _results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def rows_by_operator() -> list[tuple[str, ...]]:
    """Mutants of each kind: all, found by checks, by values, rejected, equal, neither."""
    counts: dict[str, dict[str, int]] = _results()["counts"]
    rows = [(name.replace("_", " "), *_row(Counter(found))) for name, found in counts.items()]
    total: Counter[str] = sum((Counter(found) for found in counts.values()), Counter())
    return [*rows, ("all", *_row(total))]


def _row(found: Counter[str]) -> tuple[str, ...]:
    equal = sum(n for kind, n in found.items() if kind in Reason.__members__)
    shown = (*(found[kind] for kind in _FOUND), equal, found[SURVIVED])
    return tuple(str(n) for n in (found.total(), *shown))


def rows_by_reason() -> list[tuple[str, str]]:
    """What is known of the mutants that change nothing."""
    counts: dict[str, dict[str, int]] = _results()["counts"]
    total: Counter[str] = sum((Counter(found) for found in counts.values()), Counter())
    return [(str(total[r.name]), r.value) for r in Reason if total[r.name]]


def rows_of_survivors() -> list[tuple[str, ...]]:
    """The changes that no run explains, with the sentence of whoever read the kernel."""
    return [
        (
            change.program,
            f"`{_short(change.before)}`",
            f"`{_short(change.after)}`",
            f"missed: {reading.reason}" if reading.missed else reading.reason,
        )
        for change, reading in _left()
    ]


def _left() -> list[tuple[Change, Reading]]:
    """Missed ones last."""
    readings = known()
    left = [Change(*entry) for entry in _results()["left"]]
    return sorted(((c, readings[c]) for c in left), key=lambda pair: pair[1].missed)


def _short(text: str) -> str:
    return text if len(text) <= 90 else f"{text[:87]}..."


def in_words() -> str:
    """What was judged."""
    results = _results()
    count = sum(n for found in results["counts"].values() for n in found.values())
    left = _left()
    missed = sum(reading.missed for _, reading in left)
    return (
        f"{count} mutants of {results['texts']} emitted texts of {results['programs']} programs of "
        "`specs/`, at open and at fixed sizes, with default plans and with three buffers, sm_90; "
        f"two x86-64 cores, g++ 12. What is left are {len(left)} different changes: "
        f"{len(left) - missed} change nothing, as reading shows; {missed or 'none'} "
        f"{'is' if missed <= 1 else 'are'} missed:\n"
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    found = summarise(parser.parse_args().data)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
