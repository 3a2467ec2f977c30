"""How long tcc itself takes: CPU time of fresh processes, and of scheduling.

    python -m bench.compile_time [--runs 5] [--json FILE] [--write-docs]

CPU time is user and system time of the process and its children, which other load on the machine
changes less than the time that passes. Exits with 1 when a limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.tables import markdown, plain, replace_part
from bench.workloads import ROOT, SPECS
from tcc.driver import Request, compile_program
from tcc.options import Options
from tcc.source import Source
from tcc.target import DEFAULT_TARGET, TARGETS

DOCUMENT = ROOT / "docs" / "performance.md"
HEAD = ("what", "least", "median", "most", "limit")
RUNS = 5
SLOWEST = 3
"""Of the programs of `specs/`, those that are run again and reported."""

MLP4 = """
def mlp4(float(B, M) I, float(M, N) W1, float(N) B1, float(O, N) W2, float(O) B2,
         float(P, O) W3, float(P) B3, float(Q, P) W4, float(Q) B4) -> (O1, O2, O3, O4) {
    O1(b, n) +=! I(b, m) * W1(m, n)
    O1(b, n) = relu(O1(b, n) + B1(n))
    O2(b, o) +=! O1(b, n) * W2(o, n)
    O2(b, o) = relu(O2(b, o) + B2(o))
    O3(b, p) +=! O2(b, o) * W3(p, o)
    O3(b, p) = relu(O3(b, p) + B3(p))
    O4(b, q) +=! O3(b, p) * W4(q, p)
    O4(b, q) = relu(O4(b, q) + B4(q))
}
"""


@dataclass(frozen=True)
class Timing:
    """CPU seconds of several runs, and what their median may be at most."""

    what: str
    seconds: tuple[float, ...]
    limit: float

    @property
    def median(self) -> float:
        """The median run."""
        return statistics.median(self.seconds)

    @property
    def ok(self) -> bool:
        """Whether the median is within the limit."""
        return self.median <= self.limit

    def row(self) -> list[str]:
        """The line of the table."""
        numbers = (min(self.seconds), self.median, max(self.seconds), self.limit)
        return [self.what, *(f"{n:.3f} s" for n in numbers)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    given = _parser().parse_args(arguments)
    found = list(timings(given.runs))
    rows = [t.row() for t in found]
    sys.stdout.write(plain(HEAD, rows))
    if given.json:
        Path(given.json).write_text(json.dumps([asdict(t) for t in found], indent=1) + "\n")
    if given.write_docs:
        text = DOCUMENT.read_text("utf-8")
        DOCUMENT.write_text(replace_part(text, "compile time", markdown(HEAD, rows)), "utf-8")
    missed = [t.what for t in found if not t.ok]
    sys.stdout.write("".join(f"too slow: {what}\n" for what in missed))
    return 1 if missed else 0


def timings(runs: int) -> Iterator[Timing]:
    """Everything that has a limit."""
    yield _repeated("`tcc --help`, over the start of Python", help_seconds, 0.15, runs)
    gemm = SPECS / "gemm.tc"
    yield _repeated("`tcc compile specs/gemm.tc`", lambda: compilation(gemm), 1.0, runs)
    yield from slowest_specs(runs)
    yield _repeated("schedule of four layers of a perceptron", _mlp_schedule, 0.3, runs)
    yield _repeated("schedule of `specs/lstm_cell.tc`", _lstm_schedule, 0.3, runs)


def slowest_specs(runs: int) -> Iterator[Timing]:
    """The programs of `specs/`, with their options files, that take the longest."""
    programs = sorted(SPECS.glob("*.tc"))
    first = {p: compilation(p, p.with_suffix(".yaml")) for p in programs}
    for path in sorted(programs, key=lambda p: -first[p])[:SLOWEST]:
        options = path.with_suffix(".yaml")
        again = tuple(compilation(path, options) for _ in range(runs - 1))
        yield Timing(f"`tcc compile specs/{path.name}`", (first[path], *again), 3.0)


def compilation(path: Path, options: Path | None = None) -> float:
    """CPU seconds of `tcc compile` in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        extra = () if options is None else ("--options", str(options))
        return cpu_seconds("compile", str(path), "-o", str(Path(folder) / "out.cu"), *extra)


def help_seconds() -> float:
    """CPU seconds of `tcc --help` beyond those of an empty program."""
    return cpu_seconds("--help") - _process_seconds([sys.executable, "-c", ""])


def cpu_seconds(*arguments: str) -> float:
    """CPU seconds of a fresh `tcc` with these arguments. RuntimeError when it fails."""
    return _process_seconds([sys.executable, "-m", "tcc", *arguments])


def _process_seconds(command: list[str]) -> float:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` exits with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def schedule_seconds(text: str) -> float:
    """CPU seconds of the pass `schedule` with open sizes, here and in its worker process."""
    return _seconds_until(text, "schedule") - _seconds_until(text, "split")


def _seconds_until(text: str, last: str) -> float:
    request = Request(Source("<text>", text), None, {}, Options(), TARGETS[DEFAULT_TARGET])
    start = _used()
    compile_program(request, stop_after=last)
    return _used() - start


def _used() -> float:
    """CPU seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


def _mlp_schedule() -> float:
    return schedule_seconds(MLP4)


def _lstm_schedule() -> float:
    return schedule_seconds((SPECS / "lstm_cell.tc").read_text())


def _repeated(what: str, once: Callable[[], float], limit: float, runs: int) -> Timing:
    return Timing(what, tuple(once() for _ in range(runs)), limit)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.compile_time", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--write-docs", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
