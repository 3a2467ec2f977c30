"""Results copied to registers inside of loops over reductions, and loops of several reductions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tests import case_files
from tests.agreement import assert_agrees, run_both_orders
from tests.sched.programs import CONVOLUTION, GEMM, MATMUL_BIAS_RELU, SOFTMAX

SQUARE = {"M": 37, "N": 20, "K": 45}
TILED = {"tile": [16, 16, 8], "threads": [8, 8]}
SHARED = {"use_shared_memory": True, **TILED}
STEPS = "  for (int k_t = 0; k_t < 6; ++k_t) {\n"
NO_EFFECT = "`private_depth` has no effect in "


def compiled(program: str, sizes: Mapping[str, int], **mapping: object) -> Kernel:
    mapping = {"outer_schedule_fusion_strategy": "max", **mapping}
    return tcc_compile(program, sizes=sizes, options={"mapping": mapping})


def check(kernel: Kernel, sizes: Mapping[str, int], *, races: bool = False) -> None:
    """Values in both orders; `races`: also in the checking build, which takes long to compile."""
    program = kernel.compilation.program
    assert program is not None
    arrays = case_files.inputs(program, case_files.Case(case_files.FOLDER, "", sizes=dict(sizes)))
    assert_agrees(program, arrays, sizes, run_both_orders(kernel, arrays))
    if races:
        assert_agrees(program, arrays, sizes, kernel.run(arrays, device="host", check=True))


def fetches(kernel: Kernel, result: str) -> list[int]:
    """How far the loads of a result into registers are indented."""
    lines = kernel.cuda_source.splitlines()
    found = [t for t in lines if "private_" in t.partition("=")[0] and f"= {result}[" in t]
    return [(len(t) - len(t.lstrip())) // 2 for t in found]


@pytest.mark.parametrize("pipeline", [1, 2, 3])
def test_inside_of_the_loop_over_tiles(pipeline: int) -> None:
    """The results go to memory before the loop, and there and back in every iteration."""
    outside = compiled(GEMM, SQUARE, private_depth=2, **SHARED, pipeline=pipeline)
    assert outside.plan == compiled(GEMM, SQUARE, **SHARED, pipeline=pipeline).plan
    assert fetches(outside, "C") == []
    kernel = compiled(GEMM, SQUARE, private_depth=3, **SHARED, pipeline=pipeline)
    assert "private_depth: 3" in kernel.plan.text()
    before, loop, inside = kernel.cuda_source.partition("_t < 6; ++k_t) {")
    assert loop
    assert before.count(" = private_C[") == 1
    assert inside.count("private_C[i_o][j_o] = C[i * 20 + j];") == 1
    check(kernel, SQUARE, races=pipeline > 2)


def test_the_plan_says_it_again() -> None:
    kernel = compiled(GEMM, SQUARE, private_depth=3, **SHARED)
    text = "mapping:\n" + "".join(f"  {line}\n" for line in kernel.plan.text().splitlines())
    again = tcc_compile(GEMM, sizes=SQUARE, options=text)
    assert again.cuda_source == kernel.cuda_source


def test_a_temporary_gets_memory() -> None:
    plain = compiled(MATMUL_BIAS_RELU, SQUARE, **TILED, use_private_memory=True)
    assert "workspace" not in plain.cuda_source
    kernel = compiled(MATMUL_BIAS_RELU, SQUARE, private_depth=9, **TILED, use_private_memory=True)
    assert "workspace" in kernel.cuda_source
    check(kernel, SQUARE)


@pytest.mark.parametrize(("depth", "loops"), [(4, 0), (5, 1), (6, 2), (7, 2)])
def test_among_several_loops_over_tiles(depth: int, loops: int) -> None:
    """Loops over tiles of c and p, and one tile of q; the results have one loop of registers."""
    sizes = {"N": 2, "C": 5, "H": 9, "W": 8, "F": 3, "KH": 3, "KW": 2}
    mapping = {"tile": [1, 2, 4, 4, 2, 2], "threads": [4, 4], "use_private_memory": True}
    kernel = compiled(CONVOLUTION, sizes, private_depth=depth, **mapping)
    around = 1 + 2  # the function; the loop over registers, the guard
    assert fetches(kernel, "O") == ([around + loops] if loops else [])
    if loops == 1:
        check(kernel, sizes, races=True)


def test_untiled_reductions_add_to_memory() -> None:
    kernel = compiled(GEMM, SQUARE, private_depth=3, **TILED)
    assert "C[i * 20 + j] = fmaf(A[i * 45 + k], B[k * 20 + j], C[i * 20 + j]);" in (
        kernel.cuda_source
    )
    assert "private_C" not in kernel.cuda_source
    check(kernel, SQUARE)
    rows = compiled(SOFTMAX, {"M": 9, "N": 21}, private_depth=2, reduction="thread")
    assert "mx[i] = fmaxf(mx[i], X[i * 21 + j]);" in rows.cuda_source
    check(rows, {"M": 9, "N": 21})


@pytest.mark.parametrize(
    ("program", "mapping", "why"),
    [
        ("def f(float(N) A) -> (B) { B(i) = A(i) }", {}, "it has no loops inside"),
        (
            "def f(float(N, K) A) -> (S) { S(i) +=! A(i, k) }",
            {"reduction": "warp"},
            "threads share",
        ),
        ("def f(float16(N, K) A) -> (S) { S(i) +=! A(i, k) }", {"reduction": "thread"}, "a half-"),
    ],
)
def test_results_that_stay_in_registers(program: str, mapping: dict[str, str], why: str) -> None:
    sizes = {"N": 9, "K": 40} if "K" in program else {"N": 9}
    kernel = compiled(program, sizes, private_depth=2, **mapping)
    (note,) = kernel.compilation.notes
    assert note.startswith(f"{NO_EFFECT}`f_kernel`: {why}")
    assert kernel.plan == compiled(program, sizes, **mapping).plan


TWO_PRODUCTS = """
def two(float(N, K) A, float(K, M) B, float(N, L) C, float(L, M) D) -> (Z) {
    X(i, j) +=! A(i, k) * B(k, j)
    Y(i, j) +=! C(i, l) * D(l, j)
    Z(i, j) = X(i, j) + Y(i, j)
}
"""


def test_loops_that_are_around_a_part_of_the_statements() -> None:
    sizes = {"N": 20, "M": 24, "K": 30, "L": 17}
    plans = {
        cut: compiled(TWO_PRODUCTS, sizes, **SHARED, tile_imperfectly_nested=cut)
        for cut in (None, True, False)
    }
    assert plans[None].plan == plans[True].plan
    assert [p.tile for p in plans[True].plan.kernels[0].loops] == [8, 8]
    assert [p.tile for p in plans[False].plan.kernels[0].loops] == [30, 17]
    assert plans[True].compilation.notes == ()
    check(plans[False], sizes)
    single = compiled(GEMM, SQUARE, **SHARED, tile_imperfectly_nested=False)
    assert [p.tile for p in single.plan.kernels[0].loops] == [8]
