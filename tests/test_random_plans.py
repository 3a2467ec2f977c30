"""Random programs under random legal plans compute what the oracle does, in both orders."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcc.api import compile as tcc_compile
from tcc.diagnostics import Report
from tcc.errors import CompileError
from tcc.frontend import tir
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.sched import choose
from tcc.sched.nest import Nest
from tcc.source import Source
from tcc.target import Target
from tests.agreement import assert_agrees, run_both_orders
from tests.random_plan import random_plan
from tests.random_tc import RandomTc, programs

relaxed = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SEEDS = st.integers(0, 2**32 - 1)


def compiled_at_random(program: RandomTc, fixed: bool, seed: int) -> None:
    """Compile under a random plan, which goes through an options file; run it, compare."""
    rng = random.Random(seed)

    def any_plan(
        nest: Nest, program: tir.Program, _: Options, target: Target, report: Report
    ) -> choose.Chosen:
        plan = random_plan(nest, program, target, rng)
        text = "mapping:\n" + "".join(f"  {line}\n" for line in plan.text().splitlines())
        options = options_of_source(Source("plan.yaml", text))
        chosen = choose.choose_plan(nest, program, options, target, report)
        assert report.errors == ()
        assert chosen.plan == plan
        return chosen

    source = Source("random.tc", program.text)
    with patch("tcc.driver.choose_plan", any_plan):
        try:
            kernel = tcc_compile(source, sizes=program.sizes if fixed else {})
        except CompileError as rejection:
            # With open sizes, bounds that hang on them in a way that no launcher check can say.
            if fixed or any(d.code != "E0307" for d in rejection.diagnostics if d.is_error):
                raise
            kernel = tcc_compile(source, sizes=program.sizes)
    results = run_both_orders(kernel, program.arrays)
    assert_agrees(kernel.compilation.program, program.arrays, program.sizes, results)


@settings(relaxed, max_examples=20)
@given(programs(), st.booleans(), SEEDS)
def test_random_plans(program: RandomTc, fixed: bool, seed: int) -> None:
    compiled_at_random(program, fixed, seed)


@pytest.mark.slow
@settings(relaxed, max_examples=2000)
@given(programs(max_statements=5), st.booleans(), SEEDS)
def test_many_random_plans(program: RandomTc, fixed: bool, seed: int) -> None:
    compiled_at_random(program, fixed, seed)
