"""What the verifier of candidates compiles them at."""

from __future__ import annotations

from pathlib import Path

from tcc.driver import compile_program
from tcc.tune.evaluate import Evaluator, Job, Work
from tcc.tune.record import State
from tests.tune.records import request

LOOKUP = "def lut(float(E, D) T, int32(B, L) I) -> (O) { O(b, d) +=! T(I(b, l), d) where l in 0:L }"
# The table is too large for the reference kernel, so that small sizes are chosen instead.
SIZES = {"E": 10_000_000, "D": 64, "B": 128, "L": 50}


def test_a_plan_that_open_sizes_do_not_allow_is_verified(tmp_path: Path) -> None:
    """Indices are staged only where a row has a known length; a search lost its default by it."""
    asked = request(LOOKUP, "verify: {inputs: {I: [0, 0]}}", **SIZES)
    made = compile_program(asked)
    assert made.plan is not None
    text = "mapping:\n" + "".join(f"  {line}\n" for line in made.plan.text().splitlines())
    assert "staging: {I: shared}" in text
    found = Evaluator(Job(asked, tmp_path))(Work(text))
    assert (found.state, found.reason) == (State.DONE, "")
    assert found.verified
