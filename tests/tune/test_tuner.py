"""The search loop: nothing that a candidate does wrong wins or stops it; a seed repeats it."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tcc.driver import Compilation, Request
from tcc.errors import ToolchainError
from tcc.options import Options
from tcc.tune import evaluate
from tcc.tune.bench import Bench, HostBench
from tcc.tune.database import Database
from tcc.tune.devices import Place
from tcc.tune.evaluate import Evaluation, Evaluator, Job, Sizes, Times, Work
from tcc.tune.record import State
from tcc.tune.session import Asked, tune
from tcc.tune.tuner import Means, Tried, Tuning
from tests.tune.programs import request

FOREVER = float("inf")


class Silent:
    """Watches nothing."""

    def tried(self, one: Tried, best: Tried | None) -> None: ...

    def tick(self) -> None: ...


class Immediate:
    """A bench without processes: every candidate is done at once, its time made of its text."""

    def __init__(self, time_of: Callable[[str], float | None]) -> None:
        self._time_of = time_of
        self._queue: list[tuple[int, Work]] = []

    def __enter__(self) -> Immediate:
        return self

    def __exit__(self, *ignored: object) -> None: ...

    @property
    def pending(self) -> int:
        return len(self._queue)

    def submit(self, number: int, work: Work) -> None:
        self._queue.append((number, work))

    def wait(self, timeout_s: float) -> list[tuple[int, Evaluation]]:  # noqa: ARG002
        number, work = self._queue.pop()  # the last one first: the order must not matter
        value = self._time_of(work.text)
        if value is None:
            return [(number, Evaluation(State.WRONG, "C(0, 0) is 1, the reference has 2"))]
        if work.limit_us is not None and value > work.limit_us:
            return [(number, Evaluation(State.PRUNED, "", Times(value, value, value)))]
        return [(number, Evaluation(State.DONE, "", Times(value, value, value), verified=True))]


def at(bench: Callable[[Job], Bench], asked: Request | None = None) -> Place:
    return Place(
        asked or request(), bench, Means("a clock that is made up", "model", predicted=True)
    )


def made_up(text: str) -> float:
    """A time that is better for more threads and larger tiles of k."""
    words = text.replace("[", " ").replace("]", " ").replace(",", " ").split()
    numbers = [int(w) for w in words if w.isdigit()]
    return 1000 / (1 + sum(numbers)) + len(text) / 100


def search(
    strategy: str = "genetic",
    seed: int = 0,
    candidates: int = 120,
    time_of: Callable[[str], float | None] = made_up,
) -> Tuning:
    asked = Asked(FOREVER, candidates, strategy, seed)
    place = at(lambda _: Immediate(time_of))
    return tune(place, asked, Silent())


# -- strategies ----------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["genetic", "random", "model", "tpe"])
def test_a_seed_repeats_a_search(strategy: str) -> None:
    one, other = (search(strategy, 7, 24) for _ in range(2))
    different = search(strategy, 8, 24)
    texts = [sorted((t.number, t.text, t.origin) for t in x.tried) for x in (one, other, different)]
    assert texts[0] == texts[1] != texts[2]
    assert one.best is not None
    assert other.best is not None
    assert one.best.number == other.best.number
    assert len({t.candidate for t in one.tried}) == len(one.tried) == 24


@pytest.mark.parametrize(
    "strategy", ["genetic", "model", pytest.param("tpe", marks=pytest.mark.slow)]
)
def test_a_search_beats_the_default_and_chance(strategy: str) -> None:
    found, chance = search(strategy), search("random")
    assert found.default is not None
    assert found.default.number == 0
    assert found.best is not None
    assert chance.best is not None
    assert found.best.time_us < found.default.time_us  # type: ignore[operator]
    assert found.best.time_us <= chance.best.time_us * 1.1  # type: ignore[operator]


def test_most_slots_of_a_generation_are_filled_by_crossover() -> None:
    origins = [t.origin for t in search(candidates=200).tried]
    assert origins.count("crossover") > 0.5 * len(origins)
    assert origins.count("mutation") > 0


def test_the_default_wins_where_nothing_is_better() -> None:
    found = search(time_of=lambda _: 5.0, candidates=40)
    assert found.best is not None
    assert found.best == found.default


def test_wrong_results_never_win() -> None:
    """Every candidate that reads A from global memory is very fast, and wrong."""
    found = search(time_of=lambda t: None if "A: global" in t else made_up(t))
    assert found.best is not None
    assert "A: global" not in found.best.text
    assert any(t.evaluation.state is State.WRONG for t in found.tried)


def test_without_a_verified_candidate_there_is_no_best() -> None:
    found = search(time_of=lambda _: None, candidates=40)
    assert found.best is None
    assert len(found.tried) == 40


# -- what is remembered --------------------------------------------------------------------


def test_a_search_goes_on_where_one_ended(tmp_path: Path) -> None:
    asked = Asked(FOREVER, 40, resume=True)
    place = at(lambda _: Immediate(made_up))
    with Database(tmp_path / "t.db") as database:
        first = tune(place, asked, Silent(), database)
        second = tune(place, asked, Silent(), database)
        assert len(list(database.entries())) == 80
        best = next(m for _, m in database.entries(state=State.DONE))
    assert len(first.tried) == len(second.tried) == len(second.known) == 40
    assert not {t.text for t in second.tried} & {t.text for t in first.tried}
    assert second.best is not None
    assert first.best is not None
    assert second.best.time_us <= first.best.time_us  # type: ignore[operator]
    assert best.time_us == second.best.time_us
    assert second.default is not None
    assert first.default is not None
    assert second.default.time_us == first.default.time_us


def test_other_sizes_are_where_a_search_starts(tmp_path: Path) -> None:
    place = at(lambda _: Immediate(made_up))
    other = at(lambda _: Immediate(made_up), request(sizes={"M": 64, "N": 64, "K": 64}))
    with Database(tmp_path / "t.db") as database:
        before = tune(other, Asked(FOREVER, 40), Silent(), database)
        found = tune(place, Asked(FOREVER, 40), Silent(), database)
        again = tune(place, Asked(FOREVER, 40), Silent(), database)
    (start,) = [t for t in found.tried if t.origin.startswith("tuned for")]
    assert start.origin == "tuned for K=64 M=64 N=64" or "M=64" in start.origin
    assert before.best is not None
    assert start.candidate.plan == before.best.candidate.plan
    assert [t.text for t in again.tried] == [t.text for t in found.tried]


# -- broken candidates ---------------------------------------------------------------------


FAULTS = {1: "wrong", 2: "hang", 3: "crash", 4: "die", 5: "sleep", 6: "raise"}
STATES = {
    1: (State.WRONG, "never written"),
    2: (State.TIMED_OUT, "does not end within 1 s"),
    3: (State.CRASHED, "writes an address far from any buffer"),
    4: (State.CRASHED, "its process was stopped by SIGKILL"),
    5: (State.TIMED_OUT, "no end within"),
    6: (State.CRASHED, "internal error: ZeroDivisionError"),
}
IN_KERNELS = {
    "wrong": "if (blockIdx.x == 0) return;",
    "hang": "for (volatile int spin = 0;; spin = spin) { }",
    "crash": "*static_cast<volatile int*>(nullptr) = 1;",
}


class Broken(Evaluator):
    """Breaks candidates on purpose, as the end of their text says; a broken one seems fast."""

    fault = ""

    def __call__(self, work: Work) -> Evaluation:
        self.fault = work.text.partition("# broken: ")[2]
        return super().__call__(work)

    def compiled(self, options: Options, sizes: Sizes) -> Compilation:
        match self.fault:
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "sleep":
                time.sleep(1000)
            case "raise":
                raise ZeroDivisionError
        found = super().compiled(options, sizes)
        inside = IN_KERNELS.get(self.fault, "")
        assert found.artifact is not None
        text = re.sub(r"(__global__ [^{]*\{)", rf"\1 {inside}", found.artifact.cuda_source)
        return replace(found, artifact=replace(found.artifact, cuda_source=text))


def broken(job: Job) -> Broken:
    """Started in the processes of the pool: there the model thinks well of what is broken."""
    found = Broken(replace(job, timeout_s=1))
    honest = evaluate.predicted_us
    evaluate.predicted_us = lambda c, t: 1e-3 if found.fault else honest(c, t)
    return found


class Saboteur(HostBench):
    """Asks for faults in some candidates."""

    def submit(self, number: int, work: Work) -> None:
        fault = f"# broken: {FAULTS[number]}" if number in FAULTS else ""
        super().submit(number, replace(work, text=work.text + fault))


def test_broken_candidates_are_told_and_never_win() -> None:
    def bench(job: Job) -> Saboteur:
        return Saboteur(job, 1, start=partial(broken, job), deadline_s=10.0)

    found = tune(at(bench), Asked(FOREVER, 9), Silent())
    assert len(found.tried) == 9
    ends = {t.number: t.evaluation for t in found.tried}
    for number, (state, reason) in STATES.items():
        assert ends[number].state is state
        assert reason in ends[number].reason
    assert found.best is not None
    assert found.best.number not in FAULTS
    assert found.best.time_us is not None
    assert found.best.time_us > 0.1


def nothing_works(_: Job) -> Callable[[Work], Evaluation]:
    raise ToolchainError("error[E0701]: no C++ compiler for the host device")


def test_a_search_without_a_compiler_ends() -> None:
    def bench(job: Job) -> HostBench:
        return HostBench(job, 1, start=partial(nothing_works, job))

    with pytest.raises(ToolchainError, match="E0701"):
        tune(at(bench), Asked(FOREVER, 9), Silent())


# -- time ----------------------------------------------------------------------------------


def test_the_end_is_kept_whatever_still_runs() -> None:
    class Slow(Immediate):
        def wait(self, timeout_s: float) -> list[tuple[int, Evaluation]]:
            if self._queue[0][0] == 0:
                self._queue.append(self._queue.pop(0))
                came.append(time.monotonic())
                return super().wait(timeout_s)
            time.sleep(timeout_s)
            return []

    came: list[float] = []
    end = time.monotonic() + 3.0
    found = tune(at(lambda _: Slow(made_up)), Asked(end), Silent())
    assert [t.origin for t in found.tried] == ["default"]
    assert time.monotonic() < max(end, *came) + 3.0


def test_the_default_is_tried_whatever_the_time() -> None:
    """Without it, the best of what came back could be slower."""
    found = tune(at(lambda _: Immediate(made_up)), Asked(time.monotonic()), Silent())
    assert [t.origin for t in found.tried] == ["default"]
    assert found.best is found.default


def test_an_interruption_keeps_what_was_found() -> None:
    class Interrupted(Immediate):
        def wait(self, timeout_s: float) -> list[tuple[int, Evaluation]]:
            if self.pending == 5:
                raise KeyboardInterrupt
            return super().wait(timeout_s)

    found = tune(at(lambda _: Interrupted(made_up)), Asked(FOREVER), Silent())
    assert found.interrupted
    assert found.best is not None
    assert found.best in found.tried
