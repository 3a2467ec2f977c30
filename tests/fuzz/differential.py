"""Random programs under random plans, in the checking build, at their sizes and at awkward ones.

    python -m tests.fuzz.differential --first 0 --count 2000 --data differential.jsonl

A line for each seed, which repeats the experiment. A run that was interrupted goes on where it
stopped. What goes wrong is reduced and saved in `tests/fuzz/kernels`, where a test replays it.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from tests.fuzz.experiment import FOLDER, Experiment, drawn, fault
from tests.fuzz.reduce import reduced

AWKWARD = 3


def run(data: Path, first: int, count: int) -> None:
    """Run the seeds that `data` does not have, and add them to it."""
    known = {json.loads(line)["seed"] for line in data.open()} if data.exists() else set()
    for seed in range(first, first + count):
        if seed not in known:
            began = time.process_time()
            found = judged(seed, FOLDER)
            record = {"seed": seed, "fault": found, "cpu_s": round(time.process_time() - began, 2)}
            with data.open("a") as file:
                file.write(json.dumps(record) + "\n")


def judged(seed: int, folder: Path, awkward: int = AWKWARD) -> str | None:
    """What goes wrong in the experiment of a seed; the reduced one is saved in a folder."""
    made = drawn(seed)
    found = fault(made, awkward)
    if found is None:
        return None

    def is_faulty(smaller: Experiment) -> bool:
        return fault(smaller, awkward) == found

    reduced(made, is_faulty).save(folder, f"seed_{seed}")
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    arguments = parser.parse_args()
    run(arguments.data, arguments.first, arguments.count)


if __name__ == "__main__":
    main()
