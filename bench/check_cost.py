"""What `--check` costs: CPU time of the checking build beside that of the fast build.

    python -m bench.check_cost [--write-docs] [NAME]

CPU time of the processes that execute the kernels, in one process each, the best of five runs: it
says little about other machines, but other work on this one does not change it much. Compiling is
not counted.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.tables import markdown, plain, replace_part
from bench.workloads import ROOT, SPECS
from tcc.api import compile as tcc_compile
from tcc.inputs import options_of_source, read_source
from tcc.run.host import HostDevice
from tcc.run.verify_inputs import Style, draw, find_domain

DOCUMENT = ROOT / "docs" / "verification.md"
HEAD = ("program", "sizes", "fast, ms", "check, ms", "times")
MOST = 12.0
"""What a check may cost, as a multiple of the fast build."""
RUNS = 5
WORKLOADS: tuple[tuple[str, Mapping[str, int]], ...] = (
    ("gemm", {"M": 256, "N": 256, "K": 256}),
    ("gemm", {"M": 512, "N": 512, "K": 512}),
    ("conv2d", {"N": 4, "C": 32, "M": 32, "H": 34, "W": 34, "KH": 3, "KW": 3}),
    ("softmax", {"N": 2048, "D": 1024}),
    ("softmax", {"N": 4096, "D": 257}),
    ("layer_norm", {"N": 2048, "D": 1024}),
    ("full_reduction", {"N": 1 << 22}),
    ("max_pool", {"N": 8, "C": 32, "H": 64, "W": 64}),
    ("lut", {"B": 1024, "D": 64, "L": 20, "E": 1000}),
    ("transposed_batch_matmul", {"B": 50, "N": 26, "M": 72, "K": 26}),
    ("lstm_cell", {"B": 64, "D": 256, "H": 256}),
)
"""Programs that differ in what a check watches: shared memory, rows, shuffles, gathers."""


@dataclass(frozen=True)
class Row:
    """CPU seconds of both builds."""

    name: str
    sizes: Mapping[str, int]
    fast_s: float
    check_s: float

    @property
    def times(self) -> float:
        """How much longer the check takes."""
        return self.check_s / self.fast_s

    def cells(self) -> list[str]:
        """The line of the table."""
        sizes = " ".join(f"{name}={value}" for name, value in self.sizes.items())
        return [
            self.name,
            sizes,
            f"{1e3 * self.fast_s:.1f}",
            f"{1e3 * self.check_s:.1f}",
            f"{self.times:.1f}",
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 when a check costs more than it may."""
    given = _parser().parse_args(arguments)
    rows = []
    for name, sizes in WORKLOADS:
        if not given.names or name in given.names:
            rows.append(measure(name, sizes))
            sys.stdout.write(plain(HEAD, [rows[-1].cells()]).splitlines()[-1] + "\n")
            sys.stdout.flush()
    if given.write_docs:
        table = "\n" + markdown(HEAD, [row.cells() for row in rows]) + "\n"
        text = DOCUMENT.read_text("utf-8")
        DOCUMENT.write_text(replace_part(text, "check_cost", table), "utf-8")
    return int(any(row.times > MOST for row in rows))


def measure(name: str, sizes: Mapping[str, int]) -> Row:
    """One program at its sizes. ValueError when the check finds something."""
    path = SPECS / f"{name}.tc"
    options = replace(options_of_source(read_source(path.with_suffix(".yaml"))), sizes=sizes)
    kernel = tcc_compile(path, options=options)
    program = kernel.compilation.program
    if program is None:
        raise ValueError(f"{name} is not compiled")
    arrays = draw(find_domain(program, sizes, options.verify.inputs), Style.NORMAL, 0)
    fast, check = HostDevice(workers=1), HostDevice(workers=1, check=True)
    if check.check(kernel.artifact, arrays, {}).findings:
        raise ValueError(f"the check of {name} finds something")
    fast.run(kernel.artifact, arrays, {})
    return Row(
        name,
        sizes,
        _best(lambda: fast.run(kernel.artifact, arrays, {})),
        _best(lambda: check.run(kernel.artifact, arrays, {})),
    )


def _best(run: Callable[[], object]) -> float:
    """Least CPU time of the processes that a run starts, in seconds."""
    times = []
    for _ in range(RUNS):
        before = _children_s()
        run()
        times.append(_children_s() - before)
    return min(times)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.check_cost", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these programs")
    parser.add_argument("--write-docs", action="store_true", help="write the table to the document")
    return parser


if __name__ == "__main__":
    sys.exit(main())
