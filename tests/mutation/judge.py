"""Whether a wrong kernel is caught: by the checking build, or by its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tcc.api import compile as tcc_compile
from tcc.artifact import Artifact
from tcc.driver import Compilation
from tcc.errors import CompileError, RunError, ToolchainError
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.run.cache import ObjectCache
from tcc.run.findings import FindingsError
from tcc.run.host import HostDevice, Order
from tcc.run.host_build import FLAGS, SHIM, glue_text
from tcc.run.toolchain import find_cxx
from tcc.run.verify_inputs import Style, draw, find_domain
from tcc.run.verify_sizes import awkward_sizes
from tcc.source import Source
from tests.mutation.mutants import Mutant

TOLERANCE = 1e-5
"""Of the largest element: a changed order of additions rounds otherwise, a missing one shows."""
TIMEOUT_S = 20.0

Arrays = Mapping[str, np.ndarray]


class Verdict(Enum):
    """What became of a mutant."""

    REJECTED = "the compiler rejects it"
    CHECK = "found by the checking build"
    VALUES = "found by its values"
    UNREACHED = "no thread comes to the change"
    SAME = "the compiler makes the same machine code of it"
    SURVIVED = "not found"


@dataclass(frozen=True)
class Run:
    """Inputs, sizes of the launcher, and what the unmutated kernel gives."""

    inputs: Arrays
    sizes: Mapping[str, int]
    want: Arrays


@dataclass(frozen=True)
class Subject:
    """An emitted kernel with the runs in which its mutants have to show."""

    name: str
    artifact: Artifact
    runs: tuple[Run, ...]


def fixed_subject(path: Path, cache: ObjectCache, depth: int | None = None) -> Subject:
    """A program compiled for awkward sizes: those of which the smallest is largest.

    `depth`: with so many buffers in shared memory, which threads fill by asynchronous copies.
    """
    options = _options(path, depth)
    program = tcc_compile(path, options=replace(options, sizes={})).compilation
    sizes = _uneven(program)
    kernel = tcc_compile(path, options=replace(options, sizes=sizes))
    name = f"{_name(path, depth)} at {_spelled(sizes)}"
    return _subject(name, kernel.artifact, path, [sizes], cache)


def open_subject(path: Path, cache: ObjectCache, depth: int | None = None) -> Subject:
    """A program compiled for any sizes; run at those of its options, at awkward ones, and at
    awkward multiples of four, which may have a kernel of their own.
    """
    options = _options(path, depth)
    kernel = tcc_compile(path, options=replace(options, sizes={}))
    awkward = _uneven(kernel.compilation)
    even = {n: -(-v // 4) * 4 for n, v in awkward.items()}
    conditions = [c.expression for c in kernel.compilation.preconditions]
    chosen = [options.sizes, awkward]
    if all(c.evaluate(even) >= 0 for c in conditions):
        chosen.append(even)
    name = f"{_name(path, depth)} at open sizes"
    return _subject(name, kernel.artifact, path, chosen, cache)


def _uneven(found: Compilation) -> dict[str, int]:
    """Awkward sizes with several tiles in each dimension, as far as the work allows."""
    assert found.program is not None
    assert found.plan is not None
    several = awkward_sizes(found.program, found.preconditions, found.plan, {}, 40, 0)
    uneven = [s for s in several if any(v % 4 for v in s.values())] or several
    return max(uneven, key=lambda s: (min(*s.values(), 20), sum(s.values())))


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
    assignments: list[Mapping[str, int]],
    cache: ObjectCache,
) -> Subject:
    options = _options(path)
    program = tcc_compile(path, options=replace(options, sizes={})).compilation.program
    assert program is not None
    runs = []
    # Two draws: a lost part of a minimum shows only where the minimum lies in it.
    for sizes, style in product(assignments, (Style.NORMAL, Style.WIDE)):
        inputs = draw(find_domain(program, sizes, options.verify.inputs), style, 1)
        given = {n: sizes[n] for n in artifact.interface.symbolic}
        checked = HostDevice(check=True, workers=1, cache=cache).check(artifact, inputs, given)
        assert not checked.findings, "\n".join(f.text() for f in checked.findings)
        runs.append(Run(inputs, given, checked.outputs))
    return Subject(name, artifact, tuple(runs))


def judge(subject: Subject, mutant: Mutant, cache: ObjectCache) -> tuple[Verdict, str]:
    """The first that catches a mutant, and its words."""
    artifact = replace(subject.artifact, cuda_source=mutant.text)
    check = HostDevice(check=True, workers=1, timeout_s=TIMEOUT_S, cache=cache)
    reverse = HostDevice(order=Order.REVERSE, workers=1, timeout_s=TIMEOUT_S, cache=cache)
    try:
        for device in (check, reverse):
            for run in subject.runs:
                got = device.run(artifact, run.inputs, run.sizes)
                for name, want in run.want.items():
                    if not _same(got[name], want):
                        return Verdict.VALUES, name
    except FindingsError as problem:
        return Verdict.CHECK, problem.findings[0].kind.value
    except RunError as problem:
        return Verdict.VALUES, str(problem)
    except (ToolchainError, CompileError) as problem:
        return Verdict.REJECTED, str(problem)
    return Verdict.SURVIVED, ""


def explain(subject: Subject, mutant: Mutant, cache: ObjectCache) -> Verdict:
    """Why a mutant that was not found could not be; SURVIVED when these tests cannot say."""
    source = subject.artifact.cuda_source
    one, other = (_machine_code(subject.artifact, t) for t in (source, mutant.text))
    if one == other:
        return Verdict.SAME
    return Verdict.SURVIVED if is_reached(subject, mutant, cache) else Verdict.UNREACHED


def _machine_code(artifact: Artifact, text: str) -> str:
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
    device = HostDevice(workers=1, timeout_s=TIMEOUT_S, cache=cache)
    try:
        for run in subject.runs:
            device.run(artifact, run.inputs, run.sizes)
    except (RunError, ToolchainError):
        return True
    return False


def _same(got: np.ndarray, want: np.ndarray) -> bool:
    if want.dtype.kind in "iub":
        return bool(np.array_equal(got, want))
    one, other = got.astype(np.float64), want.astype(np.float64)
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return False
    with np.errstate(invalid="ignore"):
        scale = np.max(np.abs(other), initial=0.0, where=np.isfinite(other))
        close = (one == other) | (np.abs(one - other) <= TOLERANCE * scale) | np.isnan(other)
    return bool(close.all())
