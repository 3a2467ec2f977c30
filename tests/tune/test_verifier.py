"""What the verifier of candidates compiles them at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcc.driver import compile_program
from tcc.sched.split import OPEN_PART
from tcc.tune import verifier as verifier_module
from tcc.tune.evaluate import Evaluator, Job, Work
from tcc.tune.record import State
from tcc.tune.verifier import Verifier, present
from tests.tune.records import request

LOOKUP = "def lut(float(E, D) T, int32(B, L) I) -> (O) { O(b, d) +=! T(I(b, l), d) where l in 0:L }"
# The table is too large for the reference kernel, so that small sizes are chosen instead.
SIZES = {"E": 10_000_000, "D": 64, "B": 128, "L": 50}


def test_a_plan_that_open_sizes_do_not_allow_is_verified(tmp_path: Path) -> None:
    """Indices are staged only where a row has a known length; a search lost its default."""
    asked = request(LOOKUP, "verify: {inputs: {I: [0, 0]}}", **SIZES)
    made = compile_program(request(LOOKUP, "mapping: {staging: {I: shared}}", **SIZES))
    assert made.plan is not None
    text = "mapping:\n" + "".join(f"  {line}\n" for line in made.plan.text().splitlines())
    assert "staging: {I: shared" in text
    found = Evaluator(Job(asked, tmp_path))(Work(text))
    assert (found.state, found.reason) == (State.DONE, "")
    assert found.verified


def test_a_sum_in_two_parts_is_tried(tmp_path: Path) -> None:
    """A loop over parts that ends after the first one is right wherever there is one."""
    asked = request("def total(float(N) A) -> (S) { S +=! A(n) }")
    found = compile_program(asked)
    verifier = Verifier(asked, tmp_path, 0, 60)
    sizes = [p.domain.sizes["N"] for p in verifier.pairs(found, lambda _: found)]
    assert max(sizes) == OPEN_PART + 1


def test_blocks_that_take_turns_are_tried(tmp_path: Path) -> None:
    asked = request(
        "def scale(float(N) A) -> (B) { B(n) = 2 * A(n) }", "mapping: {threads: [32], blocks: [3]}"
    )
    found = compile_program(asked)
    verifier = Verifier(asked, tmp_path, 0, 60)
    (launch,) = present(found.artifact).interface.launches
    assert launch.grid[0].evaluate({"N": 10_000}) == 3
    tile = present(found.plan).kernels[0].dims[0].tile
    assert 3 * tile + 1 in [p.domain.sizes["N"] for p in verifier.pairs(found, lambda _: found)]


def test_a_plan_that_small_sizes_do_not_allow_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sum that is cut into parts is short at small sizes, where nothing is cut."""
    monkeypatch.setattr(verifier_module, "REFERENCE_BYTES", 1 << 20)
    monkeypatch.setattr(verifier_module, "SMALLER_BYTES", 1 << 20)
    asked = request("def total(float(N) A) -> (S) { S +=! A(n) }", N=1 << 22)
    made = compile_program(asked)
    assert made.plan is not None
    assert len(made.plan.kernels) == 2
    text = "mapping:\n" + "".join(f"  {line}\n" for line in made.plan.text().splitlines())
    found = Evaluator(Job(asked, tmp_path))(Work(text))
    assert (found.state, found.reason) == (State.DONE, "")
    assert found.verified
