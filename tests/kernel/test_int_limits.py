"""Sizes at which kernels cannot count in int are refused, or counted in long long."""

from __future__ import annotations

import re

from tests.kernel.running import compiled


def test_products_of_open_sizes_are_ints() -> None:
    text = "def f(float(B, M, N, K) X) -> (S) { S(b) +=! X(b, i, j, k) }"
    artifact = compiled(text, {}).artifact
    requirements = artifact.interface.requirements
    assert [r.text for r in requirements] == ["K * M <= 2147483647", "K * M * N <= 2147483392"]
    assert "if (2147483647LL - (long long)K * (long long)M < 0)" in artifact.cuda_source


def test_conditions_of_the_launcher_do_not_overflow() -> None:
    text = "def f(float(K) A, float(N) B, float(M) C) -> (Y) { Y(i) = A(i) where i in 0:N * M }"
    source = compiled(text, {}).cuda_source
    assert "if ((long long)K - (long long)M * (long long)N < 0)" in source


def test_a_constant_row_of_a_large_tensor() -> None:
    text = "def f(uint8(2, N) A) -> (Y) { Y(j) = A(1, j) }"
    source = compiled(text, {"N": 1500000000}).cuda_source
    assert "A[(long long)j + 1500000000LL]" in source


def test_a_row_of_more_positions_than_an_int() -> None:
    text = "def f(float(B, M) X, float(B, N) Y) -> (S) { S(b) +=! X(b, i) * Y(b, j) }"
    source = compiled(text, {"B": 100, "M": 65536, "N": 65536}).cuda_source
    (read,) = re.findall(r"X\[(.*?)\]", source)
    assert "(long long)o" in read


def test_the_surplus_of_a_split_reduction_beyond_int() -> None:
    text = "def f(float(N) X) -> (S) { S +=! X(n) }"
    source = compiled(text, {"N": 2**31 - 1}).cuda_source
    (guard,) = re.findall(r"\((.*) \? X\[", source)
    assert guard.count("(long long)") >= 2


def test_ordinary_sizes_need_no_long_long() -> None:
    text = "def f(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
    source = compiled(text, {"M": 1024, "N": 1024, "K": 1024}).cuda_source
    assert "long long" not in source
