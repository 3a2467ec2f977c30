"""Mutates every emitted kernel of specs, and writes down what became of each mutant.

    python -m tests.mutation.campaign --each 3 --seed 0 --data mutants.jsonl

A line for each mutant. A run that was interrupted goes on where it stopped: mutants of the same
text that the file has are not judged again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tcc.run.cache import ObjectCache
from tests.mutation.evidence import evidence
from tests.mutation.judge import Subject, Verdict, fixed_subject, judge, open_subject
from tests.mutation.mutants import Mutant, some_mutants

SPECS = Path(__file__).parents[2] / "specs"
ASYNCHRONOUS = ("gemm", "batch_matmul")
"""Programs that are also taken with three buffers, which asynchronous copies fill."""

Key = tuple[str, str, int, str]


def subjects(cache: ObjectCache, only: list[str]) -> Iterator[Subject]:
    """Every program of specs, at open sizes, then at fixed ones."""
    paths = [p for p in sorted(SPECS.glob("*.tc")) if not only or p.stem in only]
    kinds: tuple[Callable[..., Subject], ...] = (open_subject, fixed_subject)
    for kind in kinds:
        for path in paths:
            yield kind(path, cache)
            if path.stem in ASYNCHRONOUS:
                yield kind(path, cache, depth=3)


def run(data: Path, each: int, seed: int, only: list[str]) -> None:
    """Judge the chosen mutants that `data` does not have, and add them to it."""
    known = _known(data)
    with tempfile.TemporaryDirectory(prefix="tcc-mutants-") as name:
        cache = ObjectCache(Path(name))
        for subject in subjects(cache, only):
            text = subject.artifact.cuda_source
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            chance = random.Random(f"{seed} {subject.name}")
            for mutant in some_mutants(text, each, chance):
                if (digest, mutant.operator, mutant.line, mutant.after) not in known:
                    _add(data, _record(subject, digest, mutant, cache))
                    _forget_programs(cache)


def _known(data: Path) -> set[Key]:
    if not data.exists():
        return set()
    records = map(json.loads, data.read_text().splitlines())
    return {(r["text"], r["operator"], r["line"], r["after"]) for r in records}


def _forget_programs(cache: ObjectCache) -> None:
    """Of mutants: nobody needs them again, and there are thousands."""
    for program in cache.directory.rglob("*.exe"):
        program.unlink()


def _record(
    subject: Subject, digest: str, mutant: Mutant, cache: ObjectCache
) -> dict[str, str | int]:
    verdict, words = judge(subject, mutant, cache)
    reason = evidence(subject, mutant, cache) if verdict is Verdict.SURVIVED else None
    return {
        "subject": subject.name,
        "text": digest,
        "operator": mutant.operator,
        "line": mutant.line,
        "before": mutant.before,
        "after": mutant.after,
        "verdict": verdict.name,
        "words": words[:200],
        "reason": "" if reason is None else reason.name,
    }


def _add(data: Path, record: dict[str, str | int]) -> None:
    with data.open("a") as file:
        file.write(json.dumps(record) + "\n")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--each", type=int, default=1, help="of each kind in each kernel")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("only", nargs="*", help="names of programs; all when none is given")
    arguments = parser.parse_args()
    run(arguments.data, arguments.each, arguments.seed, arguments.only)


if __name__ == "__main__":
    main()
