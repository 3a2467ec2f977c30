"""The text of typed programs, and programs with sizes put in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tcc.affine import Affine, const, maximum, var
from tcc.frontend import tir
from tcc.frontend.describe import describe
from tcc.frontend.specialise import specialise
from tcc.scalar import ScalarType
from tests.frontend.elaborated import program
from tests.frontend.well_formed import check

CONV = """
def conv(half(N, C, W) I, half(M, C, K) F, float scale) -> (T, float O) {
    T(n, m, w) +=! I(n, c, w + k) * F(m, c, k)
    S(w) = T(0, 0, w - 1) * N  # a part
    O max=! scale * S(w)
}
"""
TEXT = """\
def conv
  sizes  N, C, W, M, K
  input      I      float16  (N, C, W)
  input      F      float16  (M, C, K)
  input      scale  float32  ()
  output     T      float16  (N, M, W - K + 1)
  output     O      float32  ()
  temporary  S      float16  (1:W - K + 2)

  S0  T(n, m, w) +=! I(n, c, w + k) * F(m, c, k)
      n  0:N
      m  0:M
      w  0:W - K + 1
      c  0:C          reduction
      k  0:K          reduction

  S1  S(w) = T(0, 0, w - 1) * N
      w  1:W - K + 2

  S2  O max=! scale * S(w)
      w  1:W - K + 2  reduction

  requires
      W >= K  the range `0:W - K + 1` of `w` is not empty
"""


def test_describe():
    assert describe(program(CONV)) == TEXT


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (var("N") - var("M") - 1, "N >= M + 1"),
        (var("N") * 2 - 8, "2 * N >= 8"),
        (9 - var("K") - var("L"), "K + L <= 9"),
        (var("N") - var("M") + 3, "N + 3 >= M"),
        (maximum(var("N"), var("M")) - 4, "max(M, N) >= 4"),
        (-(var("N") % 2), "2 * (N / 2) >= N"),
    ],
)
def test_preconditions_are_comparisons(expression: Affine, text: str) -> None:
    found = program(CONV).preconditions[0]
    assert str(replace(found, expression=expression)) == text


def test_describe_without_sizes():
    text = describe(program("def f() -> (y) { y(i) = 1 where i in 0:3 }"))
    assert text.startswith("def f\n  output  y  int32  (3)\n")


def test_specialise_puts_sizes_in_everywhere():
    found = specialise(program(CONV), {"W": 9, "K": 3, "N": 2})
    check(found)
    assert found.sizes == ("C", "M")
    assert found.preconditions == ()
    assert found.tensors["T"].shape[2] == const(7)
    assert found.tensors["S"].origin == (const(1),)
    assert found.statements[1].ranges["w"] == tir.Range(const(1), const(8))
    literals = [n for n in tir.walk(found.statements[1].value) if isinstance(n, tir.Literal)]
    assert tir.Literal(2, ScalarType.INT32) in literals


def test_specialise_keeps_what_stays_open():
    found = specialise(program(CONV), {"W": 9})
    (condition,) = found.preconditions
    assert str(condition.expression) == "9 - K"


def test_specialise_without_sizes_is_the_program():
    found = program(CONV)
    assert specialise(found, {}) is found
    assert specialise(found, {"Q": 3}) is found
