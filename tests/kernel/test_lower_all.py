"""Kernels for aligned sizes beside those for all sizes."""

from __future__ import annotations

import pytest

from tests.agreement import assert_agrees, run_both_orders
from tests.kernel.running import check, compiled, data
from tests.sched.programs import GEMM


def test_tensors_beyond_int_go_to_the_kernels_for_all_sizes() -> None:
    """The kernels for aligned sizes have 32-bit offsets; one open extent suffices to exceed them."""
    text = (
        "def f(float(M, 3000000) A, float(3000000, K) B) -> (C) { C(i, j) +=! A(i, k) * B(k, j) }"
    )
    source = compiled(text).cuda_source
    assert "f_kernel_aligned" in source
    assert "(long long)M * (long long)3000000 <= 2147483647" in source
    assert "(long long)3000000 * (long long)K <= 2147483647" in source


def test_no_aligned_kernels_where_a_tensor_is_always_too_large() -> None:
    text = """
    def f(float(M, K) A, float(K, N) B, int8(50000, 50000) D) -> (C) {
        C(i, j) +=! A(i, k) * B(k, j) * D(0, 0)
    }
    """
    assert compiled(text).artifact.interface.fast is None


def test_misaligned_pointers_go_to_the_kernels_for_all_sizes() -> None:
    """Where rows of a fixed length are read in vectors by both, their pointers are refused."""
    kernel = compiled(GEMM)
    assert kernel.artifact.interface.alignments == {}
    assert "cudaErrorMisalignedAddress" not in kernel.cuda_source
    choice = next(t for t in kernel.cuda_source.splitlines() if "N % 4 == 0" in t)
    assert all(f"(size_t){tensor} % 16 == 0" in choice for tensor in "ABC")
    aligned, general = kernel.cuda_source.split("gemm_kernel(")
    assert "__builtin_assume_aligned" in aligned
    assert "__builtin_assume_aligned" not in general
    mixed = compiled(GEMM, {"K": 1024})
    assert mixed.artifact.interface.alignments == {"A": 16}


@pytest.mark.parametrize("sizes", [{"M": 40, "N": 36}, {"M": 33, "N": 17}, {"M": 1, "N": 5}])
def test_fixed_and_open_sizes_in_one_kernel(sizes: dict[str, int]) -> None:
    """Both kernels of a product whose K is fixed, multiple of 4 or not."""
    for depth in (24, 19):
        kernel = compiled(GEMM, {"K": depth})
        assert kernel.artifact.interface.symbolic == ("M", "N")
        program = kernel.compilation.program
        assert program is not None
        arrays = data(program, {**sizes, "K": depth})
        results = run_both_orders(kernel, arrays)
        assert_agrees(program, arrays, {**sizes, "K": depth}, results)


def test_shapes_that_are_extrema_of_sizes() -> None:
    text = """
    def f(float(M, K) A, float(K, N) B, float(P, N) D) -> (C) {
        C(i, j) +=! A(i, k) * B(k, j) + D(i, j)
    }
    """
    for rows in (3, 9):
        check(text, {"M": 7, "K": 8, "N": 12, "P": rows}, fixed=False)
