"""The programs of `specs/`: each is listed, has options, compiles, and computes the right thing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tcc.api import compile as tcc_compile
from tcc.api import request_of
from tcc.driver import compile_program
from tcc.frontend import tir
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.run.numbers import storage_dtype
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


@every_spec
def test_host(path: Path) -> None:
    chosen = options(path)
    kernel = tcc_compile(path, options=chosen)
    program = kernel.compilation.program
    data = arrays(program, chosen)
    assert_agrees(program, data, chosen.sizes, kernel.run(data))
