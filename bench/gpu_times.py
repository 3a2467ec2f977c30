"""Times of workloads on a GPU: tcc's kernels and the library's, in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.gpu_libraries import Library, find_library
from bench.workloads import Workload
from tcc.api import Kernel
from tcc.artifact import Argument
from tcc.frontend.tir import Role
from tcc.run.cuda import Call, CudaDevice
from tcc.run.verify_sizes import points, tensor_bytes

ROUNDS = 6
REPEATS = 5
"""Timed calls of a round; each round has one more to warm up."""
SMALL = 1e-4
"""The largest difference to the library, relative in the 2-norm: TF32 would show, fp32 does not."""
HEAD = (
    "workload",
    "library",
    "tcc, microseconds",
    "p10 to p90",
    "library, microseconds",
    "p10 to p90",
    "library / tcc",
    "GFLOP/s",
    "GB/s",
    "difference",
)


@dataclass(frozen=True)
class Times:
    """Microseconds of single calls; `difference` to the library's result, relative.

    `operations` counts two for each statement instance; `bytes` each tensor once.
    """

    workload: str
    library: str
    tcc_us: tuple[float, ...]
    library_us: tuple[float, ...]
    difference: float | None
    operations: int
    bytes: int

    @property
    def right(self) -> bool:
        """Whether the result agrees with the library's, where there is one."""
        return self.difference is None or self.difference <= SMALL

    @property
    def ratio(self) -> float | None:
        """The library's time over tcc's: above 1, tcc is faster."""
        if not self.library_us:
            return None
        return statistics.median(self.library_us) / statistics.median(self.tcc_us)

    def text(self) -> str:
        """One line."""
        ratio = "" if self.ratio is None else f", {self.ratio:.2f} of the library's speed"
        wrong = "" if self.right else f", WRONG by {self.difference:.2g}"
        return f"{statistics.median(self.tcc_us):.1f} us{ratio}{wrong}"

    def row(self) -> list[str]:
        """The line of the table."""
        median = statistics.median(self.tcc_us)
        return [
            self.workload,
            self.library,
            *_spread(self.tcc_us),
            *_spread(self.library_us),
            "" if self.ratio is None else f"{self.ratio:.2f}",
            f"{self.operations / median / 1000:.0f}",
            f"{self.bytes / median / 1000:.0f}",
            "" if self.difference is None else f"{self.difference:.1g}",
        ]


class Timer:
    """Runs workloads on the first GPU. ToolchainError when there is none."""

    def __init__(self) -> None:
        self._device = CudaDevice()
        self._cupy = self._device.cupy
        self._library: Library = find_library(self._cupy)
        self.arch = self._device.target

    @property
    def description(self) -> str:
        """The GPU, its driver, what compiled the kernels, and the library."""
        return f"{self._device.description}, kernels for {self.arch}, {self._library.name}"

    def times(self, workload: Workload) -> Times:
        """Time one workload, and compare its result with the library's."""
        kernel = workload.compile(self.arch)
        arrays = self._arrays(kernel, workload)
        call = self._device.prepare(kernel.artifact, arrays, workload.at)
        other = self._library.call(workload, arrays)
        difference = None if other is None else self._difference(call, other)
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(ROUNDS):
            ours += call.time_us(repeats=REPEATS)
            if other is not None:
                theirs += self._device.time_us(other, repeats=REPEATS)
        program, sizes = kernel.compilation.program, workload.all_sizes
        if program is None:
            raise ValueError("the compilation is not complete")
        return Times(
            workload.name,
            "" if other is None else self._library.name,
            tuple(ours),
            tuple(theirs),
            difference,
            2 * points(program, sizes),
            tensor_bytes(program, sizes),
        )

    def _arrays(self, kernel: Kernel, workload: Workload) -> dict[str, Any]:
        """Random inputs on the GPU, on CuPy's current stream."""
        random = self._cupy.random.RandomState(seed=1)
        inputs = [t for t in kernel.artifact.interface.tensors if t.role is not Role.OUTPUT]
        return {t.name: _array(random, t, workload.indices, workload.all_sizes) for t in inputs}

    def _difference(self, call: Call, other: Callable[[], Any]) -> float:
        """The largest over the outputs that the library has too."""
        call.launch()
        ours = call.outputs()
        found = other()
        theirs = list(found) if isinstance(found, tuple) else [found]
        return max(
            self._relative(mine, self._cupy.asarray(result))
            for mine, result in zip(ours.values(), theirs, strict=False)
        )

    def _relative(self, ours: Any, theirs: Any) -> float:  # noqa: ANN401
        """In the 2-norm, computed in double precision; infinite where a value is missing."""
        want = theirs.astype("float64")
        missed = ours.astype("float64").reshape(want.shape) - want
        difference = self._cupy.sqrt((missed * missed).sum() / (want * want).sum())
        return float(self._cupy.nan_to_num(difference, nan=float("inf")))


def _array(
    random: Any,  # noqa: ANN401
    tensor: Argument,
    indices: Mapping[str, str],
    sizes: Mapping[str, int],
) -> Any:  # noqa: ANN401
    shape = tuple(extent.evaluate(sizes) for extent in tensor.shape)
    if tensor.name in indices:
        return random.randint(0, sizes[indices[tensor.name]], shape, dtype="int32")
    return random.uniform(-1, 1, shape, dtype="float32")


def _spread(times_us: tuple[float, ...]) -> tuple[str, str]:
    """The median, and the 10th to the 90th percentile."""
    if not times_us:
        return "", ""
    tenths = statistics.quantiles(times_us, n=10, method="inclusive")
    return f"{statistics.median(times_us):.1f}", f"{tenths[0]:.1f} to {tenths[-1]:.1f}"
