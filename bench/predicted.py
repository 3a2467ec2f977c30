"""Predicted times of the programs that Tensor Comprehensions was published with: of the default
plan, of the options that were tuned for them in 2018, and of the best plan of a search.

    python -m bench.predicted [--arch sm_90] [--time SECONDS] [--json FILE] [--write-docs] [NAME]

Needs no GPU: every time is a prediction of `tcc.tune.model`. With `--json FILE` rows that the file
has are not computed again, so that a run can be continued; `--time 0` leaves the search out. With
names, `--write-docs` replaces the rows of these programs only, `--time 0` by ones without a search.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.tables import markdown, part_of, plain, replace_part, rows_of
from bench.workloads import ROOT
from tcc.api import request_of
from tcc.driver import Request, compile_program
from tcc.errors import CompileError
from tcc.inputs import options_of_data
from tcc.options import Options
from tcc.source import Source
from tcc.target import DEFAULT_TARGET, TARGETS
from tcc.tune.devices import Where, placed
from tcc.tune.model import predict_time
from tcc.tune.session import Asked, tune
from tcc.tune.tuner import Tried

DOCUMENT = ROOT / "docs" / "performance.md"
SETS = ROOT / "tests" / "cases" / "options_benchmarks.yaml"
SEARCH_S = 60.0
HEAD = (
    "program",
    "sizes",
    "default",
    "options of 2018",
    "best of search",
    "default / best",
    "tried",
)
KEYS = 2
"""Columns that say what a row is about."""
SEED = 1


@dataclass(frozen=True)
class Row:
    """Predicted microseconds; `best_us` and `tried` are None without a search."""

    name: str
    arch: str
    program: str
    sizes: Mapping[str, int]
    default_us: float
    published_us: float | None
    best_us: float | None
    tried: int | None
    seconds: float

    def cells(self) -> list[str]:
        """The line of the table."""
        best, tried = self.best_us, self.tried
        return [
            self.program,
            " ".join(f"{n}={v}" for n, v in self.sizes.items()),
            _us(self.default_us),
            "rejected" if self.published_us is None else _us(self.published_us),
            "" if best is None else _us(best),
            "" if best is None else f"{self.default_us / best:.2f}",
            "" if tried is None else str(tried),
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    given = _parser().parse_args(arguments)
    kept = Path(given.json) if given.json else None
    known = _known(kept)
    rows: list[Row] = []
    for entry in _entries(given.names):
        row = known.get((entry["name"], given.arch, given.time))
        if row is None:
            row = measure(entry, given.arch, given.time)
        rows.append(row)
        known[row.name, row.arch, row.seconds] = row
        if kept is not None:
            kept.write_text(json.dumps([asdict(r) for r in known.values()], indent=1) + "\n")
        sys.stdout.write(plain(HEAD, [row.cells()]).splitlines()[-1] + "\n")
        sys.stdout.flush()
    if given.write_docs:
        text = DOCUMENT.read_text("utf-8")
        caption = _caption(given.arch, given.time)
        old = part_of(text, "predicted").strip().splitlines()[0]
        if given.names and old != caption and (given.time or not old.startswith(caption[:-1])):
            sys.stderr.write(f"error: the other rows are: {old}\n")
            return 2
        caption = old if given.names else caption
        DOCUMENT.write_text(documented(text, rows, caption, partly=bool(given.names)), "utf-8")
    return 0


def documented(text: str, rows: Sequence[Row], caption: str, *, partly: bool) -> str:
    """The document with these rows; `partly`: in the place of those that they are about."""
    lines = [r.cells() for r in rows]
    if partly:
        new = {tuple(line[:KEYS]): line for line in lines}
        old = rows_of(part_of(text, "predicted"))
        lines = [new.get(tuple(line[:KEYS]), line) for line in old]
    return replace_part(text, "predicted", f"\n{caption}\n\n{markdown(HEAD, lines)}")


def measure(entry: Mapping[str, Any], arch: str, seconds: float) -> Row:
    """Everything about one program at its sizes."""
    plain_request = request(entry, {}, arch)
    default = _predicted(plain_request)
    if default is None:
        raise ValueError(f"{entry['name']} does not compile")
    best, tried = _searched(plain_request, seconds) if seconds else (None, None)
    published = _predicted(request(entry, {"mapping": entry["mapping"]}, arch))
    program = Path(entry["program"]).stem
    sizes = dict(entry["sizes"])
    return Row(entry["name"], arch, program, sizes, default, published, best, tried, seconds)


def request(entry: Mapping[str, Any], options: Mapping[str, Any], arch: str) -> Request:
    """The program of an entry at its sizes."""
    path = ROOT / entry["program"]
    chosen = options_of_data("<options>", options) if options else Options()
    return request_of(Source(path.name, path.read_text()), None, entry["sizes"], chosen, arch)


def _predicted(asked: Request) -> float | None:
    try:
        return predict_time(compile_program(asked), asked.target).time_us
    except CompileError:
        return None


class _Silent:
    """Watches a search and says nothing."""

    def tried(self, one: Tried, best: Tried | None) -> None:
        """Nothing to say."""

    def tick(self) -> None:
        """Nothing to say."""


def _searched(asked: Request, seconds: float) -> tuple[float | None, int]:
    """The best verified plan of a search, and how many candidates came back."""
    end = time.monotonic() + seconds
    found = tune(placed(asked, Where()), Asked(end=end, seed=SEED), _Silent())
    return None if found.best is None else found.best.time_us, len(found.tried)


def _entries(names: Sequence[str]) -> list[dict[str, Any]]:
    """The published sets; those whose name contains one of `names`."""
    table: list[dict[str, Any]] = yaml.safe_load(SETS.read_text())
    return [e for e in table if not names or any(n in e["name"] for n in names)]


def _known(file: Path | None) -> dict[tuple[str, str, float], Row]:
    if file is None or not file.exists():
        return {}
    rows = [Row(**data) for data in json.loads(file.read_text())]
    return {(r.name, r.arch, r.seconds): r for r in rows}


def _caption(arch: str, seconds: float) -> str:
    board = TARGETS[arch].board
    search = f"; searches of {seconds:g} s with one process and seed {SEED}" if seconds else ""
    return f"Predicted for `{arch}` ({board}), none measured{search}."


def _us(time_us: float) -> str:
    return f"{time_us:.3g} us" if time_us < 1000 else f"{time_us:.0f} us"  # noqa: PLR2004


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.predicted", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--arch", default=DEFAULT_TARGET, metavar="sm_NN")
    parser.add_argument("--time", type=float, default=SEARCH_S, metavar="SECONDS")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--write-docs", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
