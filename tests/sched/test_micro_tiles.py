"""Micro-tiles: which dimensions a thread has several points of."""

from __future__ import annotations

from math import prod

import pytest

from tcc.api import request_of
from tcc.driver import Compilation, compile_program
from tcc.options import Options
from tcc.sched.derive import AS_GOOD, candidates
from tcc.sched.micro_tiles import DEEP_POINTS, DIGITS, MOST_POINTS, micro_tiles
from tcc.sched.plan import KernelPlan
from tcc.sched.reuse import chains
from tcc.source import Source
from tcc.target import TARGETS
from tests.sched.programs import GEMM

GROUPED = """
def f(float(N, G, C, H, W) I, float(G, F, C, KH, KW) K) -> (O) {
    O(n, g, f, h, w) +=! I(n, g, c, h + kh, w + kw) * K(g, f, c, kh, kw)
}"""
BATCHED = (
    "def f(float(B, M, K) X, float(B, K, N) Y) -> (Z) { Z(b, i, j) +=! X(b, i, k) * Y(b, k, j) }"
)
SHORT = {"N": 32, "G": 32, "C": 32, "F": 32, "H": 7, "W": 7, "KH": 3, "KW": 3}
LONG = {**SHORT, "H": 58, "W": 58}


def compiled(text: str, sizes: dict[str, int], target: str = "sm_90") -> Compilation:
    return compile_program(request_of(Source("f.tc", text), None, sizes, Options(), target))


def tiles(text: str, sizes: dict[str, int]) -> list[dict[str, tuple[int, int]]]:
    lowering = compiled(text, sizes).lowering
    assert lowering is not None
    (kernel,) = lowering.nest.kernels
    return list(micro_tiles(kernel.parallel, chains(kernel, lowering.program), DIGITS))


def default(sizes: dict[str, int], target: str) -> KernelPlan:
    plan = compiled(GROUPED, sizes, target).plan
    assert plan is not None
    return plan.kernels[0]


def test_two_dimensions_where_they_are_long_enough() -> None:
    for text, sizes in ((GEMM, {}), (GROUPED, LONG), (GROUPED, {}), (BATCHED, {})):
        found = tiles(text, sizes)
        assert {len(t) for t in found} == {2}
        assert all(prod(prod(d) for d in t.values()) <= MOST_POINTS for t in found)


def test_a_third_one_that_an_operand_does_not_use_where_they_are_short() -> None:
    """The filters serve all images; groups share nothing."""
    found = tiles(GROUPED, SHORT)
    assert {tuple(t) for t in found} == {("w", "f", "n")}
    deep = [t for t in found if t["n"] != (1, 1)]
    assert {t["n"] for t in deep} == {(1, 2), (1, 4)}
    assert all(prod(prod(d) for d in t.values()) in DEEP_POINTS for t in deep)
    assert {d for t in tiles(GROUPED, {**SHORT, "N": 2}) for d in [t["n"]]} == {(1, 1), (1, 2)}


def test_no_third_one_where_every_operand_uses_the_others() -> None:
    assert {len(t) for t in tiles(BATCHED, {"B": 500, "M": 8, "N": 8, "K": 64})} == {2}


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_filters_of_small_maps_serve_several_images_and_no_lane_is_idle(target: str) -> None:
    plan = {d.dim: d for d in default(SHORT, target).dims}
    assert plan["n"].registers > 1
    assert plan["h"].tile == 5
    assert default(LONG, target).dims[0].registers == 1


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_of_plans_that_are_as_good_the_one_that_asks_least_of_shared_memory(target: str) -> None:
    sizes = {**SHORT, "C": 16, "F": 16, "H": 14, "W": 14}
    lowering = compiled(GROUPED, sizes, target).lowering
    assert lowering is not None
    (kernel,) = lowering.nest.kernels
    first, *others = (c.prediction for c in candidates(kernel, lowering.program, TARGETS[target]))
    best = min((first, *others), key=lambda p: p.cycles)
    assert first.cycles <= AS_GOOD * best.cycles
    assert first.blocks >= best.blocks
    assert first.passes == min(
        p.passes
        for p in (first, *others)
        if p.cycles <= AS_GOOD * best.cycles and p.blocks >= best.blocks
    )
    assert [p.cycles for p in others] == sorted(p.cycles for p in others)
