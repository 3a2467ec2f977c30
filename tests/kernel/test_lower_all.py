"""Kernels for aligned sizes beside those for all sizes."""

from __future__ import annotations

from tests.kernel.running import check, compiled


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


def test_shapes_that_are_extrema_of_sizes() -> None:
    text = """
    def f(float(M, K) A, float(K, N) B, float(P, N) D) -> (C) {
        C(i, j) +=! A(i, k) * B(k, j) + D(i, j)
    }
    """
    for rows in (3, 9):
        check(text, {"M": 7, "K": 8, "N": 12, "P": rows}, fixed=False)
