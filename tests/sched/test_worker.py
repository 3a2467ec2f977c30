"""Scheduling in another process: answers, deadlines, crashes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import islpy as isl
import pytest

from tcc.sched import islx, tree, worker
from tcc.sched.fusion import Fusion, Problem, solve
from tcc.sched.schedule import _problem
from tests.sched.programs import SOFTMAX, model, multi_layer


def problem(text: str) -> Problem:
    scop, found = model(text)
    clusters = [part.statements for part in tree.source_statements(scop)]
    return _problem(scop, found, [clusters], Fusion.MAX, simple=False)


def hopeless() -> Problem:
    """A program with fixed sizes: isl would work on it for minutes."""
    made = problem(multi_layer(4))
    sizes = {"B": 128, "N0": 512, "N1": 1024, "N2": 1024, "N3": 512, "N4": 128}
    fixed = islx.Parameters(tuple(sizes)).fixed(sizes)
    old = made.constraints
    return replace(
        made,
        constraints=islx.Constraints(
            old.domain.intersect_params(fixed),
            old.validity.intersect_params(fixed),
            old.proximity.intersect_params(fixed),
            old.coincidence.intersect_params(fixed),
            fixed,
        ),
    )


def text_of(made: Problem) -> str:
    return json.dumps(made.to_data())


@pytest.fixture(scope="module")
def softmax() -> Problem:
    return problem(SOFTMAX)


def test_all_ways_give_the_same_answer(softmax: Problem) -> None:
    again = Problem.from_data(json.loads(text_of(softmax)))
    here = [[str(s) for s in schedules] for schedules in solve(again)]
    assert worker._forked(text_of(softmax), 20) == here
    assert worker._spawned(text_of(softmax), 20) == here


def test_problems_travel_as_json(softmax: Problem) -> None:
    again = Problem.from_data(json.loads(text_of(softmax)))
    assert again.constraints.validity.is_equal(softmax.constraints.validity)
    assert (again.segments, again.parallel) == (softmax.segments, softmax.parallel)
    assert again.options == softmax.options


@pytest.mark.parametrize("way", [worker._forked, worker._spawned])
def test_a_deadline_is_kept(way: Callable[[str, float], list[list[str]] | None]) -> None:
    start = time.monotonic()
    assert way(text_of(hopeless()), 0.7) is None
    assert time.monotonic() - start < 3


def test_a_crash_is_no_answer(softmax: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_: str) -> str:
        raise RuntimeError

    monkeypatch.setattr(worker, "_answer", crash)
    assert worker._forked(text_of(softmax), 20) is None


def test_an_error_of_isl_is_no_answer(softmax: Problem) -> None:
    wrong_context = isl.Set("{ [i] : i > 0 }")
    constraints = softmax.constraints
    broken = replace(
        softmax,
        constraints=islx.Constraints(
            constraints.domain,
            constraints.validity,
            constraints.proximity,
            constraints.coincidence,
            wrong_context,
        ),
    )
    assert worker._forked(text_of(broken), 20) is None
    assert worker._spawned(text_of(broken), 20) is None


def test_other_threads_rule_out_a_fork(softmax: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = []
    monkeypatch.setattr(worker, "_forked", lambda *_: ways.append("fork"))
    monkeypatch.setattr(worker, "_spawned", lambda *_: ways.append("spawn"))
    worker.solve_within(softmax, 1)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    worker.solve_within(softmax, 1)
    done.set()
    other.join()
    assert ways == ["fork", "spawn"]
