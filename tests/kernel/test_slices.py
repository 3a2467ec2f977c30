"""Threads that share k-tiles: the results of plain loops, no race, whatever stands around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tcc.api import compile as tcc_compile
from tcc.errors import CompileError
from tests.kernel.running import check, data
from tests.sched.programs import GEMM, MATMUL_BIAS_RELU

SQUARE = {"i": ["block.y 2", "outer 2", "thread.y 3"], "j": ["block.x", "thread.x 4", "inner 2"]}
SHARED = {"A": "shared", "B": "shared"}
SIZES = {"M": 13, "K": 43, "N": 10}


def plan(loop: list[str], kernel: str = "f_kernel", **more: Any) -> dict[str, Any]:
    return {kernel: {"parallel": SQUARE, "loops": {"k": loop}, "staging": SHARED, **more}}


def checked(text: str, sizes: dict[str, int], **mapping: Any) -> None:
    """Both orders of threads, and the build that finds races and reads of undefined memory."""
    kernel = check(text, sizes, **mapping)
    arrays = data(kernel.compilation.program, sizes)
    kernel.run(arrays, check=True)


@pytest.mark.parametrize("pipeline", [1, 2, 3])
@pytest.mark.parametrize("loop", [["tile 6", "thread.z 3"], ["tile 8", "thread.z 8", "rolled"]])
def test_products(loop: list[str], pipeline: int) -> None:
    """Tiles that do not divide the sum, blocks that walk several tiles of the result."""
    checked(GEMM, SIZES, plan=plan(loop, "gemm_kernel", pipeline=pipeline))


@pytest.mark.parametrize("fixed", [True, False])
def test_an_epilogue_runs_once(fixed: bool) -> None:
    given = plan(["tile 12", "thread.z 4"], "layer_kernel", pipeline=2)
    checked(MATMUL_BIAS_RELU, SIZES, fixed=fixed, plan=given)


@pytest.mark.parametrize("operator", ["+=", "*=", "min=", "max=", "max=!"])
def test_what_was_there_before_counts_once(operator: str) -> None:
    text = f"def f(int32(M, K) A, int32(K, N) B) -> (C) {{ C(i, j) {operator} A(i, k) * B(k, j) }}"
    checked(text, SIZES, plan=plan(["tile 4", "thread.z 2"]))


def test_a_start_value_from_a_statement_before() -> None:
    text = """
    def f(float(M, K) A, float(K, N) B, float(N) b) -> (C) {
        C(i, j) = b(j) where i in 0:M
        C(i, j) += A(i, k) * B(k, j)
        C(i, j) = relu(C(i, j))
    }
    """
    given = plan(["tile 4", "thread.z 2"])
    checked(text, SIZES, outer_schedule_fusion_strategy="max", plan=given)


def test_two_sums_of_one_loop() -> None:
    text = """
    def f(float(M, K) A, float(K, N) B) -> (C, D, E) {
        C(i, j) +=! A(i, k) * B(k, j)
        D(i, j) max=! A(i, k) + B(k, j) - 9.0
        E(i, j) = C(i, j) - D(i, j)
    }
    """
    given = plan(["tile 6", "thread.z 3"], pipeline=2)
    checked(text, SIZES, outer_schedule_fusion_strategy="max", plan=given)


def test_what_cannot_be_shared_is_done_by_one_thread() -> None:
    """Rounded values of `T` are in memory: threads that share the sum must not store them twice."""
    text = """
    def f(float(M, K) A, float(K, N) B) -> (float16(M, N) T, C, D) {
        T(i, j) += float16(A(i, 0)) where j in 0:N
        C(i, j) +=! A(i, k) * B(k, j)
        D(i, j) = C(i, j) + float(T(i, j))
    }
    """
    given = plan(["tile 6", "thread.z 3"])
    checked(text, SIZES, outer_schedule_fusion_strategy="max", plan=given)


@pytest.mark.parametrize(
    ("loops", "place"),
    [
        ({"k": ["tile 6", "thread.z 4"]}, "threads cannot share tiles of 6 evenly"),
        ({"k": ["tile 4", "thread.x 4"]}, "share the threads along x"),
        ({"k": ["thread.z 4", "tile 4"]}, "`tile` stands inside of `thread`"),
        ({"k": ["tile 4", "thread.z"]}, "is no digit here"),
    ],
)
def test_wrong_digits(loops: dict[str, list[str]], place: str) -> None:
    given = {"gemm_kernel": {"parallel": SQUARE, "loops": loops, "staging": SHARED}}
    with pytest.raises(CompileError) as found:
        tcc_compile(GEMM, sizes=SIZES, options={"mapping": {"plan": given}})
    assert place in found.value.diagnostics[0].message


def test_sums_count_as_shared_memory() -> None:
    """15 threads of 16 hand over what they have: 64 x 64 results, 4 bytes each."""
    digits = {"i": ["block.y", "thread.y 16", "inner 4"], "j": ["block.x", "thread.x 4", "inner 4"]}
    given = {
        "gemm_kernel": {
            "parallel": {"i": digits["i"], "j": digits["j"]},
            "loops": {"k": ["tile 16", "thread.z 16"]},
            "staging": SHARED,
        }
    }
    sizes = {"M": 512, "N": 512, "K": 512}
    with pytest.raises(CompileError) as found:
        tcc_compile(GEMM, sizes=sizes, options={"mapping": {"plan": given}})
    assert found.value.diagnostics[0].code == "E0524"


def test_few_results_of_long_sums_fill_the_sms_in_one_kernel() -> None:
    sizes = {"M": 128, "N": 128, "K": 2000}
    kernel = tcc_compile(MATMUL_BIAS_RELU, sizes=sizes)
    (launch,) = kernel.launches
    assert np.prod([e.value for e in launch.grid]) >= 100
    assert kernel.plan.kernels[0].sliced is not None


def test_very_long_sums_are_cut_into_kernels() -> None:
    kernel = tcc_compile(GEMM, sizes={"M": 64, "N": 64, "K": 1 << 16})
    assert len(kernel.launches) == 2
