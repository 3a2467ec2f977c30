"""Scheduling in another process: answers, deadlines, crashes."""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import replace
from types import ModuleType

import islpy as isl
import pytest

from tcc.sched import islx, tree, worker
from tcc.sched.fusion import Fusion, Problem, solve
from tcc.sched.schedule import _problem
from tests.sched.programs import SOFTMAX, model


def problem(text: str) -> Problem:
    scop, found = model(text)
    clusters = [part.statements for part in tree.source_statements(scop)]
    return _problem(scop, found, [clusters], Fusion.MAX, islx.ScheduleOptions())


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


def test_jax_forbids_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    monkeypatch.setattr(worker.threading, "active_count", lambda: 1)
    assert worker._may_fork()
    monkeypatch.setitem(sys.modules, "jax", ModuleType("jax"))
    assert not worker._may_fork()


def test_problems_travel_as_json(softmax: Problem) -> None:
    again = Problem.from_data(json.loads(text_of(softmax)))
    assert again.constraints.validity.is_equal(softmax.constraints.validity)
    assert (again.segments, again.parallel) == (softmax.segments, softmax.parallel)
    assert again.options == softmax.options


def test_a_fork_that_hangs_is_ended(softmax: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(_: str) -> str:
        time.sleep(60)
        return "[]"

    monkeypatch.setattr(worker, "_answer", hang)
    start = time.monotonic()
    assert worker._forked(text_of(softmax), 0.2) is None
    assert time.monotonic() - start < 5


def test_an_interpreter_that_takes_too_long_is_ended(softmax: Problem) -> None:
    """It needs more than this only to import isl."""
    assert worker._spawned(text_of(softmax), 0.01) is None


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
