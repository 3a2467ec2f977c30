"""The CUDA device: the same text compiled by NVRTC and launched through CuPy.

Only this module imports CuPy. Kernels run on CuPy's current stream, which `working_on` sets to the
caller's; arrays of other libraries come in through DLPack, which orders that stream after the
producer's.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tcc.artifact import Argument, ArgumentKind, Artifact, FastPath, Interface, Launch
from tcc.errors import RunError, ToolchainError
from tcc.frontend.tir import Role
from tcc.run import nvrtc
from tcc.run.arrays import Bound, bind, check_aligned, check_dense, element_type, numpy_type
from tcc.run.cache import ObjectCache, key_of
from tcc.run.device import Array
from tcc.scalar import ScalarType
from tcc.target import TARGETS

STATIC_SHARED_LIMIT = 48 * 1024
"""Launches with more shared memory than this take it as `extern __shared__`."""
POISON = 0xFF
VECTOR = 4
"""Elements of a vector access, and what divides the sizes that fast kernels take quarters of."""
VECTOR_BYTES = 16
MOST_ELEMENTS = 2**31 - 1


class CudaDevice:
    """Runs artifacts on one GPU. ToolchainError when CuPy (E0706) or a GPU (E0707) is missing."""

    name = "cuda"

    def __init__(self, *, index: int = 0, cache: ObjectCache | None = None) -> None:
        self._cupy = _load_cupy()
        self._device = self._cupy.cuda.Device(index)
        self._index = index
        self._cache = cache or ObjectCache()
        self._modules: dict[str, Any] = {}

    def current(self) -> Any:  # noqa: ANN401
        """A context in which this GPU is the current one."""
        return self._device

    @contextmanager
    def working_on(self, stream: int | None) -> Iterator[None]:
        """Makes this GPU current, and puts work on a stream of CUDA; None: CuPy's current one."""
        with self._device, _failures(self._cupy):
            if stream is None:
                yield
                return
            with self._cupy.cuda.ExternalStream(stream):
                yield

    @property
    def cupy(self) -> Any:  # noqa: ANN401
        """The module, for arrays on this GPU."""
        return self._cupy

    @property
    def target(self) -> str:
        """The name of the target to compile for: this GPU's, else the nearest older one, if any."""
        capability = divmod(int(self._device.compute_capability), 10)
        by_age = sorted(TARGETS.values(), key=lambda t: t.capability)
        return ([t for t in by_age if t.capability <= capability] or by_age[:1])[-1].name

    @property
    def description(self) -> str:
        """The GPU, what its driver supports, and NVRTC, with versions."""
        runtime = self._cupy.cuda.runtime
        name = runtime.getDeviceProperties(self._index)["name"].decode()
        driver = runtime.driverGetVersion()
        major, minor = nvrtc.version()
        return f"{name}, CUDA {driver // 1000}.{driver % 1000 // 10}, NVRTC {major}.{minor}"

    def time_us(
        self, call: Callable[[], object], *, repeats: int, flush: bool = True
    ) -> tuple[float, ...]:
        """The time of each of `repeats` calls in microseconds, after one to warm up.

        `call` starts work on the current stream. `flush` overwrites the L2 cache before each one.
        RunError when a kernel fails.
        """
        with self._device, _failures(self._cupy):
            scratch = self._flush_buffer() if flush else None
            call()
            return tuple(self._time_one(call, scratch) for _ in range(repeats))

    def _time_one(self, call: Callable[[], object], scratch: Any) -> float:  # noqa: ANN401
        start, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        if scratch is not None:
            scratch.fill(0)
        start.record()
        call()
        end.record()
        end.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(start, end)) * 1000

    def _flush_buffer(self) -> Any:  # noqa: ANN401
        """Twice the L2 cache: writing it leaves nothing of the tensors there."""
        return self._cupy.empty(2 * self._device.attributes["L2CacheSize"], dtype=np.uint8)

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
        self,
        artifact: Artifact,
        arrays: Mapping[str, Any],
        sizes: Mapping[str, int],
        out: Mapping[str, Any] | None = None,
    ) -> Call:
        """A call with everything on the GPU, ready to be launched any number of times.

        `out` has an array on this GPU for every output and in/out tensor; without it they are
        fresh, and outputs and workspace start as poison.
        """
        with self._device, _failures(self._cupy):
            taken = {n: self.imported(a) if _is_on_gpu(a) else a for n, a in arrays.items()}
            interface = artifact.interface
            described = {n: describe(interface, n, a) for n, a in taken.items()}
            bound = bind(interface, described, sizes)
            on_gpu = {n: a for n, a in taken.items() if _is_on_gpu(a)}
            check_dense(interface, {n: layout(a) for n, a in on_gpu.items()})
            buffers = self._buffers(interface, bound, on_gpu, out)
            check_aligned(interface, {t.name: _address(buffers[t.name]) for t in interface.tensors})
            return Call(self, interface, bound, buffers, self._module(artifact))

    def imported(self, array: Any) -> Any:  # noqa: ANN401
        """Another library's array on a GPU as one of CuPy, without a copy."""
        if hasattr(array, "__dlpack__"):
            return self._cupy.from_dlpack(array)
        return self._cupy.asarray(array)

    def empty(self, scalar: ScalarType, shape: tuple[int, ...]) -> Any:  # noqa: ANN401
        """A new array of CuPy, its elements undefined; bfloat16 as its bits in uint16."""
        return self._cupy.empty(shape, dtype=_storable(scalar))

    def _module(self, artifact: Artifact) -> Any:  # noqa: ANN401
        """The compiled text, loaded once."""
        module = self._modules.get(artifact.cuda_source)
        if module is None:
            module = self._cupy.RawModule(
                path=str(cubin(artifact.cuda_source, self.architecture, self._cache))
            )
            self._modules[artifact.cuda_source] = module
        return module

    @property
    def architecture(self) -> str:
        """What the compiled text is for: `sm_90`."""
        return f"sm_{self._device.compute_capability}"

    def _buffers(
        self,
        interface: Interface,
        bound: Bound,
        on_gpu: Mapping[str, Any],
        out: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """A device array for every tensor and temporary."""
        if out is None:
            buffers = {t.name: self._buffer(t, bound, on_gpu) for t in interface.tensors}
            workspace = self._poison(bound.workspace_bytes)
        else:
            buffers = {t.name: self._given(t, bound, on_gpu, out) for t in interface.tensors}
            workspace = self._cupy.empty(bound.workspace_bytes, dtype=np.uint8)
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

    def _given(
        self,
        tensor: Argument,
        bound: Bound,
        on_gpu: Mapping[str, Any],
        out: Mapping[str, Any],
    ) -> Any:  # noqa: ANN401
        """As `_buffer`, with results where the caller wants them."""
        target = out.get(tensor.name)
        if target is None:
            return self._buffer(tensor, bound, on_gpu)
        target = self.imported(target)
        if tensor.role is Role.INOUT:
            source = self._buffer(replace(tensor, role=Role.INPUT), bound, on_gpu)
            if _address(source) != _address(target):
                target[...] = source
        return target

    def _poison(self, length: int) -> Any:  # noqa: ANN401
        return self._cupy.full(max(length, 1), POISON, dtype=np.uint8)[:length]


def cubin(text: str, architecture: str, cache: ObjectCache) -> Path:
    """The binary of a text, which the driver loads from the cache; it takes no GPU to make it."""
    version = ".".join(map(str, nvrtc.version()))

    def compile_cubin(target: Path) -> None:
        target.write_bytes(nvrtc.compile_cubin(text, architecture))

    key = key_of(("nvrtc", version, architecture, text))
    return cache.get(key, ".cubin", compile_cubin)


@dataclass(frozen=True)
class Call:
    """One call of a launcher with its arrays on the GPU."""

    device: CudaDevice
    interface: Interface
    bound: Bound
    buffers: Mapping[str, Any]
    module: Any

    @cached_property
    def _launches(self) -> tuple[tuple[Any, tuple[Any, ...], int], ...]:
        """Function, (grid, block, arguments) and dynamic shared bytes of each launch."""
        values = {**self.interface.sizes, **self.bound.sizes}
        fast = self.interface.fast
        if fast is None or not self._allows_vectors(fast):
            return tuple(self._prepared(launch, values) for launch in self.interface.launches)
        quartered = {**values, **{n: values[n] // VECTOR for n in fast.quarters}}
        return tuple(self._prepared(launch, values, quartered) for launch in fast.launches)

    def _allows_vectors(self, fast: FastPath) -> bool:
        """The condition under which the launcher prefers the fast kernels."""
        return (
            all(self.bound.sizes[n] % VECTOR == 0 for n in fast.quarters)
            and all(_address(b) % VECTOR_BYTES == 0 for b in self.buffers.values())
            and all(b.size <= MOST_ELEMENTS for b in self.buffers.values())
        )

    def _prepared(
        self, launch: Launch, values: Mapping[str, int], passed: Mapping[str, int] | None = None
    ) -> tuple[Any, tuple[Any, ...], int]:
        """`values` are the sizes that the grid depends on, `passed` those the kernel takes."""
        passed = passed or values
        grid = tuple(extent.evaluate(values) for extent in launch.grid)
        sizes = {a.name for a in self.interface.arguments if a.kind is ArgumentKind.SIZE}
        arguments = tuple(
            np.int32(passed[name]) if name in sizes else self.buffers[name]
            for name in launch.arguments
        )
        function = self.module.get_function(launch.kernel)
        dynamic = launch.shared_bytes if launch.shared_bytes > STATIC_SHARED_LIMIT else 0
        if dynamic:
            function.max_dynamic_shared_size_bytes = dynamic
        return function, (grid, launch.block, arguments), dynamic

    def launch(self) -> None:
        """Launch all kernels on the current stream; does not wait."""
        with self.device.current():
            for function, geometry, dynamic in self._launches:
                function(*geometry, shared_mem=dynamic)

    def time_us(self, *, repeats: int, flush: bool = True) -> tuple[float, ...]:
        """The time of each of `repeats` launches; see `CudaDevice.time_us`."""
        return self.device.time_us(self.launch, repeats=repeats, flush=flush)

    def median_us(self, *, repeats: int, flush: bool = True) -> float:
        """The median of `time_us`."""
        return statistics.median(self.time_us(repeats=repeats, flush=flush))

    def outputs(self) -> dict[str, Any]:
        """The outputs as CuPy arrays; bfloat16 as its bits in uint16."""
        return {t.name: self.buffers[t.name] for t in self._returned}

    def host_outputs(self) -> dict[str, Array]:
        """The outputs as NumPy arrays, after the kernels have finished."""
        return {
            t.name: self.device.cupy.asnumpy(self.buffers[t.name]).view(numpy_type(element_type(t)))
            for t in self._returned
        }

    @property
    def _returned(self) -> Sequence[Argument]:
        return [t for t in self.interface.tensors if t.role in (Role.OUTPUT, Role.INOUT)]


def _is_on_gpu(array: object) -> bool:
    return hasattr(array, "__cuda_array_interface__")


def _address(array: Any) -> int:  # noqa: ANN401
    return int(array.__cuda_array_interface__["data"][0])


def describe(interface: Interface, name: str, array: Any) -> Any:  # noqa: ANN401
    """What `bind` may look at: an array on a GPU as one of NumPy without elements of its own.

    The bits of a bfloat16 tensor, in uint16, count as bfloat16.
    """
    if not _is_on_gpu(array):
        return array
    kind = array.dtype
    tensor = next((t for t in interface.tensors if t.name == name), None)
    if tensor is not None and tensor.type is ScalarType.BFLOAT16 and kind == np.uint16:
        kind = numpy_type(ScalarType.BFLOAT16)
    return np.broadcast_to(np.empty((), dtype=kind), array.shape)


def layout(array: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:  # noqa: ANN401
    """Shape, and strides in elements."""
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
