"""Nests to kernels: what runs where, and under which guards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tcc.kernel.context import Context
from tcc.kernel.lower import lower
from tcc.sched.nest import Loop, Nest
from tcc.sched.scop import build_scop
from tcc.sched.structure import Unstructured, program_order
from tcc.sched.tile import single_thread
from tests.kernel.running import check
from tests.sched.programs import elaborated


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("bound", ["0:i + 1", "i:N", "0:N - i"])
def test_range_of_a_loop_differs_between_the_registers_of_a_thread(bound: str, fixed: bool) -> None:
    text = f"def f(float(N, N) A) -> (S) {{ S(i) +=! A(i, r) where r in {bound} }}"
    check(text, {"N": 13}, fixed=fixed, tile=[6], threads=[2], blocks=[1])


def test_half_sums_that_would_be_rounded_at_every_step_are_refused() -> None:
    """Two sums share the outer loop only, and both are read again in the kernel."""
    text = """
    def f(float16(N, R, Q) A) -> (S, T, U) {
        S(i) +=! A(i, r, q)
        T(i) +=! A(i, r, q)
        U(i) = S(i) + T(i)
    }
    """
    program = elaborated(text)
    scop = build_scop(program)
    (first, second, last) = program_order(scop).kernels
    sums = [next(n for n in k.body if isinstance(n, Loop)) for k in (first, second)]
    outer = Loop(sums[0].dim, tuple(n for s in sums for n in s.body))
    inits = tuple(k.body[0] for k in (first, second))
    nest = Nest((replace(last, body=(*inits, outer, *last.body)),))
    with pytest.raises(Unstructured, match="rounded at every step"):
        lower(Context(scop, program), nest, single_thread(nest))


def test_elements_at_an_origin_and_gathered_subscripts() -> None:
    text = """
    def f(float(N, M) A, uint32(K) G, int64(K) H) -> (B, C) {
        B(i, j) = A(i, j) + i where i in 2:N, j in 1:M
        C(k) = B(int32(G(k)) + 2, H(k) % 3 + 1) - A(G(k), 0) where k in 1:K
    }
    """
    for fixed in (True, False):
        check(text, {"N": 9, "M": 6, "K": 7}, fixed=fixed)


def test_what_a_point_needs_of_itself_stays_in_registers() -> None:
    """No temporary reaches memory, whatever the registers of a thread."""
    text = """
    def f(float(N, M) A) -> (D) {
        B(i, j) = A(i, j) * 2.0
        C(i, j) = B(i, j) + A(i, j)
        D(i, j) = C(i, j) * B(i, j)
    }
    """
    for mapping in ({}, {"registers": [2, 2]}, {"tile": [5, 7], "threads": [2, 2]}):
        kernel = check(text, {"N": 11, "M": 13}, **mapping)
        assert [launch.arguments for launch in kernel.launches] == [("A", "D")]
