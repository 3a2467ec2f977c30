"""A stand-in for a GPU: the host device runs the kernels, the clock is made up.

The time of a launch hangs on the number of threads of its blocks. Kernels whose text names a fault
have it. Every launch is written to a log, so that tests see in which order there were some.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from tcc.artifact import Artifact
from tcc.errors import RunError
from tcc.run.cache import ObjectCache
from tcc.run.device import Array
from tcc.run.host import HostDevice
from tcc.run.host_build import QUICK

LOG = "launches.txt"


class FakeGpu:
    """What `tcc.run.cuda.CudaDevice` offers, as far as a search needs it."""

    name = "cuda"

    def __init__(self, *, index: int, cache: ObjectCache) -> None:
        self._index = index
        self._folder = cache.directory
        self._host = HostDevice(workers=1, cache=cache, flavour=QUICK)

    def run(
        self, artifact: Artifact, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> dict[str, Array]:
        match fault_of(artifact):
            case "hang":
                time.sleep(1000)
            case "crash":
                raise RunError("a kernel fails on the GPU: illegal memory access")
        return self._host.run(artifact, arrays, sizes)

    def prepare(
        self, artifact: Artifact, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> FakeCall:
        assert arrays is not None
        assert sizes is not None
        return FakeCall(artifact, self._folder / LOG, self._index)


class FakeCall:
    """A call that takes as long as it says."""

    def __init__(self, artifact: Artifact, log: Path, index: int) -> None:
        self._artifact = artifact
        self._log = log
        self._index = index

    def time_us(self, *, repeats: int, flush: bool = True) -> tuple[float, ...]:
        assert flush
        threads = prod(self._artifact.interface.launches[-1].block)
        with self._log.open("a") as log:
            log.write(f"{self._index} {threads} {repeats}\n")
        return tuple(1000.0 / threads + k % 3 for k in range(repeats))


def fault_of(artifact: Artifact) -> str:
    """Kernels with 2, 4 ... threads have a fault each."""
    threads = prod(artifact.interface.launches[-1].block)
    return {2: "hang", 4: "crash"}.get(threads, "")
