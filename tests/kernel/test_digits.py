"""Digits of parallel loops: every point once, whatever the grid, the threads, the registers."""

from __future__ import annotations

import random

import pytest

from tcc.affine import const, minimum, var
from tcc.kernel.digits import frame
from tcc.kernel.names import Names
from tcc.sched.nest import Dim
from tcc.sched.plan import DimPlan, KernelPlan
from tests.kernel.mapped import Mapped

POINTWISE = "def f(int32(N, M, K) A) -> (C) { C(i, j, k) = A(i, j, k) + i where i in 1:N }"
SIZES = {"N": 6, "M": 3, "K": 5}


def digits(rng: random.Random, name: str, capped: set[int]) -> DimPlan:
    grid = rng.choice((None, 0, 1, 2))
    blocks = None
    if grid is not None and grid not in capped:
        capped.add(grid)
        blocks = rng.choice((None, 1, 2, 3))
    axis, threads = rng.choice((None, 0, 1, 2)), rng.choice((1, 2, 3))
    outer, inner = rng.choice((1, 2, 3)), rng.choice((1, 2, 4))
    covered = outer * inner * (threads if axis is not None else 1)
    tile = rng.choice((covered, covered, rng.randint(1, covered)))
    return DimPlan(name, tile, grid, blocks, axis, 1 if axis is None else threads, outer, inner)


@pytest.mark.parametrize("fixed", [True, False])
def test_every_point_is_stored_once(fixed: bool) -> None:
    mapped = Mapped(POINTWISE, SIZES, fixed=fixed)
    rng = random.Random(0)
    for _ in range(20):
        capped: set[int] = set()
        plan = KernelPlan("f_kernel", tuple(digits(rng, n, capped) for n in "ijk"))
        stores = mapped.check(plan)
        assert set(stores.values()) == {1}, plan.text()
        assert len(stores) == mapped.wanted["C"].size


def laid(extents: dict[str, int], *plans: DimPlan) -> object:
    dims = tuple(Dim(n, const(0), const(e), True) for n, e in extents.items())
    return frame(dims, KernelPlan("f", plans), Names())


def test_grid_is_no_larger_than_needed() -> None:
    assert laid({"i": 10}, DimPlan("i", 4, 0)).grid == (const(3), const(1), const(1))
    assert laid({"i": 10}, DimPlan("i", 4, 0, blocks=2)).grid == (const(2), const(1), const(1))
    assert laid({"i": 3}, DimPlan("i", 4, 0)).aliases == ()


def test_dimensions_on_one_axis_are_folded_into_it() -> None:
    made = laid({"i": 3, "j": 5}, DimPlan("i", 1, 2), DimPlan("j", 2, 2))
    assert made.grid == (const(1), const(1), const(9))
    assert not made.looped


def test_grids_beyond_the_limit_are_walked() -> None:
    made = laid({"i": 70000}, DimPlan("i", 1, 1))
    assert made.grid == (const(1), const(65535), const(1))
    assert made.looped
    open_ = frame(
        (Dim("i", const(0), var("N"), True),), KernelPlan("f", (DimPlan("i", 1, 1),)), Names()
    )
    assert open_.grid[1] == minimum(var("N"), 65535)


def test_positions() -> None:
    made = laid({"i": 64}, DimPlan("i", 24, 0, None, 0, 4, 2, 3))
    (digit,) = made.digits
    at = {"b0": 1, "t0": 3, "i_o": 1, "i_i": 2}
    assert digit.value.evaluate(at) == 24 + (1 * 4 + 3) * 3 + 2
    assert digit.register_index.evaluate(at) == 1 * 3 + 2
    assert not digit.padded
