"""Everything that needs a GPU, in one script: verification of `specs/` and times of workloads.

    python -m bench.gpu [--seconds 440] [--json FILE] [--write-docs]
    python -m bench.gpu --dry-run [--arch sm_90]

Times are of GPU events around one call, L2 flushed before it, tcc and the library in turns; the
median with the 10th and 90th percentile. Results are compared with the library's. `--dry-run`
needs no GPU: it lists the work and compiles all of it. Exits with 1 when something did not fit
into the time, 3 when a result is wrong, 4 when there is no GPU or a tool is missing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.gpu_times import HEAD, Timer, Times
from bench.tables import markdown, plain, replace_part
from bench.workloads import ROOT, SPECS, WORKLOADS
from tcc.api import Kernel, request_of
from tcc.api import compile as tcc_compile
from tcc.driver import Request
from tcc.errors import CompileError, ToolchainError
from tcc.inputs import options_of_source
from tcc.run.nvrtc import compile_cubin, version
from tcc.run.verify import verify
from tcc.source import Source

DOCUMENT = ROOT / "docs" / "performance.md"
SECONDS = 440.0
VERIFYING = 0.55
"""The part of the time after which the rest of `specs/` waits until the workloads are timed."""
AWKWARD = 2
"""Sizes besides those of the options file at which each program is verified."""
SEED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script; the exit code."""
    given = _parser().parse_args(arguments)
    try:
        if given.dry_run:
            return dry_run(given.arch)
        return _Session(given).run()
    except ToolchainError as problem:
        sys.stderr.write(str(problem))
        return 4


def dry_run(arch: str) -> int:
    """List the work, and compile all of it with NVRTC."""
    sys.stdout.write("NVRTC {}.{}\n".format(*version()))
    for what, kernel in _everything(arch):
        start = time.perf_counter()
        size = len(compile_cubin(kernel.cuda_source, arch))
        launches = ", ".join(_launch_text(kernel))
        took = time.perf_counter() - start
        sys.stdout.write(f"{what}: {size} bytes in {took:.2f} s; {launches}\n")
    return 0


def _everything(arch: str) -> Iterator[tuple[str, Kernel]]:
    for path in sorted(SPECS.glob("*.tc")):
        yield (
            f"verify {path.name}",
            tcc_compile(path, options=path.with_suffix(".yaml"), target=arch),
        )
    for workload in WORKLOADS:
        yield f"time {workload.name}", workload.compile(arch)


def _launch_text(kernel: Kernel) -> Iterator[str]:
    for launch in kernel.launches:
        grid, block = (" x ".join(map(str, v)) for v in (launch.grid, launch.block))
        yield f"{launch.kernel} ({grid}) of ({block})"


class _Session:
    """One run on the GPU, within its time."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._start = time.monotonic()
        self._timer = Timer()
        self._verdicts: dict[str, str] = {}
        self._times: list[Times] = []
        self._missing: list[str] = []

    def run(self) -> int:
        """Verify, time, verify what is left; report."""
        sys.stdout.write(f"{self._timer.description}\n\n")
        programs = sorted(SPECS.glob("*.tc"))
        left = self._verify_until(programs, VERIFYING * self._given.seconds)
        self._time_all()
        left = self._verify_until(left, self._given.seconds)
        self._missing += [f"{p.name} is not verified" for p in left]
        self._report()
        wrong = [n for n, v in self._verdicts.items() if v != "ok"]
        wrong += [t.workload for t in self._times if not t.right]
        return 3 if wrong else 1 if self._missing else 0

    def _verify_until(self, programs: list[Path], seconds: float) -> list[Path]:
        """Verify programs one by one; those that the time did not suffice for."""
        for at, path in enumerate(programs):
            if time.monotonic() - self._start > seconds:
                return programs[at:]
            verdict = _verified(_request(path, self._timer.arch))
            self._verdicts[path.name] = verdict
            sys.stdout.write(f"verify {path.name}: {verdict}\n")
            sys.stdout.flush()
        return []

    def _time_all(self) -> None:
        for workload in WORKLOADS:
            if time.monotonic() - self._start > self._given.seconds:
                self._missing.append(f"{workload.name} is not timed")
                continue
            self._times.append(self._timer.times(workload))
            sys.stdout.write(f"time {workload.name}: {self._times[-1].text()}\n")
            sys.stdout.flush()

    def _report(self) -> None:
        rows = [t.row() for t in self._times]
        sys.stdout.write("\n" + plain(HEAD, rows))
        sys.stdout.write("".join(f"{line}\n" for line in self._missing))
        if self._given.json:
            data = {
                "device": self._timer.description,
                "verified": self._verdicts,
                "times": [asdict(t) for t in self._times],
                "missing": self._missing,
            }
            Path(self._given.json).write_text(json.dumps(data, indent=1) + "\n")
        if self._given.write_docs:
            part = f"\nMeasured on {self._timer.description}.\n\n{markdown(HEAD, rows)}"
            text = DOCUMENT.read_text("utf-8")
            DOCUMENT.write_text(replace_part(text, "gpu times", part), "utf-8")


def _request(path: Path, arch: str) -> Request:
    beside = path.with_suffix(".yaml")
    options = options_of_source(Source(beside.name, beside.read_text("utf-8")))
    source = Source(path.name, path.read_text("utf-8"))
    return request_of(source, None, {}, options, arch)


def _verified(request: Request) -> str:
    """`ok`, or what went wrong."""
    try:
        outcome = verify(
            request, device="cuda", check=False, blocks=None, seed=SEED, awkward=AWKWARD
        )
    except CompileError as problem:
        return str(problem)
    return "ok" if outcome.ok else outcome.text()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.gpu", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--arch", default="sm_90", metavar="sm_NN")
    return parser


if __name__ == "__main__":
    sys.exit(main())
