"""Branches that no instance comes to are dropped, others stay."""

from __future__ import annotations

import pytest

from tcc.api import request_of
from tcc.driver import compile_program
from tcc.frontend import tir
from tcc.inputs import options_of_data
from tcc.sched.dead import without_dead_branches
from tcc.source import Source
from tests.sched.programs import model

DEAD = [
    # the value; the tensors that are read
    ("i < N ? A(i) : B(i)", {"A"}),
    ("i >= N ? A(i) : B(i)", {"B"}),
    ("i + 1 < N ? A(i) : (i == N - 1 ? B(i) : C(i))", {"A", "B"}),
    ("i < 0 && A(i) > 0 ? B(i) : C(i)", {"C"}),
    ("i >= 0 || A(i) > 0 ? B(i) : C(i)", {"B"}),
    ("A(i) > 0 ? (i < N ? B(i) : C(i)) : C(i)", {"A", "B", "C"}),
    ("A(i) > 0 ? (i < N ? B(i) : C(i)) : 0.0", {"A", "B"}),
    ("i < 5 ? A(i) : B(i)", {"A", "B"}),
    ("A(i) > 0 && i < N ? B(i) : C(i)", {"A", "B", "C"}),
]


def reads(program: tir.Program) -> list[str]:
    nodes = tir.walk(program.statements[0].value)
    return [n.tensor for n in nodes if isinstance(n, tir.Read)]


@pytest.mark.parametrize(("value", "read"), DEAD)
def test_reads_that_are_left(value: str, read: set[str]) -> None:
    inputs = "float(N) A, float(N) B, float(N) C"
    scop, _ = model(f"def f({inputs}) -> (O) {{ O(i) = {value} where i in 0:N }}")
    alive = without_dead_branches(scop)
    assert set(reads(alive)) == read
    assert (alive is scop.program) == (reads(alive) == reads(scop.program))


def test_a_tensor_that_nothing_reads_is_not_staged() -> None:
    """The kernel that reads it in no branch may run before the one that computes it."""
    text = """def f(float(N, K) A) -> (S, O) {
        S(i) +=! A(i, k)
        O(i) = i >= 0 ? A(i, 0) : S(i) where i in 0:N
    }"""
    options = options_of_data("<options>", {"mapping": {"outer_schedule_fusion_strategy": "min"}})
    found = compile_program(request_of(Source("f.tc", text), None, {}, options, None))
    assert found.artifact is not None
    assert [set(k.arguments) >= {"S"} for k in found.artifact.interface.launches] == [True, False]
