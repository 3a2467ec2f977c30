"""Wrong schedules and placements are found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tcc.affine import Affine, const, var
from tcc.errors import InternalError
from tcc.sched import tree
from tcc.sched.legality import (
    Placement,
    check_kernels,
    check_schedule,
    check_tree,
    no_distance,
)
from tcc.sched.tree import Band, Filter, Leaf, Member, Sequence
from tests.sched.programs import GEMM, MATMUL_BIAS_RELU, SOFTMAX, STENCILS, model

ROW, COLUMN, STEP = var("i"), var("j"), var("k")
ZERO, ONE = const(0), const(1)


def test_the_order_of_the_program_is_legal() -> None:
    _, found = model(GEMM)
    check_schedule(
        found, {"S0_init": (ROW, COLUMN, ZERO, ZERO), "S0": (ROW, COLUMN, ONE, STEP)}, parallel=2
    )
    check_schedule(found, {"S0_init": (ZERO, ROW, COLUMN, ZERO), "S0": (ONE, STEP, COLUMN, ROW)})


def test_an_update_before_its_initialisation() -> None:
    _, found = model(GEMM)
    times = {"S0_init": (ROW, COLUMN, ONE, ZERO), "S0": (ROW, COLUMN, ZERO, STEP)}
    with pytest.raises(InternalError, match=r"S0_init must run before S0 .* does not run earlier"):
        check_schedule(found, times, parallel=2)


def test_an_initialisation_at_the_time_of_its_update() -> None:
    _, found = model(GEMM)
    with pytest.raises(InternalError, match="does not run earlier"):
        check_schedule(found, {"S0_init": (ROW, COLUMN), "S0": (ROW, COLUMN, STEP)})


def test_a_parallel_reduction() -> None:
    """Relaxed pairs may swap, but not run on two threads."""
    _, found = model(GEMM)
    times = {"S0_init": (ROW, COLUMN, ZERO, ZERO), "S0": (ROW, COLUMN, STEP, ONE)}
    check_schedule(
        found, {"S0_init": (ROW, COLUMN, ZERO), "S0": (ROW, COLUMN, -STEP + var("K"))}, parallel=2
    )
    with pytest.raises(InternalError, match="runs on another thread"):
        check_schedule(found, times, parallel=3)


def test_reduction_steps_at_one_time() -> None:
    _, found = model(GEMM)
    times = {"S0_init": (ROW, COLUMN, ZERO), "S0": (ROW, COLUMN, ONE + STEP // 2)}
    with pytest.raises(InternalError, match=r"S0 must run before S0 .* does not run earlier"):
        check_schedule(found, times, parallel=2)


def test_a_stencil_is_not_parallel_with_its_producer() -> None:
    _, found = model(STENCILS)
    with pytest.raises(InternalError, match=r"another thread at .*'N'"):
        check_schedule(found, {"S0": (ROW, ZERO), "S1": (ROW, ONE)}, parallel=1)
    with pytest.raises(InternalError, match="does not run earlier"):
        check_schedule(found, {"S0": (ROW, ZERO), "S1": (ROW, ONE)})
    check_schedule(found, {"S0": (ROW, ZERO), "S1": (ROW + 1, ONE)})


def placed(kernel: int, parallel: tuple[Affine, ...], *time: Affine) -> Placement:
    return Placement(kernel, parallel, time)


def test_kernels_run_in_order() -> None:
    _, found = model(STENCILS)
    check_kernels(found, {"S0": placed(0, (ROW,)), "S1": placed(1, (ROW // 32, ROW % 32))})
    with pytest.raises(InternalError, match="runs in a later kernel"):
        check_kernels(found, {"S0": placed(1, (ROW,)), "S1": placed(0, (ROW,))})


def test_threads_of_one_kernel_share_nothing() -> None:
    _, found = model(MATMUL_BIAS_RELU)
    block = (ROW // 16, COLUMN // 16, ROW % 16, COLUMN % 16)
    good = {
        "S0_init": placed(0, block, ZERO),
        "S0": placed(0, block, ONE, STEP),
        "S1": placed(0, block, const(2)),
    }
    check_kernels(found, good)
    turned = (COLUMN // 16, ROW // 16, ROW % 16, COLUMN % 16)
    with pytest.raises(InternalError, match=r"S0 must run before S1 .* another thread"):
        check_kernels(found, {**good, "S1": placed(0, turned, const(2))})
    coarse = (ROW // 16, COLUMN // 16, ROW % 16, COLUMN % 8)
    with pytest.raises(InternalError, match="another thread"):
        check_kernels(found, {**good, "S1": placed(0, coarse, const(2))})


def test_parallel_vectors_of_different_lengths() -> None:
    _, found = model(SOFTMAX)
    names = [s.name for s in found.scop.statements]
    with pytest.raises(InternalError, match="different lengths"):
        check_kernels(found, {n: placed(0, (ROW, COLUMN) if n == "S1" else (ROW,)) for n in names})


def gemm_tree(*, reduction_coincident: bool = False, swapped: bool = False) -> tree.Node:
    reduction = Band((Member({"S0": STEP}, reduction_coincident),), True, Leaf())
    parts = [Filter(("S0_init",), Leaf()), Filter(("S0",), reduction)]
    both = {"S0_init", "S0"}
    members = tuple(Member(dict.fromkeys(sorted(both), v), True) for v in (ROW, COLUMN))
    return Band(members, True, Sequence(tuple(reversed(parts) if swapped else parts)))


def test_trees() -> None:
    _, found = model(GEMM)
    check_tree(found, gemm_tree())
    with pytest.raises(InternalError, match="does not run earlier"):
        check_tree(found, gemm_tree(swapped=True))
    with pytest.raises(InternalError, match="same iteration of a parallel loop"):
        check_tree(found, gemm_tree(reduction_coincident=True))


def test_a_tree_that_forgets_a_loop() -> None:
    _, found = model(GEMM)
    whole = gemm_tree()
    assert isinstance(whole, Band)
    with pytest.raises(InternalError, match="iterations of S0_init run at the same time"):
        check_tree(found, replace(whole, members=whole.members[:1]))


def test_coincidence_may_hang_on_outer_loops() -> None:
    """A sequential loop outside makes the inner one parallel."""
    _, found = model(
        """def f(float(N, M) X) -> (Y) {
            T(i, j) = X(i, j)
            Y(i, j) = T(i, M - 1 - j)
        }"""
    )
    i = Member({"S0": ROW, "S1": ROW}, True)
    j = Member({"S0": COLUMN, "S1": COLUMN}, True)
    parts = Sequence((Filter(("S0",), Leaf()), Filter(("S1",), Leaf())))
    with pytest.raises(InternalError, match=r"does not run earlier|parallel loop"):
        check_tree(found, Band((i, j), True, parts))
    apart = [Filter((s,), Band((Member({s: COLUMN}, True),), True, Leaf())) for s in ("S0", "S1")]
    check_tree(found, Band((i,), True, Sequence(tuple(apart))))


def test_distances() -> None:
    _, found = model(STENCILS)
    assert no_distance(found, ["S0"], {"S0": ROW})
    assert not no_distance(found, ["S0", "S1"], {"S0": ROW, "S1": ROW})
    assert no_distance(found, ["S0", "S1"], {"S0": ZERO, "S1": ZERO})
