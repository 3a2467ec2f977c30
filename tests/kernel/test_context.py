"""Names, sizes and buffers that all kernels of a program share."""

from __future__ import annotations

import pytest

from tcc.affine import var
from tcc.kernel.context import Context, is_wide
from tcc.sched.scop import build_scop
from tests.sched.programs import elaborated

TEXT = "def f(float(M, K) A, float(K, N) N_4, int8(2048, 3000, 400) B) -> (C) { C(i, j) +=! A(i, k) * N_4(k, j) * B(0, 0, 0) }"


def context(**more: object) -> Context:
    program = elaborated(TEXT)
    return Context(build_scop(program), program, **more)


def test_aligned_sizes_are_parameters_of_their_own() -> None:
    aligned = context(quarters=frozenset("N"))
    assert aligned.size(var("N") + var("M")) == var("N_4_") * 4 + var("M")
    assert aligned.spelling["N_4"] == "N_4"
    assert aligned.unspelled["N_4_"] == var("N") // 4
    assert aligned.open_sizes([var("N_4_"), var("K")]) == ("K", "N_4_")


def test_replacing_sizes_twice_is_replacing_them_once() -> None:
    program = elaborated("def f(float(char, char_) A) -> (B) { B(i, j) = A(i, j) }")
    spelled = Context(build_scop(program), program)
    once = spelled.size(var("char") * 2 + var("char_"))
    assert once == spelled.size(once)
    assert len(set(spelled.spelling.values())) == len(spelled.spelling)


@pytest.mark.parametrize(
    ("shape", "wide"),
    [
        ((), False),
        ((var("N"),), False),
        ((var("N") * 2,), True),
        ((var("N"), var("M")), True),
        ((var("N") // 4,), True),
        ((var("N") - var("N") + 2**31 - 1,), False),
        ((var("N") - var("N") + 2**31,), True),
    ],
)
def test_offsets_that_may_exceed_int(shape: tuple[object, ...], wide: bool) -> None:
    assert is_wide(shape) is wide


def test_buffers() -> None:
    assert context().buffer("B", readonly=True).wide
    assert context().buffer("A", readonly=True).wide
    assert not context(narrow=True).buffer("A", readonly=True).wide
    assert context().buffer("C", readonly=False).readonly is False
