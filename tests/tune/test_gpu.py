"""Candidates on GPUs, with a stand-in for the GPUs: nothing here was timed on one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcc.tune.devices import Place
from tcc.tune.evaluate import Evaluation, Job, Work
from tcc.tune.gpu import GpuBench
from tcc.tune.record import State
from tcc.tune.session import Asked, tune
from tcc.tune.tuner import Means
from tests.tune.fake_gpu import LOG, FakeGpu
from tests.tune.programs import request
from tests.tune.test_tuner import Silent

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed: extra `nvrtc`")

PLAN = """\
mapping:
  plan:
    mm_kernel:
      parallel:
        m: [block.y]
        n: [block.x, thread.x {threads}]
"""


def bench(
    job: Job, measures: bool = True, gpus: tuple[int, ...] = (0,), deadline_s: float = 60.0
) -> GpuBench:
    return GpuBench(job, 1, gpus, "sm_90", measures=measures, make=FakeGpu, deadline_s=deadline_s)


def evaluated(found: GpuBench, *threads: int) -> dict[int, Evaluation]:
    ends: dict[int, Evaluation] = {}
    for count in threads:
        found.submit(count, Work(PLAN.format(threads=count)))
    while found.pending:
        ends |= dict(found.wait(5.0))
    return ends


def test_times_faults_and_the_rival(tmp_path: Path) -> None:
    with bench(Job(request(), tmp_path), deadline_s=10.0) as found:
        ends = evaluated(found, 8, 2, 4, 16, 2000, 32, 1)
    assert {n: e.state for n, e in ends.items()} == {
        8: State.DONE,
        2: State.TIMED_OUT,
        4: State.CRASHED,
        16: State.DONE,
        2000: State.REJECTED,
        32: State.DONE,
        1: State.PRUNED,
    }
    assert "illegal memory access" in ends[4].reason
    times = ends[32].times
    assert times is not None
    assert times.p10_us <= times.median_us <= times.p90_us
    assert ends[8].verified
    launches = [line.split()[1] for line in (tmp_path / LOG).read_text().splitlines()]
    # 32 threads against the best of before, 16, in turns after the two looks.
    at = launches.index("32")
    assert launches[at : at + 6] == ["32", "32", "32", "16", "32", "16"]


def test_predicted_times_are_only_verified_there(tmp_path: Path) -> None:
    with bench(Job(request(), tmp_path), measures=False) as found:
        (end,) = evaluated(found, 8).values()
    assert end.state is State.DONE
    assert end.verified
    assert not (tmp_path / LOG).exists()


def test_several_gpus_share_the_candidates(tmp_path: Path) -> None:
    with bench(Job(request(), tmp_path), gpus=(0, 3)) as found:
        ends = evaluated(found, 8, 16, 32, 40)
    assert all(e.state is State.DONE for e in ends.values())
    used = {line.split()[0] for line in (tmp_path / LOG).read_text().splitlines()}
    assert used == {"0", "3"}


def test_a_search_on_gpus() -> None:
    means = Means("a GPU that is none", "made up", predicted=False)
    found = tune(Place(request(), bench, means), Asked(float("inf"), 6), Silent())
    assert found.best is not None
    assert found.default is not None
    assert found.best.time_us is not None
    assert found.best.time_us <= found.default.time_us  # type: ignore[operator]
    assert found.means == means
