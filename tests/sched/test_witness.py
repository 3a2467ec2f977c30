"""Smallest cases."""

from __future__ import annotations

from tcc.affine import var
from tcc.diagnostics import Report, error
from tcc.sched.witness import (
    Witness,
    allowed,
    element,
    is_reported,
    iteration,
    relevant_sizes,
    smallest,
)
from tests.sched.programs import GEMM, PROGRAMS, model


def test_sizes_are_as_small_as_they_can_be() -> None:
    scop, _ = model(GEMM)
    update = scop.by_name["S0"]
    cases = update.domain.intersect(update.space.set(["k >= 2"]))
    assert smallest(scop, {}, cases) == Witness({"M": 1, "K": 3, "N": 1}, (0, 0, 2))
    assert smallest(scop, {"K": 7}, cases) == Witness({"M": 1, "K": 7, "N": 1}, (0, 0, 2))
    assert smallest(scop, {"K": 2}, cases) is None


def test_conditions_on_sizes_hold_in_a_witness() -> None:
    scop, _ = model("def f(float(N) X) -> (Y) { Y(i) = X(i + 1) where i in 2:N - 1 }")
    found = smallest(scop, {}, scop.statements[0].domain)
    assert found == Witness({"N": 4}, (2,))
    assert allowed(scop, {"N": 3}).is_empty()


def test_only_sizes_that_matter_are_shown() -> None:
    scop, _ = model(PROGRAMS["triangle"])
    assert relevant_sizes(scop.by_name["S0"], var("r")) == {"r", "i", "N"}
    witness = Witness({"M": 1, "N": 2}, ())
    assert witness.at({"N"}) == ", at N = 2"
    assert witness.at({"N", "M", "i"}) == ", at M = 1, N = 2"
    assert witness.at(()) == ""


def test_words() -> None:
    scop, _ = model(GEMM)
    init, update = scop.statements
    assert iteration(init, (1, 2)) == "iteration (1, 2)"
    assert iteration(update, (1, 2, 3)) == "iteration (i = 1, j = 2, k = 3)"
    assert element("A", (1, 0)) == "`A(1, 0)`"
    assert element("s", ()) == "`s`"


def test_places_with_an_error() -> None:
    scop, _ = model(GEMM)
    span = scop.program.statements[0].target_span
    report = Report()
    assert not is_reported(report, span)
    report.add(error("E0401", "message", span))
    assert is_reported(report, span)
