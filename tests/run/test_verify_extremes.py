"""Inputs in which minima and maxima have their extreme at known places."""

from __future__ import annotations

import numpy as np
import pytest

from tcc.api import request_of
from tcc.driver import compile_program
from tcc.frontend import tir
from tcc.inputs import options_of_data
from tcc.run.verify_extremes import PLACES, draws, longest, place, reduced_dims
from tcc.run.verify_inputs import Style, draw, find_domain
from tcc.source import Source

LEAST = "def f(float(N) A) -> (O) { O min=! A(n) }"
ROWS = "def f(float(M, N) A) -> (O) { O(m) max=! A(m, n) }"
SCORES = """
def f(float(M, D) Q, float(N, D) K) -> (S, O) {
    S(m, n) +=! Q(m, d) * K(n, d)
    O(m) max=! S(m, n)
}
"""


def program(text: str) -> tir.Program:
    asked = request_of(Source("f.tc", text), None, {}, options_of_data("<options>", {}), None)
    found = compile_program(asked, stop_after="elaborate").program
    assert found is not None
    return found


def test_dimensions_of_minima() -> None:
    assert reduced_dims(program(LEAST)) == {"A": (0,)}
    assert reduced_dims(program(ROWS)) == {"A": (1,)}
    assert reduced_dims(program(SCORES)) == {"S": (1,), "K": (0,)}
    assert reduced_dims(program("def f(float(N) A) -> (O) { O +=! A(n) }")) == {}


def test_how_many_draws() -> None:
    assert draws(program(LEAST), {"N": 9000}) == PLACES
    assert draws(program(LEAST), {"N": 7}) == 7
    assert draws(program(ROWS), {"M": 3, "N": 9000}) == 43
    assert draws(program(ROWS), {"M": 500, "N": 9000}) == 1
    assert longest(program(SCORES), {"M": 2, "N": 5, "D": 9}) == 5
    assert draws(program("def f(float(N) A) -> (O) { O +=! A(n) }"), {"N": 9}) == 0


def test_every_warp_lane_and_part_has_both_extremes() -> None:
    """Threads of a warp take neighbours, or four of them each; parts are cut anywhere."""
    values = np.zeros(9000)
    for least in (True, False):
        turns = (place(values, (0,), (-1, 1), turn) for turn in range(PLACES))
        places = np.array([t.argmin() if least else t.argmax() for t in turns])
        for length in (2731, 4096):
            assert set(places % length // 32 % 32) == set(range(32))
        assert set(places % 32) == set(range(32))
        assert set(places // 128 % 8) == set(range(8))
        assert set(places // 1000) == set(range(9))
        assert {0, 8999} <= set(places)


def test_each_slice_has_one_of_each() -> None:
    placed = place(np.zeros((3, 50, 4)), (1,), (-1, 1), 2)
    assert (placed.min(1) == -1).all()
    assert (placed.max(1) == 1).all()
    assert (np.count_nonzero(placed, 1) == 2).all()
    assert len(set(placed.argmax(1).flat)) == 12


@pytest.mark.parametrize(("kind", "given"), [("float", {"A": (-3.0, 4.0)}), ("int32", {})])
def test_given_ranges_and_integers(kind: str, given: dict) -> None:
    found = find_domain(program(LEAST.replace("float", kind)), {"N": 300}, given)
    for turn in range(8):
        values = draw(found, Style.WIDE, 0, turn)["A"]
        low, high = found.limits["A"]
        assert (values == low).sum() == (values == high).sum() == 1


def test_nothing_to_place() -> None:
    assert place(np.zeros((0, 4)), (1,), (-1, 1), 0).shape == (0, 4)
    found = find_domain(program(LEAST), {"N": 5}, {"A": (1.0, 1.0)})
    assert (draw(found, Style.WIDE, 0)["A"] == 1).all()
