"""From the words of the command line to what evaluates candidates, and how it finds times."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tcc.driver import Request
from tcc.errors import UsageError
from tcc.run.cuda import CudaDevice
from tcc.target import TARGETS
from tcc.tune.bench import Bench, HostBench
from tcc.tune.evaluate import Evaluation, Job, Work
from tcc.tune.gpu import GpuBench, GpuEvaluator
from tcc.tune.tuner import Means

MODEL = "model"
"""The method of predicted times."""
EVENTS = "median of 20 launches between events, L2 flushed"
GPU = "GPU"
"""What Dask calls the resource that a worker with a GPU offers."""


@dataclass(frozen=True)
class Where:
    """What is asked for: `device` is `host`, `cuda` or `cuda:0,1`, `objective` model or time.

    `cluster` is the address of a Dask scheduler. With `own_target` the program is compiled for
    the GPU at hand.
    """

    device: str = "host"
    objective: str | None = None
    workers: int = 1
    cluster: str | None = None
    own_target: bool = False


@dataclass(frozen=True)
class Place:
    """A request for the target at hand, what evaluates its candidates, how times are found."""

    request: Request
    bench: Callable[[Job], Bench]
    means: Means


def placed(request: Request, where: Where) -> Place:
    """Find what was asked for.

    UsageError for a GPU or a library that is not there, ToolchainError without any GPU.
    """
    name, _, numbers = where.device.partition(":")
    modelled = Means(request.target.board, MODEL, predicted=True)
    if where.cluster is not None:
        return _on_cluster(request, where.cluster, name, where)
    if name == "host":
        return Place(request, lambda job: HostBench(job, where.workers), modelled)
    indices = tuple(map(int, numbers.split(","))) if numbers else (0,)
    device = _checked(indices)
    if where.own_target:
        request = replace(request, target=TARGETS[device.target])
        modelled = replace(modelled, device=request.target.board)
    measures = where.objective != MODEL
    bench = partial(
        GpuBench,
        workers=where.workers,
        indices=indices,
        architecture=device.architecture,
        measures=measures,
    )
    measured = Means(device.description, EVENTS, predicted=False)
    return Place(request, bench, measured if measures else modelled)


def _checked(indices: tuple[int, ...]) -> CudaDevice:
    """The first of several GPUs, which must be there and of one kind."""
    first = CudaDevice(index=indices[0])
    count = first.cupy.cuda.runtime.getDeviceCount()
    missing = [i for i in indices if i >= count]
    if missing:
        raise UsageError(f"there is no GPU {missing[0]}; there are {count}, the first is 0")
    if len(set(indices)) < len(indices):
        raise UsageError("a GPU is named twice")
    kinds = {CudaDevice(index=i).architecture for i in indices}
    if len(kinds) > 1:
        raise UsageError(f"the GPUs are of several kinds: {', '.join(sorted(kinds))}")
    return first


def _on_cluster(request: Request, address: str, device: str, where: Where) -> Place:
    try:
        from tcc.tune.cluster import ClusterBench  # noqa: PLC0415  (distributed is an extra)
    except ImportError as problem:
        raise UsageError('a cluster needs Dask: `pip install "tcc[tune]"`') from problem
    modelled = Means(request.target.board, MODEL, predicted=True)
    if device == "host":
        return Place(request, partial(ClusterBench, address=address), modelled)
    measures = where.objective != MODEL
    measured = Means(f"GPUs of the cluster at {address}", EVENTS, predicted=False)

    def bench(job: Job) -> Bench:
        start = partial(_gpu_evaluator, job, measures)
        return ClusterBench(job, address, resources={GPU: 1}, start=start)

    return Place(request, bench, measured if measures else modelled)


def _gpu_evaluator(job: Job, measures: bool) -> Callable[[Work], Evaluation]:
    """In a process of a worker: an evaluator with a folder of its own there."""
    folder = tempfile.TemporaryDirectory(prefix="tcc-tune-")  # removed when the process ends
    evaluate = GpuEvaluator(replace(job, folder=Path(folder.name)), measures=measures)

    def run(work: Work, _: object = folder) -> Evaluation:
        return evaluate(work)

    return run
