"""Whether a wrong kernel is caught: by the checking build, or by its values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tcc.api import Kernel, request_of
from tcc.api import compile as tcc_compile
from tcc.artifact import Artifact
from tcc.driver import Compilation, compile_program
from tcc.errors import CompileError, RunError, ToolchainError
from tcc.frontend import tir
from tcc.inputs import options_of_source, read_source
from tcc.options import Options
from tcc.run.cache import ObjectCache
from tcc.run.findings import FindingsError
from tcc.run.host import HostDevice, Order
from tcc.run.host_build import FLAGS, QUICK, SHIM, Flavour, glue_text
from tcc.run.toolchain import find_cxx
from tcc.run.verify import REPEATED, STYLES
from tcc.run.verify_extremes import draws, longest
from tcc.run.verify_inputs import Style, draw, find_domain, free_floats
from tcc.run.verify_sizes import awkward_sizes, turns_in_flight
from tcc.run.verify_turns import FEW_BLOCKS, with_few_blocks
from tcc.source import Source
from tcc.target import GRID_LIMITS
from tests.mutation.mutants import Mutant

TOLERANCE = 1e-5
"""Of the largest element: a changed order of additions rounds otherwise, a missing one shows."""
TIMEOUT_S = 20.0
MANY = 30_000
"""Sizes above this are there for grids that have too few blocks."""

_GRID_LIMIT = re.compile(rf"\b{GRID_LIMITS[1]}\b")
_SEEN_BY_VALUES = ("drop_accumulator", "change_shuffle", "swap_statements", "shift_bound")
"""What runs show most cheaply without checks."""
_CHECKED: dict[str, Any] = {"check": True}
_HASTY: dict[str, Any] = {"check": True, "flavour": Flavour(("-O0",))}
"""Kernels are compiled in a fraction of the time, a tenth of large ones, and run slowly."""
_FEW_RUNS = 2
"""At either end of the list: what most mutants show in."""
_QUICK: dict[str, Any] = {"order": Order.REVERSE, "flavour": QUICK}

Arrays = Mapping[str, np.ndarray]


class Verdict(Enum):
    """What became of a mutant."""

    REJECTED = "the compiler rejects it"
    CHECK = "found by the checking build"
    VALUES = "found by its values"
    SURVIVED = "not found"


@dataclass(frozen=True)
class Run:
    """Inputs, sizes of the launcher, the only blocks that run, what the unmutated kernel gives.

    `few`: in a grid that has too few blocks along y and z. `values`: of use
    for its values only, for others run the same way.
    """

    inputs: Arrays
    sizes: Mapping[str, int]
    blocks: Mapping[int, Sequence[int]]
    want: Arrays
    few: bool = False
    values: bool = False

    def artifact(self, whole: Artifact) -> Artifact:
        """What runs of an artifact."""
        return in_few_blocks(whole) if self.few else whole


@dataclass(frozen=True)
class Asked:
    """A run to make: sizes, how inputs are drawn, whether in a grid of few blocks."""

    sizes: Mapping[str, int]
    style: Style
    turn: int = 0
    few: bool = False


@dataclass(frozen=True)
class Subject:
    """An emitted kernel with the runs in which its mutants have to show."""

    name: str
    artifact: Artifact
    runs: tuple[Run, ...]

    @property
    def quick_runs(self) -> tuple[dict[str, Any], tuple[Run, ...]]:
        """All of them, to compare values."""
        return _QUICK, self.runs

    @property
    def checked_runs(self) -> tuple[dict[str, Any], tuple[Run, ...]]:
        """Those that differ in more than values, in the checking build."""
        return _CHECKED, tuple(r for r in self.runs if not r.values)

    @property
    def hasty_runs(self) -> tuple[dict[str, Any], tuple[Run, ...]]:
        """A few of those, first: most mutants show in them."""
        runs = self.checked_runs[1]
        return _HASTY, (*runs[:_FEW_RUNS], *runs[_FEW_RUNS:][-_FEW_RUNS:])

    @cached_property
    def machine_code(self) -> str:
        """What the compiler makes of the emitted text."""
        return machine_code(self.artifact, self.artifact.cuda_source)


def fixed_subject(path: Path, cache: ObjectCache, depth: int | None = None) -> Subject:
    """A program compiled for awkward sizes, at which pipelines wrap around.

    `depth`: with so many buffers in shared memory, which threads fill by asynchronous copies.
    """
    options = _options(path, depth)
    program = tcc_compile(path, options=replace(options, sizes={})).compilation
    sizes = _first(program)[0]
    kernel = tcc_compile(path, options=replace(options, sizes=sizes))
    name = f"{_name(path, depth)} at {_spelled(sizes)}"
    return _subject(name, kernel.artifact, path, [*_styles(sizes), *_turns(program, sizes)], cache)


def open_subject(path: Path, cache: ObjectCache, depth: int | None = None) -> Subject:
    """A program compiled for any sizes; run at those of its options, at multiples of four, which
    may have a kernel of their own, and at awkward ones as `tcc verify` does.
    """
    options = _options(path, depth)
    kernel = tcc_compile(path, options=replace(options, sizes={}))
    conditions = [c.expression for c in kernel.compilation.preconditions]
    first, rest = _first(kernel.compilation)
    even = {n: -(-v // 4) * 4 for n, v in first.items()}
    asked = _styles(first)
    if all(c.evaluate(even) >= 0 for c in conditions):
        asked += _styles(even)
    others = (options.sizes, *rest)
    asked += [Asked(s, STYLES[k % len(STYLES)]) for k, s in enumerate(others)]
    program = kernel.compilation.program
    assert program is not None
    asked += _turns(kernel.compilation, max((first, *rest), key=lambda s: longest(program, s)))
    asked += _in_few_blocks(path, options, kernel)
    return _subject(f"{_name(path, depth)} at open sizes", kernel.artifact, path, asked, cache)


def _styles(sizes: Mapping[str, int]) -> list[Asked]:
    return [Asked(sizes, style) for style in STYLES]


def _turns(found: Compilation, sizes: Mapping[str, int]) -> list[Asked]:
    """Those in which minima and maxima have their extreme at other places."""
    assert found.program is not None
    return [Asked(sizes, Style.WIDE, turn) for turn in range(draws(found.program, sizes))]


def _in_few_blocks(path: Path, options: Options, kernel: Kernel) -> list[Asked]:
    """Runs in which blocks take turns. With fewer blocks in its plan, the text is the same."""
    found = kernel.compilation
    assert found.program is not None
    assert found.plan is not None
    opened = replace(options, sizes={})
    request = with_few_blocks(request_of(read_source(path), None, {}, opened, None), found.plan)
    if request is None:
        return []
    few = compile_program(request)
    assert few.artifact is not None
    assert few.plan is not None
    mine, theirs = (_code(a) for a in (in_few_blocks(kernel.artifact), few.artifact))
    assert mine == theirs
    sizes = turns_in_flight(found.program, found.preconditions, few.plan, {})
    return [Asked(s, STYLES[k % len(STYLES)], few=True) for k, s in enumerate(sizes)]


def in_few_blocks(artifact: Artifact) -> Artifact:
    """An emitted text in a grid of few blocks along y and z."""
    return replace(artifact, cuda_source=_GRID_LIMIT.sub(str(FEW_BLOCKS), artifact.cuda_source))


def _code(artifact: Artifact) -> list[str]:
    return [x for x in artifact.cuda_source.split("\n") if not x.startswith("//")]


def _first(found: Compilation) -> tuple[dict[str, int], tuple[dict[str, int], ...]]:
    """The awkward sizes that show most, no multiples of four; and the others, cheap ones first."""
    assert found.program is not None
    assert found.plan is not None
    assert found.lowering is not None
    several = awkward_sizes(
        found.program, found.preconditions, found.plan, {}, REPEATED, 0, found.lowering.program
    )
    few = sorted(several, key=lambda s: max(s.values()) > MANY)
    chosen = few[min(4, sum(max(s.values()) <= MANY for s in several) - 1)]
    odd = {n: v + 1 if v > 4 and v % 4 == 0 else v for n, v in chosen.items()}
    holds = all(c.expression.evaluate(odd) >= 0 for c in found.preconditions)
    return odd if holds else chosen, tuple(s for s in few if s != chosen)


def _spelled(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{n}={v}" for n, v in sizes.items())


def _name(path: Path, depth: int | None) -> str:
    return path.stem if depth is None else f"{path.stem}, pipeline {depth},"


def _options(path: Path, depth: int | None = None) -> Options:
    beside = path.with_suffix(".yaml")
    options = options_of_source(Source(beside.name, beside.read_text()))
    if depth is None:
        return options
    return replace(options, mapping=replace(options.mapping, pipeline=depth))


def _subject(
    name: str,
    artifact: Artifact,
    path: Path,
    asked: list[Asked],
    cache: ObjectCache,
) -> Subject:
    options = _options(path)
    program = tcc_compile(path, options=replace(options, sizes={})).compilation.program
    assert program is not None
    runs = []
    limits = options.verify.inputs
    for seed, one in enumerate([*asked, *_infinite(program, limits, asked)]):
        domain = find_domain(program, one.sizes, limits)
        inputs = draw(domain, one.style, seed, one.turn)
        given = {n: one.sizes[n] for n in artifact.interface.symbolic}
        blocks = {} if one.few else _first_and_last(artifact, one.sizes)
        known = any(r.sizes == given and r.few == one.few for r in runs)
        run = Run(inputs, given, blocks, {}, one.few, known)
        want = device_of(run, cache, flavour=QUICK).run(run.artifact(artifact), inputs, given)
        runs.append(replace(run, want=want))
    return Subject(name, artifact, tuple(runs))


def _infinite(
    program: tir.Program, limits: Mapping[str, tuple[float, ...]], asked: list[Asked]
) -> list[Asked]:
    """The same sizes and grids, with each of the inputs infinite."""
    places = {(tuple(a.sizes.items()), a.few): a for a in asked}
    return [
        replace(one, style=Style.INFINITE, turn=turn)
        for one in places.values()
        for turn in range(len(free_floats(find_domain(program, one.sizes, limits))))
    ]


def _first_and_last(artifact: Artifact, sizes: Mapping[str, int]) -> Mapping[int, Sequence[int]]:
    """The blocks to run, by launch, where the grid has too few for the tiles; else all."""
    if max(sizes.values(), default=0) <= MANY:
        return {}
    grids = (launch.grid for launch in artifact.interface.launches)
    counts = [prod(g.evaluate(sizes) for g in grid) for grid in grids]
    return {k: (0, 1, count - 1) for k, count in enumerate(counts) if count > MANY}


def judge(subject: Subject, mutant: Mutant, cache: ObjectCache) -> tuple[Verdict, str]:
    """The first that catches a mutant, and its words."""
    artifact = replace(subject.artifact, cuda_source=mutant.text)
    ways = [subject.hasty_runs, subject.checked_runs]
    ways.insert(0 if mutant.operator in _SEEN_BY_VALUES else 1, subject.quick_runs)
    try:
        for settings, runs in ways:
            for run in runs:
                device = device_of(run, cache, **settings)
                got = device.run(run.artifact(artifact), run.inputs, run.sizes)
                for name, want in run.want.items():
                    if not is_same(got[name], want):
                        return Verdict.VALUES, name
    except FindingsError as problem:
        return Verdict.CHECK, problem.findings[0].kind.value
    except RunError as problem:
        return Verdict.VALUES, str(problem)
    except (ToolchainError, CompileError) as problem:
        return Verdict.REJECTED, str(problem)
    return Verdict.SURVIVED, ""


def device_of(run: Run, cache: ObjectCache, **settings: Any) -> HostDevice:
    """What makes a run."""
    return HostDevice(workers=1, blocks=run.blocks, timeout_s=TIMEOUT_S, cache=cache, **settings)


def machine_code(artifact: Artifact, text: str) -> str:
    """What the compiler makes of a text in place of the emitted one."""
    with TemporaryDirectory(prefix="tcc-") as name:
        folder = Path(name)
        (folder / "kernel.cu").write_text(text)
        (folder / "glue.cpp").write_text(glue_text(artifact.interface, text))
        arguments = [*FLAGS, "-w", "-I.", f"-I{SHIM}", "-S", "-o", "glue.s", "glue.cpp"]
        find_cxx().run(arguments, folder)
        return (folder / "glue.s").read_text()


def is_reached(subject: Subject, mutant: Mutant, cache: ObjectCache) -> bool:
    """Whether some thread comes to the changed line: a trap before it ends a run."""
    lines = subject.artifact.cuda_source.split("\n")
    at = mutant.line - 1
    while lines[at].lstrip().startswith(("#", "//", "}")):
        at += 1 if not lines[at].lstrip().startswith("}") else -1
    trapped = [*lines[:at], "__builtin_trap();", *lines[at:]]
    artifact = replace(subject.artifact, cuda_source="\n".join(trapped))
    try:
        for run in subject.runs:
            device = device_of(run, cache, flavour=QUICK)
            device.run(run.artifact(artifact), run.inputs, run.sizes)
    except (RunError, ToolchainError):
        return True
    return False


def is_same(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether two results differ by no more than rounding."""
    if want.dtype.kind in "iub":
        return bool(np.array_equal(got, want))
    one, other = got.astype(np.float64), want.astype(np.float64)
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return False
    with np.errstate(invalid="ignore"):
        scale = np.max(np.abs(other), initial=0.0, where=np.isfinite(other))
        close = (one == other) | (np.abs(one - other) <= TOLERANCE * scale) | np.isnan(other)
    return bool(close.all())
