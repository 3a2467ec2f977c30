"""The programs of `specs/`: each is listed, has options, compiles, and computes the right thing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tcc.api import Kernel, request_of
from tcc.api import compile as tcc_compile
from tcc.driver import compile_program
from tcc.frontend import tir
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.run.numbers import storage_dtype
from tcc.run.toolchain import find_nvcc
from tcc.run.verify import verify
from tcc.run.verify_turns import FEW_NOTE
from tcc.source import Source
from tests.agreement import assert_agrees
from tests.case_files import random_array

SPECS = Path(__file__).parents[1] / "specs"
PROGRAMS = sorted(SPECS.glob("*.tc"))
every_spec = pytest.mark.parametrize("path", PROGRAMS, ids=[p.stem for p in PROGRAMS])


def options(path: Path) -> Options:
    beside = path.with_suffix(".yaml")
    return options_of_source(Source(beside.name, beside.read_text()))


def arrays(program: tir.Program, chosen: Options) -> dict[str, np.ndarray]:
    """Small integers; the ranges under `verify: inputs` in the options hold."""
    rng = np.random.default_rng(0)
    result = {}
    for name in program.inputs + program.inouts:
        tensor = program.tensors[name]
        shape = tuple(e.evaluate(chosen.sizes) for e in tensor.shape)
        if name not in chosen.verify.inputs:
            result[name] = random_array(tensor.type, shape, rng)
            continue
        low, high = chosen.verify.inputs[name]
        data = rng.integers(int(low), int(high) + 1, shape) if high > low else np.full(shape, low)
        result[name] = data.astype(storage_dtype(tensor.type))
    return result


def test_every_program_is_listed() -> None:
    readme = (SPECS / "README.md").read_text()
    for path in PROGRAMS:
        first = path.read_text().splitlines()[0]
        assert f"| [`{path.stem}`]({path.name}) | {first.removeprefix('# ')} |" in readme
    assert readme.count("](") == len(PROGRAMS)
    assert {p.stem for p in SPECS.glob("*.yaml")} == {p.stem for p in PROGRAMS}


@every_spec
def test_no_warning(path: Path) -> None:
    """With the sizes of the options file and with open sizes."""
    source = Source(path.name, path.read_text())
    for chosen in (options(path), Options()):
        request = request_of(source, None, {}, chosen, None)
        compilation = compile_program(request, stop_after="check")
        assert [d.code for d in compilation.diagnostics] == []


@cache
def compiled(path: Path, *, fixed: bool = True) -> Kernel:
    """The kernel for the options file, or without options."""
    return tcc_compile(path, options=options(path) if fixed else None)


@every_spec
def test_host(path: Path) -> None:
    chosen = options(path)
    kernel = compiled(path)
    program = kernel.compilation.program
    data = arrays(program, chosen)
    assert_agrees(program, data, chosen.sizes, kernel.run(data))


@every_spec
def test_verify(path: Path) -> None:
    """In the checking build: at the sizes of the options file, and at a few awkward ones."""
    check_verified(path, options(path), check=True, awkward=0)
    check_verified(path, replace(options(path), sizes={}), check=True, awkward=3)


@pytest.mark.slow
@every_spec
@pytest.mark.parametrize("check", [False, True], ids=["fast", "check"])
def test_verify_at_all_awkward_sizes(path: Path, check: bool) -> None:
    check_verified(path, options(path), check=check, awkward=None)
    check_verified(path, replace(options(path), sizes={}), check=check, awkward=None)


def check_verified(path: Path, chosen: Options, *, check: bool, awkward: int | None) -> None:
    request = request_of(Source(path.name, path.read_text()), None, {}, chosen, None)
    outcome = verify(request, device="host", check=check, blocks=None, seed=0, awkward=awkward)
    assert outcome.ok, outcome.text()
    assert outcome.skips == (), outcome.text()
    doubts = [n for t in outcome.trials for n in t.notes if n != FEW_NOTE]  # says how it ran
    assert doubts == []


def test_nvcc_has_nothing_to_say(tmp_path: Path) -> None:
    check_nvcc({p.stem: compiled(p) for p in PROGRAMS}, tmp_path)


@pytest.mark.slow
def test_nvcc_has_nothing_to_say_with_open_sizes(tmp_path: Path) -> None:
    check_nvcc({p.stem: compiled(p, fixed=False) for p in PROGRAMS}, tmp_path)


def check_nvcc(kernels: dict[str, Kernel], folder: Path) -> None:
    """All in one translation unit: nvcc takes two seconds before it looks at the first line."""
    nvcc = find_nvcc()
    if nvcc is None:
        pytest.skip("nvcc is not on PATH")
    lines = ["#include <cuda_runtime.h>"]
    for name, kernel in kernels.items():
        text = kernel.cuda_source
        includes = re.findall("^ *# *include +(.*)$", text, re.MULTILINE)
        assert set(includes) <= {"<cuda_runtime.h>"}, "inside a namespace"
        (folder / f"{name}.cu").write_text(text)
        lines += [f"namespace unit_{name} {{", f'#include "{name}.cu"', "}"]
    (folder / "all.cu").write_text("\n".join(lines) + "\n")
    flags = ["-Xcompiler", "-Wall,-Wextra", "-Werror", "all-warnings", "-std=c++17", "-arch=sm_90"]
    run([nvcc, *flags, "-c", "-o", "all.o", "all.cu"], folder)


CUDA_RUNTIME = """\
#ifndef CUDA_RUNTIME
#define CUDA_RUNTIME
typedef enum cudaError { cudaSuccess = 0, cudaErrorInvalidValue = 1 } cudaError_t;
typedef struct CUstream_st *cudaStream_t;
#endif
"""


@pytest.mark.parametrize(
    ("names", "flags"),
    [
        (("g++", "clang++"), ("-x", "c++", "-std=c++17")),
        (("gcc", "clang"), ("-x", "c", "-std=c99")),
    ],
    ids=["c++", "c"],
)
def test_headers(names: tuple[str, ...], flags: tuple[str, ...], tmp_path: Path) -> None:
    """Each compiles on its own, in both languages, without a warning."""
    compiler = next(filter(None, map(shutil.which, names)), None)
    if compiler is None:
        pytest.skip(f"there is no {names[0]}")
    (tmp_path / "cuda_runtime.h").write_text(CUDA_RUNTIME)
    for path in PROGRAMS:
        (tmp_path / f"{path.stem}.h").write_text(compiled(path).header)
    headers = [f"{p.stem}.h" for p in PROGRAMS]
    warnings = ("-Wall", "-Wextra", "-Werror")
    run([compiler, *flags, *warnings, "-fsyntax-only", "-I.", *headers], tmp_path)


DIGESTS = """\
import hashlib, sys
from tcc.api import compile
for path in sys.argv[1:]:
    for options in (path.replace(".tc", ".yaml"), None):
        kernel = compile(path, options=options)
        texts = (kernel.cuda_source, kernel.header, kernel.reference.cuda_source)
        text = "".join(texts) + str(kernel.manifest) + kernel.plan.text()
        print(path, options, hashlib.sha256(text.encode()).hexdigest())
"""


@pytest.mark.parametrize(
    "paths", [PROGRAMS[::4], pytest.param(PROGRAMS, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_the_same_bytes_whatever_the_order_of_hashes(paths: list[Path]) -> None:
    command = [sys.executable, "-c", DIGESTS, *map(str, paths)]
    one, two = (
        run(command, SPECS, env={**os.environ, "PYTHONHASHSEED": seed}) for seed in ("1", "2")
    )
    assert one.count("\n") == 2 * len(paths)
    assert one == two


def run(command: list[str], folder: Path, env: dict[str, str] | None = None) -> str:
    """What a command prints; it may not fail."""
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
