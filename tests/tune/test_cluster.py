"""A Dask cluster of several processes: workers that die, candidates that hang, what is counted."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcc.cli import main
from tcc.errors import ToolchainError
from tcc.tune.child import Child
from tcc.tune.database import Database
from tcc.tune.devices import Where, placed
from tcc.tune.evaluate import Evaluation, Job, Work
from tcc.tune.pool import WorkerHangs, WorkerLost
from tcc.tune.record import State
from tcc.tune.session import Asked, tune
from tests.tune.cluster_work import starter
from tests.tune.records import MATMUL, PLAN, SPECS, request

dask = pytest.importorskip("dask", reason="needs the extra `tune`")
distributed = pytest.importorskip("distributed", reason="needs the extra `tune`")
from tcc.tune import cluster as cluster_module  # noqa: E402
from tcc.tune.cluster import ClusterBench  # noqa: E402

JOB = Job(request(MATMUL, M=16, N=16, K=16), Path("/nowhere"))


# -- one child -----------------------------------------------------------------------------


def test_a_child_works_until_it_is_lost():
    child = Child(starter, deadline_s=20)
    try:
        first = child.run(Work("print"))
        assert child.run(Work("")).reason == first.reason
        for text, problem in (("die", "-9"), ("exit", "3")):
            with pytest.raises(WorkerLost, match=problem):
                child.run(Work(text))
        again = child.run(Work(""))
        assert again.reason != first.reason
        with pytest.raises(ValueError, match="no"):
            child.run(Work("raise"))
        assert child.run(Work("")).reason == again.reason
    finally:
        child.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(again.reason), 0)


def test_a_child_that_hangs_is_ended():
    child = Child(starter, deadline_s=3)
    began = time.monotonic()
    with pytest.raises(WorkerHangs, match="3 s"):
        child.run(Work("sleep 100"))
    assert time.monotonic() - began < 20
    child.close()


# -- a cluster -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    settings = {
        "distributed.scheduler.worker-ttl": "10 minutes",
        "distributed.admin.tick.limit": "1h",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            resources={"slot": 1},
            silence_logs=50,
        ) as started,
    ):
        yield started


def all_of(bench: ClusterBench, limit_s: float = 60.0) -> dict[int, Evaluation]:
    found: dict[int, Evaluation] = {}
    end = time.monotonic() + limit_s
    while bench.pending:
        assert time.monotonic() < end
        for number, evaluation in bench.wait(5.0):
            assert number not in found, "nothing comes back twice"
            found[number] = evaluation
    return found


def test_a_worker_is_killed_in_the_middle(cluster):
    with ClusterBench(JOB, cluster.scheduler_address, start=starter) as bench:
        for number in range(24):
            bench.submit(number, Work("sleep 0.1"))
        first = dict(bench.wait(30.0))
        victim = next(iter(bench._client.run(os.getpid).values()))
        os.kill(victim, signal.SIGKILL)
        rest = all_of(bench)
    assert not set(first) & set(rest)
    found = {**first, **rest}
    assert sorted(found) == list(range(24))
    assert all(e.state is State.DONE for e in found.values())
    assert len({e.reason for e in found.values()}) > 1, "several workers"


def test_candidates_that_hang_or_die_cost_themselves(cluster, monkeypatch):
    monkeypatch.setattr(cluster_module, "DEADLINE_S", 60.0)
    texts = ["a", "die", "b", "raise", "exit", "c"]
    with ClusterBench(JOB, cluster.scheduler_address, start=starter) as bench:
        for number, text in enumerate(texts):
            bench.submit(number, Work(text))
        found = all_of(bench)
    states = [found[n].state for n in range(6)]
    done, lost = State.DONE, State.CRASHED
    assert states == [done, lost, done, lost, lost, done]
    assert "ValueError" in found[3].reason


def test_what_no_candidate_can_help_ends_the_search(cluster):
    with ClusterBench(JOB, cluster.scheduler_address, start=starter) as bench:
        bench.submit(0, Work("missing"))
        with pytest.raises(ToolchainError, match="E0701"):
            all_of(bench)


def test_the_end_waits_for_nobody(cluster):
    began = time.monotonic()
    with ClusterBench(JOB, cluster.scheduler_address, start=starter) as bench:
        for number in range(6):
            bench.submit(number, Work("sleep 60"))
        assert bench.wait(1.0) == []
        assert bench.pending == 6
    assert time.monotonic() - began < 30


def test_resources_tag_workers(cluster):
    address = cluster.scheduler_address
    with ClusterBench(JOB, address, resources={"slot": 1}, start=starter) as bench:
        bench.submit(0, Work(""))
        assert all_of(bench)[0].state is State.DONE
    with pytest.raises(ToolchainError, match="offers `GPU`"):
        ClusterBench(JOB, address, resources={"GPU": 1}, start=starter)


def test_another_version_is_refused(cluster, monkeypatch):
    monkeypatch.setattr(cluster_module, "__version__", "9.9")
    with pytest.raises(ToolchainError, match=r"has tcc 0.1.0, not 9\.9"):
        ClusterBench(JOB, cluster.scheduler_address, start=starter)


def test_no_scheduler(monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT_S", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with pytest.raises(ToolchainError, match="E0713"):
            ClusterBench(JOB, address)


@pytest.mark.slow
def test_real_candidates(cluster):
    """The evaluator itself, which verifies on the host device of the worker."""
    bad = PLAN.replace("n: [", "column: [")
    with ClusterBench(JOB, cluster.scheduler_address) as bench:
        bench.submit(1, Work(PLAN))
        bench.submit(2, Work(bad))
        found = all_of(bench, 120.0)
    assert found[1].state is State.DONE
    assert found[1].verified
    assert found[2].state is State.REJECTED


class Killer:
    """Watches a search; kills one worker when the first candidate is back."""

    def __init__(self, cluster: object) -> None:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            self._victims = list(client.run(os.getpid).values())[:1]
        self.tried_count = 0

    def tried(self, *_: object) -> None:
        self.tried_count += 1
        while self._victims:
            os.kill(self._victims.pop(), signal.SIGKILL)

    def tick(self) -> None:
        pass


@pytest.mark.slow
def test_a_search_loses_nothing_when_a_worker_is_killed(cluster, tmp_path):
    count, watcher = 12, Killer(cluster)
    asked = Asked(end=time.monotonic() + 300, candidates=count, strategy="random", seed=1)
    with Database(tmp_path / "tunings.db") as database:
        place = placed(JOB.request, Where(cluster=cluster.scheduler_address))
        found = tune(place, asked, watcher, database)
        kept = [m.plan for _, m in database.entries()]
    assert not found.interrupted
    assert sorted(t.number for t in found.tried) == list(range(count))
    assert watcher.tried_count == count
    assert len(kept) == len(set(kept)) == count
    assert all(t.evaluation.state is State.DONE for t in found.tried)


def test_the_command_needs_a_scheduler(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(cluster_module, "CONNECT_S", 0.5)
    monkeypatch.setenv("TCC_CACHE_DIR", str(tmp_path))
    words = ("tune", str(SPECS / "gemm.tc"), "--candidates", "2", "--cluster", "tcp://127.0.0.1:1")
    assert main(words) == 4
    assert "E0713" in capfd.readouterr().err


@pytest.mark.slow
def test_the_command(cluster, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("TCC_CACHE_DIR", str(tmp_path))
    (tmp_path / "mm.tc").write_text(MATMUL)
    sizes = [w for s in ("M=16", "N=16", "K=16") for w in ("--size", s)]
    address = cluster.scheduler_address
    assert (
        main(("tune", str(tmp_path / "mm.tc"), *sizes, "--candidates", "3", "--cluster", address))
        == 0
    )
    assert "plan:" in capfd.readouterr().out
    with Database() as database:
        assert len(list(database.entries())) == 3
