"""Processes that hang or die cost the work that they have, and nothing else."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from tcc.tune.pool import Finished, Pool, Spent, WorkerHangs, WorkerLost


def starter() -> Callable[[str], str]:
    done: list[str] = []

    def work(what: str) -> str:
        match what:
            case "hang":
                time.sleep(100)
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(7)
            case "raise":
                raise ValueError("no")
            case "spent":
                done.append(what)
                raise Spent(f"{what} {len(done)}")
            case _:
                done.append(what)
        return f"{what} {len(done)}"

    return work


def all_of(pool: Pool[str, str]) -> dict[int, Finished[str]]:
    found: dict[int, Finished[str]] = {}
    while pool.pending:
        found |= {f.number: f for f in pool.wait(20)}
    return found


def test_everything_comes_back_once() -> None:
    with Pool([starter, starter], deadline_s=60) as pool:
        for number in range(10):
            pool.submit(number, f"w{number}")
        found = all_of(pool)
        assert sorted(found) == list(range(10))
        assert all(
            f.result is not None and f.result.split()[0] == f"w{n}" for n, f in found.items()
        )
        assert pool.wait(0) == []


def test_lost_work_is_told_and_the_rest_goes_on() -> None:
    with Pool([starter], deadline_s=1.5) as pool:
        for number, what in enumerate(["a", "die", "b", "hang", "exit", "raise", "c"]):
            pool.submit(number, what)
        found = all_of(pool)
    assert [found[n].result for n in (0, 2, 6)] == ["a 1", "b 1", "c 1"]
    problems = [found[n].problem for n in (1, 3, 4, 5)]
    assert [type(p) for p in problems] == [WorkerLost, WorkerHangs, WorkerLost, ValueError]
    assert [str(p) for p in problems] == [
        "its process was stopped by SIGKILL",
        "no end within 1.5 s",
        "its process ended with status 7",
        "no",
    ]


def test_the_end_of_a_pool_waits_for_nobody() -> None:
    start = time.monotonic()
    with Pool([starter, starter], deadline_s=60) as pool:
        pool.submit(0, "hang")
        pool.submit(1, "hang")
        pool.submit(2, "hang")
        assert pool.wait(0.2) == []
        assert pool.pending == 3
    assert time.monotonic() - start < 20


def test_a_spent_process_is_replaced() -> None:
    with Pool([starter], deadline_s=60) as pool:
        for number, what in enumerate(["a", "spent", "b"]):
            pool.submit(number, what)
        found = all_of(pool)
    assert [found[n].result for n in range(3)] == ["a 1", "spent 2", "b 1"]


def broken() -> Callable[[str], str]:
    raise OSError("no compiler")


def test_a_starter_that_fails_is_told() -> None:
    with Pool([broken], deadline_s=60) as pool:
        pool.submit(0, "a")
        (finished,) = pool.wait(20)
    with pytest.raises(OSError, match="no compiler"):
        raise finished.problem or AssertionError
