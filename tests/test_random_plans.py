"""Random programs under random legal plans compute what the oracle does, in both orders."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcc.api import request_of
from tcc.diagnostics import Report
from tcc.driver import Request, compile_program
from tcc.errors import CompileError
from tcc.frontend import tir
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.sched import choose
from tcc.sched.budget import needs
from tcc.sched.nest import Nest
from tcc.sched.reuse import chains
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
    allowed: dict[str, int] = {}

    def any_plan(
        nest: Nest, program: tir.Program, _: Options, target: Target, report: Report
    ) -> choose.Chosen:
        plan = random_plan(nest, program, target, rng)
        text = "mapping:\n" + "".join(f"  {line}\n" for line in plan.text().splitlines())
        options = options_of_source(Source("plan.yaml", text))
        chosen = choose.choose_plan(nest, program, options, target, report)
        assert report.errors == ()
        assert chosen.plan == plan
        for k, p in zip(nest.kernels, plan.kernels, strict=True):
            allowed[k.name] = needs(k, chains(k, program), program, p).shared_bytes
        return chosen

    # Not through `tcc.compile`, which keeps kernels by their request: the plan is not in that.
    with patch("tcc.driver.choose_plan", any_plan):
        try:
            made = compile_program(request(program, fixed))
        except CompileError as rejection:
            # With open sizes, bounds that hang on them in a way that no launcher check can say.
            if fixed or any(d.code != "E0307" for d in rejection.diagnostics if d.is_error):
                raise
            made = compile_program(request(program, True))
    for launch in made.artifact.interface.launches:
        assert launch.shared_bytes <= allowed[launch.kernel], "the budget counts all of it"
    results = run_both_orders(made, program.arrays)
    assert_agrees(made.program, program.arrays, program.sizes, results)


def request(program: RandomTc, fixed: bool) -> Request:
    source = Source("random.tc", program.text)
    return request_of(source, None, program.sizes if fixed else {}, Options(), None)


@settings(relaxed, max_examples=20)
@given(programs(), st.booleans(), SEEDS)
def test_random_plans(program: RandomTc, fixed: bool, seed: int) -> None:
    compiled_at_random(program, fixed, seed)


@pytest.mark.slow
@settings(relaxed, max_examples=2000)
@given(programs(max_statements=5), st.booleans(), SEEDS)
def test_many_random_plans(program: RandomTc, fixed: bool, seed: int) -> None:
    compiled_at_random(program, fixed, seed)
