"""The acceptance cases of `tests/cases`: what they compute, and what is rejected."""

from __future__ import annotations

import numpy as np
import pytest

from tcc.api import compile as tcc_compile
from tcc.api import request_of
from tcc.driver import Compilation, compile_program
from tcc.errors import CompileError
from tcc.frontend import tir
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.run.reference import interpret
from tcc.source import Source
from tests import case_files
from tests.agreement import assert_agrees, run_both_orders
from tests.case_files import Case

ACCEPTED = case_files.accepted()
REJECTED = case_files.rejected()


def ids(cases: list[Case]) -> list[str]:
    return [c.name for c in cases]


def options(case: Case) -> Options:
    if case.options is None:
        return Options()
    return options_of_source(Source(f"{case.name}.yaml", case.options))


def checked(case: Case) -> Compilation:
    source = Source(case.path.name, case.text)
    request = request_of(source, case.entry, case.sizes, options(case), None)
    return compile_program(request, stop_after="check")


@pytest.mark.parametrize("case", ACCEPTED, ids=ids(ACCEPTED))
def test_meaning(case: Case) -> None:
    """The oracle agrees with the formulas of the case, and the facts hold."""
    compilation = checked(case)
    for fact in case.facts:
        check_fact(fact, compilation, case.sizes)
    program = compilation.program
    arrays = case_files.inputs(program, case)
    exact = interpret(program, arrays, case.sizes, precision="exact")
    for name, wanted in case_files.expected(case, arrays).items():
        assert exact[name].shape == wanted.shape, name
        np.testing.assert_allclose(exact[name], wanted, rtol=1e-9, atol=1e-9, err_msg=name)


def check_fact(fact: str, compilation: Compilation, sizes: dict[str, int]) -> None:
    program = compilation.program
    what, *rest = fact.split()
    match what:
        case "shape" | "origin":
            tensor = program.tensors[rest[0]]
            extents = tensor.shape if what == "shape" else tensor.origin
            assert [str(e.evaluate(sizes)) for e in extents] == rest[2:], fact
        case "type":
            assert program.tensors[rest[0]].type.value == rest[2]
        case "inout":
            assert list(program.inouts) == rest
        case "temporary":
            assert list(program.temporaries) == rest
        case "warnings":
            assert [d.code for d in compilation.diagnostics] == rest
        case _:
            raise ValueError(fact)


@pytest.mark.parametrize("case", ACCEPTED, ids=ids(ACCEPTED))
def test_host(case: Case) -> None:
    """The kernel computes on the host what the oracle computes, in both orders of threads."""
    source = Source(case.path.name, case.text)
    kernel = tcc_compile(source, case.entry, case.sizes, options(case))
    program: tir.Program = kernel.compilation.program
    arrays = case_files.inputs(program, case, seed=1)
    results = run_both_orders(kernel, arrays)
    assert_agrees(program, arrays, case.sizes, results)


@pytest.mark.parametrize("case", REJECTED, ids=ids(REJECTED))
def test_rejected(case: Case) -> None:
    with pytest.raises(CompileError) as rejection:
        checked(case)
    found = [d for d in rejection.value.diagnostics if d.is_error]
    assert [f"{d.code} at {d.line}:{d.column}" for d in found] == list(case.errors)
