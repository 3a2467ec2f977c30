"""The traits that campaigns count are seen in emitted kernels, and only where they are."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

from tcc.api import request_of
from tcc.diagnostics import Report
from tcc.driver import compile_program
from tcc.frontend import tir
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.sched.choose import Chosen, choose_plan
from tcc.sched.nest import Nest
from tcc.sched.plan import Plan
from tcc.source import Source
from tcc.target import Target
from tests.traits import traits

SIZES = {"M": 64, "N": 64, "K": 64}


def seen(text: str, mapping: str = "") -> Counter[str]:
    """The traits of a program's kernels at `SIZES`, under lines of an options file."""
    mapped: list[tuple[Nest, tir.Program, Plan]] = []

    def choose(
        nest: Nest, program: tir.Program, options: Options, target: Target, report: Report
    ) -> Chosen:
        chosen = choose_plan(nest, program, options, target, report)
        mapped.append((nest, program, chosen.plan))
        return chosen

    options = options_of_source(Source("o.yaml", f"mapping: {{{mapping}}}"))
    sizes = {name: n for name, n in SIZES.items() if name in text}
    request = request_of(Source("f.tc", text), None, sizes, options, "sm_80")
    with patch("tcc.driver.choose_plan", choose):
        made = compile_program(request)
    assert made.artifact is not None
    return +traits(*mapped[0], made.artifact.cuda_source)


def plan(*lines: str) -> str:
    digits = "parallel: {m: [block.y, thread.y 8, inner 4], n: [block.x, thread.x 4, inner 4]}"
    return f"plan: {{f_kernel: {{{', '.join((digits, *lines))}}}}}"


PRODUCT = "def f(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
PICKED = "def f(int32(M, K) I, float(N, N) B) -> (C) { C(m, n) +=! B(I(m, k), n) }"
ROWS = "def f(half(M, N) A) -> (S) { S(m) +=! float(A(m, n)) }"


def test_product() -> None:
    plain = {"kernels": 1, "vector": 1}
    assert seen(PRODUCT, plan()) == plain
    tiled = plan("loops: {k: [tile 8]}", "staging: {A: shared, B: shared}", "pipeline: 3")
    found = {"tiled": 1, "shared": 1, "pipeline": 1, "async": 1}
    assert seen(PRODUCT, tiled) == plain | found


def test_picked_rows() -> None:
    tiled = plan("loops: {k: [tile 8]}", "staging: {B: shared}")
    found = {"tiled": 1, "shared": 1, "gather": 1}
    assert seen(PICKED, tiled) == {"kernels": 1, "vector": 1} | found
    assert "gather" not in seen(PICKED, plan("loops: {k: [tile 8]}", "staging: {I: shared}"))


def test_rows() -> None:
    found = {"kernels": 1, "row": 1, "shuffle": 1, "half": 1}
    assert seen(ROWS) == found
    parts = {"kernels": 2, "tiled": 1, "half": 1, "split": 1, "atomic": 1}
    assert seen(ROWS, "split: 4, deterministic: false") == parts
