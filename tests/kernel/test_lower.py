"""Nests to kernels: what runs where, and under which guards."""

from __future__ import annotations

import pytest

from tests.kernel.running import check


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("bound", ["0:i + 1", "i:N", "0:N - i"])
def test_range_of_a_loop_differs_between_the_registers_of_a_thread(bound: str, fixed: bool) -> None:
    text = f"def f(float(N, N) A) -> (S) {{ S(i) +=! A(i, r) where r in {bound} }}"
    check(text, {"N": 13}, fixed=fixed, tile=[6], threads=[2], blocks=[1])
