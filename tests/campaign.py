"""Random programs under random plans against the oracle, for as long as it takes.

    python -m tests.campaign --pairs 20000 --seed 1 --data pairs.jsonl

A line for each subject: its number, the pairs that agreed, how long it took, and the file of the
failure, if any, which lies beside `--data`, and how many of its kernels have each of `traits`; at
the end the shares of all. A run that was interrupted goes on where it stopped.
`check_pairs(number, 5, ...)` repeats a failure, and shrinks it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tcc.run.cache import ObjectCache
from tests.random_pairs import Known, check_pairs

SPAN = 10**9
"""Numbers of subjects that belong to one seed; those of the test suite are below all of them."""


def run(data: Path, pairs: int, seed: int, plans: int) -> None:
    """Check subjects that `data` does not have, and add them to it, until it has enough pairs."""
    numbers, done = _state(data, seed)
    known = Known()
    with tempfile.TemporaryDirectory(prefix="tcc-campaign-") as name:
        cache = ObjectCache(Path(name))
        while done < pairs:
            record = _checked(seed * SPAN + numbers, plans, cache, known, data)
            with data.open("a") as file:
                file.write(json.dumps(record) + "\n")
            numbers, done = numbers + 1, done + int(str(record["pairs"]))


def _state(data: Path, seed: int) -> tuple[int, int]:
    """The next number after those of the seed, and how many pairs agreed so far."""
    if not data.exists():
        return 0, 0
    records = [json.loads(line) for line in data.read_text().splitlines()]
    numbers = [r["number"] - seed * SPAN for r in records if r["number"] // SPAN == seed]
    return max(numbers, default=-1) + 1, sum(r["pairs"] for r in records)


def shares(data: Path) -> str:
    """Lines: a trait, how many kernels have it, and how many of a hundred."""
    total = Counter[str]()
    for line in data.read_text().splitlines():
        total.update(json.loads(line).get("traits", {}))
    return "".join(f"{n:9}{v:7}{100 * v / total['kernels']:7.1f} %\n" for n, v in total.items())


def _checked(
    number: int, plans: int, cache: ObjectCache, known: Known, data: Path
) -> dict[str, object]:
    before, seen, start = len(known), Counter(known.traits), time.monotonic()
    failure = None
    try:
        check_pairs(number, plans, cache, known, shrink=False)
    except Exception:  # noqa: BLE001 - whatever it is, it is what the campaign looks for
        failure = data.with_name(f"{data.stem}-{number}.txt")
        failure.write_text(traceback.format_exc())
    return {
        "number": number,
        "pairs": len(known) - before,
        "seconds": round(time.monotonic() - start, 2),
        "failure": failure and failure.name,
        "traits": dict(known.traits - seen),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plans", type=int, default=5, help="of each program")
    arguments = parser.parse_args()
    if arguments.seed < 1:
        parser.error("the seed is 1 or more")
    run(arguments.data, arguments.pairs, arguments.seed, arguments.plans)
    sys.stdout.write(shares(arguments.data))


if __name__ == "__main__":
    main()
