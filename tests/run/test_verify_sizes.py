"""The sizes at which kernels are compared."""

from __future__ import annotations

import pytest

from tcc.api import request_of
from tcc.driver import Compilation, compile_program
from tcc.inputs import options_of_data
from tcc.run import verify_sizes
from tcc.run.verify_sizes import (
    awkward_sizes,
    neighbouring_sizes,
    points,
    second_turns,
    tensor_bytes,
    turns_in_flight,
)
from tcc.run.verify_turns import FEW_BLOCKS, with_few_blocks
from tcc.sched.plan import DimPlan, KernelPlan, LoopPlan, Plan, RowPlan
from tcc.source import Source

MATMUL = "def f(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
CONV = "def f(float(H) I, float(KH) W) -> (O) { O(h) +=! I(h + kh) * W(kh) }"


def checked(text: str) -> Compilation:
    options = options_of_data("<options>", {})
    return compile_program(
        request_of(Source("f.tc", text), None, {}, options, None), stop_after="check"
    )


def plan(*dims: tuple[str, int], loops: tuple[tuple[str, int], ...] = (), row: int = 0) -> Plan:
    kernel = KernelPlan(
        "k",
        tuple(DimPlan(name, tile) for name, tile in dims),
        tuple(LoopPlan(name, tile) for name, tile in loops),
        row=RowPlan(row, 1, 0, keep=False) if row else None,
    )
    return Plan((kernel,))


def choose(text: str, chosen: Plan, count: int = 8, **fixed: int) -> tuple[dict[str, int], ...]:
    found = checked(text)
    assert found.program is not None
    about = (found.program, found.preconditions, chosen, fixed)
    return awkward_sizes(*about, count, seed=0, divided=found.program)


def test_around_the_tiles() -> None:
    sizes = choose(MATMUL, plan(("m", 32), ("n", 64), loops=(("k", 8),)), count=8)
    assert [s["M"] for s in sizes] == [1, 33, 36, 31, 65, 37, 32, 4]
    assert [s["N"] for s in sizes] == [1, 65, 68, 63, 129, 67, 64, 4]
    assert [s["K"] for s in sizes] == [1, 9, 12, 7, 17, 11, 8, 4]


def test_more_than_eight_are_mixtures() -> None:
    sizes = choose(MATMUL, plan(("m", 32), ("n", 64), loops=(("k", 8),)), count=14)
    assert len({tuple(s.values()) for s in sizes}) == 14
    assert all(s["M"] in (1, 4, 31, 32, 33, 36, 65, 37) for s in sizes)


def test_extents_with_several_sizes() -> None:
    sizes = choose(CONV, plan(("h", 16), loops=(("kh", 3),)), count=4)
    assert [(s["H"] - s["KH"] + 1, s["KH"]) for s in sizes] == [(1, 1), (17, 4), (20, 7), (15, 2)]


def test_loops_that_threads_share() -> None:
    sizes = choose("def f(float(N, K) A) -> (S) { S(n) +=! A(n, k) }", plan(("n", 4), row=128))
    assert [s["K"] for s in sizes[:3]] == [1, 129, 132]


def test_sizes_without_a_tile_stay_small() -> None:
    sizes = choose(MATMUL, plan(("m", 1), ("n", 64)))
    assert max(s["K"] for s in sizes) <= 7


def test_a_pipeline_wraps_around() -> None:
    kernel = KernelPlan("k", (), (LoopPlan("k", 8),), pipeline=3)
    assert 25 in {s["K"] for s in choose(MATMUL, Plan((kernel,)), count=7)}


def test_more_tiles_than_the_grid_has_blocks() -> None:
    dims = (DimPlan("m", 4, 0, blocks=10), DimPlan("n", 1, 1), DimPlan("k", 64, 2))
    sizes = choose(MATMUL, Plan((KernelPlan("k", dims),)), count=10)[8:]
    assert sizes == ({"M": 41, "N": 3, "K": 3}, {"M": 3, "N": 65536, "K": 3})
    tiled = KernelPlan("k", dims[:2], (LoopPlan("k", 8),))
    sizes = choose(MATMUL, Plan((tiled,)), count=10)[8:]
    assert sizes == ({"M": 41, "N": 3, "K": 9}, {"M": 3, "N": 65536, "K": 9})
    shared = (DimPlan("m", 4, 1, blocks=10), DimPlan("n", 1, 1))
    (turned,) = choose(MATMUL, Plan((KernelPlan("k", shared),)), count=9)[8:]
    assert turned == {"M": 41, "N": 3, "K": 3}


