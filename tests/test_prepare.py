"""The back end alone gives what a whole compilation gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tcc.api import request_of
from tcc.driver import compile_program, prepare
from tcc.errors import CompileError
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.source import Source

MATMUL = Source(
    "matmul.tc", "def f(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }\n"
)
PLAN = """\
mapping:
  plan:
    f_kernel:
      parallel:
        m: [block.y, thread.y {threads}]
        n: [block.x, thread.x 16, inner 2]
      loops:
        k: [tile 8]
      staging: {{A: shared, B: register}}
"""


def plan(threads: int) -> Options:
    return options_of_source(Source("plan.yaml", PLAN.format(threads=threads)))


@pytest.mark.parametrize("sizes", [{}, {"M": 64, "N": 48, "K": 40}])
def test_every_plan_gives_the_text_of_its_own_compilation(sizes: dict[str, int]) -> None:
    request = request_of(MATMUL, None, sizes, Options(), None)
    compiled_with = prepare(request)
    for options in (plan(4), plan(8), Options(), plan(4)):
        whole = compile_program(replace(request, options=options))
        again = compiled_with(options)
        assert again.artifact == whole.artifact
        assert again.reference == whole.reference
        assert (again.plan, again.notes) == (whole.plan, whole.notes)


def test_a_wrong_plan_leaves_the_others_alone() -> None:
    compiled_with = prepare(request_of(MATMUL, None, {}, Options(), None))
    with pytest.raises(CompileError) as caught:
        compiled_with(plan(1024))
    assert [d.code for d in caught.value.diagnostics] == ["E0524"]
    assert compiled_with(plan(8)).diagnostics == ()


def test_a_program_with_errors_is_not_prepared() -> None:
    with pytest.raises(CompileError):
        prepare(
            request_of(
                Source("f.tc", "def f(float(N) A) -> (B) { B(i) = C(i) }"),
                None,
                {},
                Options(),
                None,
            )
        )
