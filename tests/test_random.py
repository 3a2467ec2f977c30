"""Random programs: the front end accepts them, the oracle means what is written, kernels agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcc.api import compile as tcc_compile
from tcc.api import request_of
from tcc.diagnostics import Report
from tcc.driver import compile_program
from tcc.errors import CompileError
from tcc.frontend import tir
from tcc.frontend.parser import parse
from tcc.frontend.unparse import unparse
from tcc.options import Options
from tcc.run.reference import interpret
from tcc.source import Source
from tests import definition
from tests.agreement import assert_agrees, run_both_orders
from tests.random_tc import RandomTc, programs
from tests.random_work import works

relaxed = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def analysed(random: RandomTc) -> tir.Program:
    source = Source("random.tc", random.text)
    request = request_of(source, None, random.sizes, Options(), None)
    return compile_program(request, stop_after="check").program


def assert_equal(got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> None:
    assert list(got) == list(want)
    for name, values in want.items():
        assert got[name].dtype == values.dtype
        np.testing.assert_array_equal(got[name], values, err_msg=name)


@settings(relaxed, max_examples=40)
@given(programs())
def test_oracle_is_the_definition(random: RandomTc) -> None:
    """The vectorised oracle, also in small blocks, equals the element by element meaning."""
    program = analysed(random)
    want = definition.run(program, random.arrays, random.sizes)
    assert_equal(interpret(program, random.arrays, random.sizes), want)
    assert_equal(interpret(program, random.arrays, random.sizes, block_points=7), want)


@settings(relaxed, max_examples=100)
@given(st.one_of(programs(), works()))
def test_text(random: RandomTc) -> None:
    """Printing loses nothing: the printed text parses to the same tree, and prints as itself."""
    report = Report()
    module = parse(Source("random.tc", random.text), report)
    text = unparse(module)
    again = parse(Source("random.tc", text), report)
    assert report.items == ()
    assert unparse(again) == text


def check_kernel(random: RandomTc, fixed: bool) -> None:
    source = Source("random.tc", random.text)
    try:
        kernel = tcc_compile(source, sizes=random.sizes if fixed else {})
    except CompileError as rejection:
        # With open sizes, bounds that hang on them in a way that no launcher check can say.
        if fixed or any(d.code != "E0307" for d in rejection.diagnostics if d.is_error):
            raise
        kernel = tcc_compile(source, sizes=random.sizes)
    results = run_both_orders(kernel, random.arrays)
    program = kernel.compilation.program
    assert_agrees(program, random.arrays, random.sizes, results)


@settings(relaxed, max_examples=30)
@given(programs(), st.booleans())
def test_kernels(random: RandomTc, fixed: bool) -> None:
    """Kernels for given and for open sizes compute what the oracle does, in both orders."""
    check_kernel(random, fixed)


@pytest.mark.slow
@settings(relaxed, max_examples=600)
@given(programs(max_statements=6), st.booleans())
def test_many_kernels(random: RandomTc, fixed: bool) -> None:
    check_kernel(random, fixed)
