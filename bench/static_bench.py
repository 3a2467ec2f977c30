"""The static benchmark: default plans compiled, disassembled, counted, and held against the bars.

    python -m bench.static_bench [--arch sm_90 ...] [--json FILE] [--write-docs] [WORKLOAD ...]

Needs NVRTC or nvcc, and `cuobjdump`; no GPU. Exits with 1 when a bar is missed, with 4 when a tool
is missing.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.bars import BARS
from bench.figures import Figures, Measured, measure_all
from bench.tables import markdown, plain, replace_part
from bench.workloads import ROOT, WORKLOADS, workload
from tcc.errors import ToolchainError
from tcc.run.disassemble import compiler_name
from tcc.run.mixes import Mix

ARCHS = ("sm_80", "sm_90")
DOCUMENT = ROOT / "docs" / "performance.md"
HEAD = (
    "workload",
    "kernel",
    "grid",
    "block",
    "registers",
    "shared bytes",
    "FFMA %",
    "FFMA per LDS",
    "LDG",
    "LDS",
    "STG",
    "barriers per k-tile",
    "resident warps",
    "warps at this grid",
    "padded %",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    given = _parser().parse_args(arguments)
    chosen = [workload(n) for n in given.workloads] or list(WORKLOADS)
    try:
        compiler = compiler_name()
        found = measure_all(chosen, given.arch)
    except ToolchainError as problem:
        sys.stderr.write(str(problem))
        return 4
    for arch in given.arch:
        here = [m for m in found if m.target == arch]
        sys.stdout.write(f"{arch}, {compiler}\n\n{plain(HEAD, rows(here))}\n")
    missed = misses(found)
    sys.stdout.write("".join(f"missed: {line}\n" for line in missed))
    if given.json:
        Path(given.json).write_text(json.dumps(data(found, compiler), indent=1) + "\n")
    if given.write_docs:
        write_documents(found, compiler)
    return 1 if missed else 0


def misses(found: Sequence[Measured]) -> list[str]:
    """The bars that are missed, with figures."""
    return [
        f"{m.workload.name} on {m.target}: {bar.text(m)}"
        for m in found
        for bar in BARS
        if bar.workload == m.workload.name and not bar.holds(m)
    ]


def rows(found: Sequence[Measured]) -> list[list[str]]:
    """The table: one line a kernel."""
    return [_row(f) for m in found for f in (*m.kernels, *m.fast)]


def _row(f: Figures) -> list[str]:
    mix = f.counted
    return [
        f.workload,
        f.kernel,
        " x ".join(map(str, f.grid)),
        " x ".join(map(str, f.block)),
        f"{f.registers}" + (f" + {f.local_bytes} B local" if f.local_bytes else ""),
        str(f.shared_bytes),
        f"{100 * mix.fma_share:.1f}" if mix.count("FFMA") else "",
        f"{mix.fma_per_load:.1f}" if mix.fma_per_load else "",
        *(_widths(f.whole, name) for name in ("LDG", "LDS", "STG")),
        f"{f.barriers:.3g}" if f.barriers is not None else "",
        str(f.resident_warps),
        str(f.launched_warps),
        f"{100 * f.padded_lanes:.1f}" if f.padded_lanes is not None else "",
    ]


def _widths(mix: Mix, name: str) -> str:
    return ", ".join(f"{n} of {bits}" for bits, n in reversed(mix.widths(name).items()))


def data(found: Sequence[Measured], compiler: str) -> dict[str, Any]:
    """Everything, as plain data."""
    return {
        "compiler": compiler,
        "workloads": [
            {
                "name": m.workload.name,
                "program": m.workload.program,
                "sizes": m.workload.all_sizes,
                "target": m.target,
                "plan": m.plan.text(),
                "kernels": [dataclasses.asdict(f) for f in m.kernels],
                "fast": [dataclasses.asdict(f) for f in m.fast],
                "bars": [
                    {"what": b.what, "value": b.figure(m), "limit": b.limit, "holds": b.holds(m)}
                    for b in BARS
                    if b.workload == m.workload.name
                ],
            }
            for m in found
        ],
    }


def write_documents(found: Sequence[Measured], compiler: str) -> None:
    """The tables of docs/performance.md."""
    text = DOCUMENT.read_text("utf-8")
    for arch in dict.fromkeys(m.target for m in found):
        here = [m for m in found if m.target == arch]
        table = (
            f"\nCounted in the output of {compiler} for `{arch}`.\n\n{markdown(HEAD, rows(here))}"
        )
        text = replace_part(text, f"static {arch}", table)
    text = replace_part(text, "bars", markdown(("workload", "figure", *ARCHS), _bar_rows(found)))
    DOCUMENT.write_text(text, "utf-8")


def _bar_rows(found: Sequence[Measured]) -> list[list[str]]:
    by_name = {(m.workload.name, m.target): m for m in found}
    result: list[list[str]] = []
    for bar in BARS:
        sign = "at least" if bar.at_least else "at most"
        cells = [by_name.get((bar.workload, arch)) for arch in ARCHS]
        values = ["" if m is None else _judged(bar.figure(m), bar.holds(m)) for m in cells]
        result.append([bar.workload, f"{bar.what}: {sign} {bar.limit:g}", *values])
    return sorted(result, key=lambda r: [w.name for w in WORKLOADS].index(r[0]))


def _judged(value: float, holds: bool) -> str:
    return f"{value:.4g}" if holds else f"**{value:.4g}, missed**"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.static_bench", description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--arch", nargs="+", default=list(ARCHS), metavar="sm_NN")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--write-docs", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
