"""Copies to shared memory: the whole box, each element once, between the right barriers.

The kernel IR is run by hand (`run_ir`), which finds races, unset elements and divergent barriers.
"""

from __future__ import annotations

import random

import pytest

from tcc.affine import const, var
from tcc.kernel import ir
from tcc.kernel.dump import text as text_of
from tcc.kernel.tile_box import Tile, merged
from tcc.scalar import ScalarType as T
from tcc.sched.budget import needs
from tcc.sched.nest import Dim, Loop, Node
from tcc.sched.plan import DimPlan, KernelPlan, LoopPlan, Staging
from tcc.sched.reuse import chains
from tests.kernel.mapped import Mapped

PROGRAMS = {
    "rows and columns": (
        "def f(int32(M, K) A, int32(N, K) B) -> (C) { C(i, j) +=! A(i, k) * B(j, k) }",
        {"M": 5, "K": 7, "N": 6},
    ),
    "whole rows": (
        "def f(int32(M, K, L) A, int32(K, L, N) B) -> (C) { C(i, j) max=! A(i, k, l) + B(k, l, j) }",
        {"M": 4, "K": 3, "L": 4, "N": 8},
    ),
    "windows": (
        """
        def f(int32(M, H) A, int32(N, K) B) -> (C) {
            C(i, j, h) +=! (h + k - 1 >= 0 && h + k - 1 < H ? A(i, h + k - 1) : 0) * B(j, k)
                where h in 0:H
        }
        """,
        {"M": 2, "H": 6, "N": 3, "K": 3},
    ),
    "stencil": (
        "def f(int32(M, N) A) -> (C) { C(i, j) = A(i, j) + A(i + 2, j + 1) - A(i + 1, j) }",
        {"M": 6, "N": 7},
    ),
    "transposition": ("def f(int32(M, N) A) -> (C) { C(i, j) = A(j, i) }", {"M": 6, "N": 7}),
}


def dim_plan(dim: Dim, axis: int, rng: random.Random) -> DimPlan:
    """Digits that need not fit the extent; all tiles in the grid, or walked by the blocks."""
    outer, threads, inner = rng.choice((1, 1, 2)), rng.choice((1, 2, 3)), rng.choice((1, 2, 4))
    grid, blocks = rng.choice(((None, None), (axis, None), (axis, 1)))
    return DimPlan(dim.name, outer * threads * inner, grid, blocks, axis, threads, outer, inner)


def loop_plans(nodes: tuple[Node, ...], rng: random.Random) -> tuple[LoopPlan, ...]:
    last = nodes[-1]
    if not isinstance(last, Loop):
        return ()
    here = LoopPlan(last.dim.name, rng.choice((1, 2, 3, 4)), rng.random() < 0.5)
    return (here, *loop_plans(last.body, rng))


def plan(mapped: Mapped, rng: random.Random) -> KernelPlan:
    """Few threads, everything in shared memory."""
    (kernel,) = mapped.nest.kernels
    return KernelPlan(
        kernel.name,
        tuple(dim_plan(d, axis, rng) for axis, d in enumerate(kernel.parallel)),
        loop_plans(kernel.body, rng),
        tuple((t, Staging.SHARED) for t in mapped.program.inputs),
        rng.choice((1, 2, 3)),
        rolled_copies=rng.random() < 0.3,
        vector=rng.choice((None, 1, 2)),
    )


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_shared_memory(name: str, fixed: bool) -> None:
    text, sizes = PROGRAMS[name]
    mapped = Mapped(text, sizes, fixed=fixed)
    rng = random.Random(1)
    for _ in range(8):
        chosen = plan(mapped, rng)
        stores = mapped.check(chosen)
        assert set(stores.values()) == {1}, chosen.text()
        (kernel,) = mapped.kernels(chosen)
        assert len(kernel.shared) == len(mapped.program.inputs), chosen.text()
        (nest,) = mapped.nest.kernels
        found = chains(nest, mapped.program)
        asked = needs(nest, found, mapped.program, chosen).shared_bytes
        assert kernel.shared_bytes <= asked, chosen.text()


def test_warps_that_copy_across_lines() -> None:
    """With 16 vectors a row, lanes of one row would meet in two banks each."""
    text = "def f(int32(M, K) A, int32(N, K) B) -> (C) { C(i, j) +=! A(i, k) * B(j, k) }"
    mapped = Mapped(text, {"M": 15, "N": 7, "K": 128})
    dims = (DimPlan("i", 16, 1, None, 1, 8, 1, 2), DimPlan("j", 8, 0, None, 0, 8, 1, 1))
    staging = (("A", Staging.SHARED), ("B", Staging.SHARED))
    chosen = KernelPlan("f_kernel", dims, (LoopPlan("k", 64),), staging, 2)
    assert "t0 / 8" in text_of(mapped.kernels(chosen))
    assert set(mapped.check(chosen).values()) == {1}


def box(extents: tuple[int, ...], shape: tuple[int, ...], order: tuple[int, ...]) -> Tile:
    source = ir.Buffer("A", ir.Space.GLOBAL, T.FLOAT32, tuple(map(const, shape)))
    shared = ir.Buffer("s", ir.Space.SHARED, T.FLOAT32, (const(64),))
    rows = tuple(extents[d] for d in order)
    start = (var("x"), *(const(0) for _ in extents[1:]))
    return Tile("A", source, shared, extents, order, rows, 1, (), lambda _: start, lambda *_: [])


def test_whole_rows_are_one_row() -> None:
    assert merged(box((2, 3, 4), (9, 3, 4), (0, 1, 2))).extents == (24,)
    assert merged(box((2, 3, 4), (9, 9, 4), (0, 1, 2))).extents == (2, 12)
    assert merged(box((2, 3, 4), (9, 3, 9), (0, 1, 2))).extents == (6, 4)
    assert merged(box((2, 3, 4), (9, 3, 4), (0, 2, 1))).extents == (2, 3, 4)


def test_merged_positions_are_the_same_elements() -> None:
    tile = box((2, 3, 4), (9, 3, 4), (0, 1, 2))
    row = merged(tile)
    assert row.source.shape == (const(108),)
    assert row.origin(()) == (var("x") * 12,)
    for a, b, c in ((0, 0, 0), (1, 2, 3), (0, 1, 2)):
        at = tuple(map(const, (a, b, c)))
        assert tile.offset(at) == row.offset((const((a * 3 + b) * 4 + c),))
