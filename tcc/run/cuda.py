"""The CUDA device: the same text compiled by NVRTC and launched through CuPy.

Only this module imports CuPy. Kernels run on CuPy's current stream; arrays of other libraries come
in through DLPack, which orders that stream after the producer's.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tcc.artifact import Argument, ArgumentKind, Artifact, Interface, Launch
from tcc.errors import RunError, ToolchainError
from tcc.frontend.tir import Role
from tcc.run import nvrtc
from tcc.run.arrays import Bound, bind, check_dense, element_type, numpy_type
from tcc.run.cache import ObjectCache, key_of
from tcc.run.device import Array
from tcc.scalar import ScalarType

STATIC_SHARED_LIMIT = 48 * 1024
"""Launches with more shared memory than this take it as `extern __shared__`."""
POISON = 0xFF


class CudaDevice:
    """Runs artifacts on one GPU. ToolchainError when CuPy (E0706) or a GPU (E0707) is missing."""

    name = "cuda"

    def __init__(self, *, index: int = 0, cache: ObjectCache | None = None) -> None:
        self._cupy = _load_cupy()
        self._device = self._cupy.cuda.Device(index)
        self._cache = cache or ObjectCache()

    def run(
        self, artifact: Artifact, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> dict[str, Any]:
        """The outputs, in fresh arrays; see `tcc.run.device.Device.run`.

        CuPy arrays when an input is an array on a GPU (dense row-major, E0708), else NumPy arrays.
        """
        call = self.prepare(artifact, arrays, sizes)
        on_gpu = any(_is_on_gpu(a) for a in arrays.values())
        with _failures(self._cupy):
            call.launch()
            return call.outputs() if on_gpu else call.host_outputs()

    def prepare(
        self, artifact: Artifact, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> Call:
        """A call with everything on the GPU, ready to be launched any number of times."""
        with self._device, _failures(self._cupy):
            taken = {n: self._imported(a) if _is_on_gpu(a) else a for n, a in arrays.items()}
            described = {n: _described(a) for n, a in taken.items()}
            bound = bind(artifact.interface, described, sizes)
            on_gpu = {n: a for n, a in taken.items() if _is_on_gpu(a)}
            check_dense(artifact.interface, {n: _layout(a) for n, a in on_gpu.items()})
            buffers = self._buffers(artifact.interface, bound, on_gpu)
            module = self._cupy.RawModule(path=str(self._cubin(artifact)))
            return Call(self._cupy, self._device, artifact.interface, bound, buffers, module)

    def _imported(self, array: Any) -> Any:  # noqa: ANN401
        """Another library's array as one of CuPy, without a copy."""
        if hasattr(array, "__dlpack__"):
            return self._cupy.from_dlpack(array)
        return self._cupy.asarray(array)

    def _cubin(self, artifact: Artifact) -> Path:
        """The compiled text; the driver loads it from the cache."""
        arch = f"sm_{self._device.compute_capability}"
        version = ".".join(map(str, nvrtc.version()))

        def compile_cubin(target: Path) -> None:
            target.write_bytes(nvrtc.compile_cubin(artifact.cuda_source, arch))

        key = key_of(("nvrtc", version, arch, artifact.cuda_source))
        return self._cache.get(key, ".cubin", compile_cubin)

    def _buffers(
        self, interface: Interface, bound: Bound, on_gpu: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A device array for every tensor and temporary; outputs and workspace are poison."""
        buffers = {t.name: self._buffer(t, bound, on_gpu) for t in interface.tensors}
        workspace = self._poison(bound.workspace_bytes)
        values = {**interface.sizes, **bound.sizes}
        for name, offset in interface.temporaries.items():
            buffers[name] = workspace[offset.evaluate(values) :]
        return buffers

    def _buffer(self, tensor: Argument, bound: Bound, on_gpu: Mapping[str, Any]) -> Any:  # noqa: ANN401
        scalar = _storable(element_type(tensor))
        if tensor.role is Role.OUTPUT:
            shape = bound.shapes[tensor.name]
            length = int(np.prod(shape, dtype=np.int64)) * scalar.itemsize
            return self._poison(length).view(scalar).reshape(shape)
        if tensor.name in on_gpu:
            array = on_gpu[tensor.name]
            return array.copy() if tensor.role is Role.INOUT else array
        dense = np.ascontiguousarray(bound.arrays[tensor.name]).view(scalar)
        return self._cupy.array(dense).reshape(bound.shapes[tensor.name])

    def _poison(self, length: int) -> Any:  # noqa: ANN401
        return self._cupy.full(max(length, 1), POISON, dtype=np.uint8)[:length]


@dataclass(frozen=True)
class Call:
    """One call of a launcher with its arrays on the GPU. `cupy` is the module."""

    cupy: Any
    device: Any
    interface: Interface
    bound: Bound
    buffers: Mapping[str, Any]
    module: Any

    @cached_property
    def _launches(self) -> tuple[tuple[Any, tuple[Any, ...], int], ...]:
        """Function, (grid, block, arguments) and dynamic shared bytes of each launch."""
        return tuple(self._prepared(launch) for launch in self.interface.launches)

    def _prepared(self, launch: Launch) -> tuple[Any, tuple[Any, ...], int]:
        values = {**self.interface.sizes, **self.bound.sizes}
        grid = tuple(extent.evaluate(values) for extent in launch.grid)
        sizes = {a.name for a in self.interface.arguments if a.kind is ArgumentKind.SIZE}
        arguments = tuple(
            np.int32(values[name]) if name in sizes else self.buffers[name]
            for name in launch.arguments
        )
        function = self.module.get_function(launch.kernel)
        dynamic = launch.shared_bytes if launch.shared_bytes > STATIC_SHARED_LIMIT else 0
        if dynamic:
            function.max_dynamic_shared_size_bytes = dynamic
        return function, (grid, launch.block, arguments), dynamic

    def launch(self) -> None:
        """Launch all kernels on the current stream; does not wait."""
        with self.device:
            for function, geometry, dynamic in self._launches:
                function(*geometry, shared_mem=dynamic)

    def time_us(self, *, repeats: int, flush: bool = True) -> tuple[float, ...]:
        """The time of each of `repeats` launches in microseconds, after one to warm up.

        `flush` overwrites the L2 cache before each one. RunError when a kernel fails.
        """
        with self.device, _failures(self.cupy):
            scratch = self._flush_buffer() if flush else None
            self.launch()
            return tuple(self._time_one(scratch) for _ in range(repeats))

    def median_us(self, *, repeats: int, flush: bool = True) -> float:
        """The median of `time_us`."""
        return statistics.median(self.time_us(repeats=repeats, flush=flush))

    def _time_one(self, scratch: Any) -> float:  # noqa: ANN401
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        if scratch is not None:
            scratch.fill(0)
        start.record()
        self.launch()
        end.record()
        end.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(start, end)) * 1000

    def _flush_buffer(self) -> Any:  # noqa: ANN401
        """Twice the L2 cache: writing it leaves nothing of the tensors there."""
        return self.cupy.empty(2 * self.device.attributes["L2CacheSize"], dtype=np.uint8)

    def outputs(self) -> dict[str, Any]:
        """The outputs as CuPy arrays; bfloat16 as its bits in uint16."""
        return {t.name: self.buffers[t.name] for t in self._returned}

    def host_outputs(self) -> dict[str, Array]:
        """The outputs as NumPy arrays, after the kernels have finished."""
        return {
            t.name: self.cupy.asnumpy(self.buffers[t.name]).view(numpy_type(element_type(t)))
            for t in self._returned
        }

    @property
    def _returned(self) -> Sequence[Argument]:
        return [t for t in self.interface.tensors if t.role in (Role.OUTPUT, Role.INOUT)]


def _is_on_gpu(array: object) -> bool:
    return hasattr(array, "__cuda_array_interface__")


def _described(array: Any) -> Any:  # noqa: ANN401
    """What `bind` may look at: an array on a GPU as one of NumPy without elements of its own."""
    if not _is_on_gpu(array):
        return array
    return np.broadcast_to(np.empty((), dtype=array.dtype), array.shape)


def _layout(array: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:  # noqa: ANN401
    return array.shape, tuple(s // array.dtype.itemsize for s in array.strides)


def _storable(scalar: ScalarType) -> np.dtype[Any]:
    """The dtype of a device array; CuPy has no bfloat16."""
    return np.dtype(np.uint16) if scalar is ScalarType.BFLOAT16 else numpy_type(scalar)


@contextmanager
def _failures(cupy: Any) -> Iterator[None]:  # noqa: ANN401
    """A CUDA error of a launch, or of a kernel that ran before, is a RunError."""
    try:
        yield
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as problem:
        raise RunError(f"a kernel fails on the GPU: {problem}") from problem


def _load_cupy() -> Any:  # noqa: ANN401
    try:
        import cupy  # noqa: PLC0415  (an extra, and slow to load)
    except ImportError as problem:
        raise ToolchainError(
            f"error[E0706]: CuPy is not installed: {problem}\n"
            '  = help: `pip install "tcc[cuda13]"`, or `"tcc[cuda12]"` for an older driver; '
            "the host device needs neither\n"
        ) from problem
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as problem:
        raise _no_gpu(str(problem)) from problem
    if count == 0:
        raise _no_gpu("CUDA finds none")
    return cupy


def _no_gpu(reason: str) -> ToolchainError:
    return ToolchainError(
        f"error[E0707]: no usable GPU: {reason}\n"
        "  = help: run on the host device: `--device host`\n"
    )
