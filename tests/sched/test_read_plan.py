"""Plans as text: what is printed reads back as the same plan, and mistakes are shown."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcc.diagnostics import Report
from tcc.frontend import tir
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.options_file import read_options
from tcc.sched.choose import choose_plan
from tcc.sched.fix import fix_sizes
from tcc.sched.fusion import Fusion
from tcc.sched.nest import Nest
from tcc.sched.plan import Plan
from tcc.sched.schedule import compute_schedule
from tcc.sched.structure import structure
from tcc.source import Source
from tcc.target import DEFAULT_TARGET, TARGETS
from tests.random_plan import random_plan
from tests.sched.programs import CONVOLUTION, GEMM, GROUP_NORM, SOFTMAX, STENCILS, model

TARGET = TARGETS[DEFAULT_TARGET]
PROGRAMS = (GEMM, CONVOLUTION, SOFTMAX, GROUP_NORM, STENCILS)


@cache
def nest_of(text: str, fusion: Fusion) -> tuple[Nest, tir.Program]:
    scop, dependences = model(text)
    nest = structure(scop, compute_schedule(scop, dependences, fusion).tree)
    return fix_sizes(nest, {}), scop.program


def as_options(plan: Plan) -> Options:
    lines = "".join(f"  {line}\n" for line in plan.text().splitlines())
    return options_of_source(Source("plan.yaml", f"mapping:\n{lines}"))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PROGRAMS), st.sampled_from(list(Fusion)), st.integers(0, 2**32))
def test_plans_survive_their_text(text: str, fusion: Fusion, seed: int) -> None:
    nest, program = nest_of(text, fusion)
    plan = random_plan(nest, program, TARGET, random.Random(seed))
    report = Report()
    chosen = choose_plan(nest, program, as_options(plan), TARGET, report)
    assert report.items == ()
    assert chosen.plan == plan
    assert chosen.plan.text() == plan.text()


def test_derived_plans_survive_their_text() -> None:
    for text in PROGRAMS:
        for fusion in Fusion:
            nest, program = nest_of(text, fusion)
            derived = choose_plan(nest, program, Options(), TARGET, Report()).plan
            again = choose_plan(nest, program, as_options(derived), TARGET, Report()).plan
            assert again == derived


def test_kernels_without_a_plan_get_a_derived_one() -> None:
    nest, program = nest_of(SOFTMAX, Fusion.MIN)
    derived = choose_plan(nest, program, Options(), TARGET, Report()).plan
    first = Plan(derived.kernels[:1])
    assert choose_plan(nest, program, as_options(first), TARGET, Report()).plan == derived


M, N = "i: [block.y, thread.y 8]", "j: [block.x, thread.x 8]"


@pytest.mark.parametrize(
    ("given_plan", "found"),
    [
        ("parallel: {i: [blok.x], %N}", ["E0521 blok.x"]),
        ("parallel: {i: [block], %N}", ["E0521 block"]),
        ("parallel: {i: [block.w], %N}", ["E0521 block.w"]),
        ("parallel: {i: [block.x, outer], %N}", ["E0521 outer"]),
        ("parallel: {i: [block.x, outer.x 2], %N}", ["E0521 outer.x 2"]),
        ("parallel: {i: [block.x, outer 0], %N}", ["E0521 outer 0"]),
        (
            "parallel: {i: [block.x, outer 99999999999999999999999], %N}",
            ["E0521 outer 99999999999999999999999"],
        ),
        ("parallel: {i: [serial 2], %N}", ["E0521 serial 2"]),
        ("parallel: {i: [block.x, inner 2, outer 2], %N}", ["E0521 outer 2"]),
        ("parallel: {i: [block.x, inner 2, inner 2], %N}", ["E0521 inner 2"]),
        ("parallel: {i: [serial, block.x], %N}", ["E0521 [serial, block.x]"]),
        ("parallel: {i: [thread.x 2], %N}", ["E0521 [thread.x 2]"]),
        (
            "parallel: {i: [block.x, thread.y 2, tile 3], %N}",
            ["E0523 [block.x, thread.y 2, tile 3]"],
        ),
        ("parallel: {%M}", ["E0523 {i: [block.y, thread.y 8]}"]),
        ("parallel: {%M, %N, k: [serial]}", ["E0522 k"]),
        ("parallel: {%M, j: [block.y 3]}", ["E0523 [block.y 3]"]),
        ("parallel: {%M, %N}, loops: {k: [rolled]}", ["E0521 [rolled]"]),
        ("parallel: {%M, %N}, loops: {k: [tile 4, keep]}", ["E0521 keep"]),
        ("parallel: {%M, %N}, loops: {i: [tile 4]}", ["E0522 i"]),
        ("parallel: {%M, %N}, staging: {C: shared}", ["E0522 C"]),
        ("parallel: {%M, %N}, staging: {A: shared}", ["E0525 A"]),
        ("parallel: {%M, %N}, row: [vector 4]", ["E0521 [vector 4]"]),
        ("parallel: {%M, %N}, row: [thread.z 4]", ["E0521 thread.z 4"]),
        ("parallel: {%M, %N}, row: [thread.x 4]", ["E0523 [thread.x 4]"]),
        ("parallel: {%M, j: [block.x]}, row: [thread.x 3]", ["E0523 [thread.x 3]"]),
        ("parallel: {%M, j: [block.x]}, row: [thread.x 4, keep]", ["E0523 [thread.x 4, keep]"]),
        ("parallel: {%M, j: [block.x, inner 2]}, row: [thread.x 4]", ["E0523 [thread.x 4]"]),
        (
            "parallel: {%M, j: [block.x, thread.x 256]}",
            ["E0524 {parallel: {i: [block.y, thread.y 8], j: [block.x, thread.x 256]}}"],
        ),
    ],
)
def test_mistakes_are_shown(given_plan: str, found: list[str]) -> None:
    nest, program = nest_of(GEMM, Fusion.MIN)
    body = given_plan.replace("%M", M).replace("%N", N)
    source = Source("plan.yaml", f"mapping: {{plan: {{gemm_kernel: {{{body}}}}}}}")
    report = Report()
    choose_plan(nest, program, read_options(source, report), TARGET, report)
    assert [f"{d.code} {d.primary.span.text}" for d in report.items] == found


@pytest.mark.parametrize(
    ("given_plan", "found"),
    [
        ("gemm: {parallel: {i: [serial]}}", "E0522 gemm"),
        ("gemm_kernel: {paralel: {}}", "E0501 paralel"),
        ("gemm_kernel: {pipeline: 9}", "E0503 9"),
        ("gemm_kernel: []", "E0502 []"),
        ("gemm_kernel: {parallel: {i: []}}", "E0503 []"),
    ],
)
def test_mistakes_around_plans(given_plan: str, found: str) -> None:
    nest, program = nest_of(GEMM, Fusion.MIN)
    source = Source("plan.yaml", f"mapping: {{plan: {{{given_plan}}}}}")
    report = Report()
    options = read_options(source, report)
    if not report.items:
        choose_plan(nest, program, options, TARGET, report)
    assert [f"{d.code} {d.primary.span.text}" for d in report.items] == [found]


@given(st.lists(st.text("blockthread.xyz outinser0123456789 ", max_size=12), max_size=5))
@settings(max_examples=200, deadline=None)
def test_any_digits_give_a_plan_or_diagnostics(digits: list[str]) -> None:
    nest, program = nest_of(GEMM, Fusion.MIN)
    quoted = ", ".join(f"'{d}'" for d in digits)
    text = f"mapping: {{plan: {{gemm_kernel: {{parallel: {{i: [{quoted}], j: [serial]}}}}}}}}"
    report = Report()
    options = read_options(Source("plan.yaml", text), report)
    choose_plan(nest, program, options, TARGET, report)
    assert all(0 <= d.primary.span.start <= d.primary.span.end <= len(text) for d in report.items)