def test_extents_are_1_at_a_second_turn_where_3_are_too_many() -> None:
    dims = (DimPlan("m", 16, 1), DimPlan("n", 1, 0))
    turned = choose(MATMUL, Plan((KernelPlan("k", dims),)), count=9)[-1]
    assert turned == {"M": 16 * 65535 + 1, "N": 1, "K": 1}


def test_blocks_take_turns_in_every_state_of_a_pipeline() -> None:
    """With two, three, and four tiles; each once more with vectors."""
    mapping = {"tile": [16, 16, 8], "threads": [4, 4], "pipeline": 3, "use_shared_memory": True}
    options = {"mapping": mapping}
    asked = request_of(
        Source("f.tc", MATMUL), None, {}, options_of_data("<options>", options), None
    )
    found = compile_program(asked)
    assert found.plan is not None
    request = with_few_blocks(asked, found.plan)
    assert request is not None
    few = compile_program(request)
    assert found.program is not None
    assert few.plan is not None
    several = turns_in_flight(found.program, found.preconditions, few.plan, {})
    assert [s["K"] for s in several] == [9, 12, 17, 20, 25, 28]
    assert {s["M"] for s in several} == {33, 36}
    texts = [a.cuda_source for a in (found.artifact, few.artifact) if a is not None]
    code = ["\n".join(x for x in t.split("\n") if not x.startswith("//")) for t in texts]
    assert code[0].replace("65535", str(FEW_BLOCKS)) == code[1] != code[0]


def test_no_turns_without_a_bound() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = A(i) }"
    asked = request_of(Source("f.tc", text), None, {}, options_of_data("<options>", {}), None)
    plan = compile_program(asked).plan
    assert plan is not None
    assert with_few_blocks(asked, plan) is None


def test_a_sum_has_two_parts() -> None:
    text = "def f(float(N) A) -> (S) { S +=! A(n) }"
    options = options_of_data("<options>", {})
    found = compile_program(request_of(Source("f.tc", text), None, {}, options, None))
    assert found.program is not None
    assert found.plan is not None
    assert found.lowering is not None
    divided = found.lowering.program
    (length,) = (s.ranges["n"].extent.value for s in divided.statements[:1])
    about = (found.program, (), found.plan, {})
    assert {"N": length + 1} in awkward_sizes(*about, count=40, seed=0, divided=divided)
    assert second_turns(*about, divided) == ({"N": length + 1},)


def test_fixed_sizes_stay() -> None:
    sizes = choose(MATMUL, plan(("m", 32)), count=5, K=100)
    assert {s["K"] for s in sizes} == {100}
    assert choose(MATMUL, plan(("m", 32)), M=1, N=1, K=1) == ()


def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    program = checked(MATMUL).program
    assert program is not None
    monkeypatch.setattr(verify_sizes, "MOST_POINTS", 10_000)
    sizes = choose(MATMUL, plan(("m", 32), ("n", 64), loops=(("k", 8),)), count=10)
    assert len(sizes) == 10
    assert all(points(program, s) <= 10_000 for s in sizes)
    assert any(s["N"] > 64 for s in sizes)


def test_preconditions_move_sizes() -> None:
    above = "def f(float(N) A) -> (B) { B(i) = A(i + 3) where i in 0:2 }"
    assert all(s["N"] >= 5 for s in choose(above, plan(("i", 2))))
    below = "def f(float(N) A, float(8) C) -> (B) { B(i) = A(i) + C(i) where i in 0:N }"
    assert {s["N"] for s in choose(below, plan(("i", 8)))} <= {1, 4, 7, 8}


def test_neighbours() -> None:
    sizes = neighbouring_sizes({"M": 8, "N": 3}, 6)
    assert sizes == (
        {"M": 1, "N": 1},
        {"M": 9, "N": 4},
        {"M": 7, "N": 2},
        {"M": 17, "N": 7},
        {"M": 11, "N": 5},
        {"M": 4, "N": 2},
    )
    assert neighbouring_sizes({"M": 1}, 1) == ({"M": 2},)


def test_work_and_memory() -> None:
    program = checked(MATMUL).program
    assert program is not None
    sizes = {"M": 2, "N": 3, "K": 5}
    assert points(program, sizes) == 30
    assert tensor_bytes(program, sizes) == 4 * (10 + 15 + 6)
    triangle = checked("def f(float(N) A) -> (S) { S(i) +=! A(r) where i in 0:N, r in 0:i + 1 }")
    assert triangle.program is not None
    assert points(triangle.program, {"N": 4}) == 16
