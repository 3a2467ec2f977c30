"""The CUDA device: on a GPU where there is one, elsewhere against a stand-in for CuPy.

The stand-in shows that everything is handed over as CuPy documents it: shapes, types, launch
geometry, order. It computes nothing.
"""

from __future__ import annotations

import sys
import types
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from tcc.affine import ceil_div, const, var
from tcc.artifact import FastPath, Launch
from tcc.errors import CompileError, RunError, ToolchainError
from tcc.run.cache import ObjectCache
from tcc.run.cuda import CudaDevice

TEXT = """
extern "C" __global__ void __launch_bounds__(64) first(
    const float* __restrict__ A, float* __restrict__ T, int N) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < N) T[i] = A[i] * 2.0f;
}
extern "C" __global__ void __launch_bounds__(64) second(
    const float* __restrict__ T, float* __restrict__ O, int N) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < N) O[i] += T[N - 1 - i];
}
"""


@pytest.fixture
def two_kernels(unit, tensor):
    artifact = unit(
        TEXT,
        [tensor("A", "in", "float32", "N"), tensor("O", "inout", "float32", "N")],
        ["first; (N + 63) / 64; 64; 0; A; T; N", "second; (N + 63) / 64; 64; 0; T; O; N"],
        sizes=("N",),
        workspace=var("N") * 4 + 256,
        before="  float* T = static_cast<float*>(workspace) + 64;\n",
    )
    grid = (ceil_div(var("N"), 64), const(1), const(1))
    interface = replace(
        artifact.interface,
        launches=(
            Launch("first", grid, (64, 1, 1), 0, ("A", "T", "N")),
            Launch("second", grid, (64, 1, 1), 65536, ("T", "O", "N")),
        ),
        temporaries={"T": const(256)},
    )
    return replace(artifact, interface=interface)


class DeviceArray:
    """A NumPy array that says it is on a GPU."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        address = array.__array_interface__["data"]
        self.__cuda_array_interface__ = {"version": 3, "data": address}

    def __dlpack__(self) -> None: ...

    def __getitem__(self, key):
        return DeviceArray(self.array[key])

    def __getattr__(self, name):
        return getattr(self.array, name)

    def view(self, dtype):
        return DeviceArray(self.array.view(dtype))

    def reshape(self, shape):
        return DeviceArray(self.array.reshape(shape))

    def copy(self):
        return DeviceArray(self.array.copy())


class FakeError(Exception):
    pass


class Device:
    compute_capability = "90"

    def __init__(self, _index):
        self.attributes = {"L2CacheSize": 1000}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Event:
    clock = 0.0

    def record(self):
        Event.clock += 0.25
        self.at = Event.clock

    def synchronize(self): ...


@pytest.fixture
def cupy(monkeypatch):
    module = types.ModuleType("cupy")
    module.calls = []
    runtime = types.SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=FakeError)
    module.cuda = types.SimpleNamespace(
        runtime=runtime,
        driver=types.SimpleNamespace(CUDADriverError=FakeError),
        Device=Device,
        Event=Event,
        get_elapsed_time=lambda start, end: end.at - start.at,
    )
    module.full = lambda n, value, dtype: DeviceArray(np.full(n, value, dtype))
    module.empty = lambda n, dtype: DeviceArray(np.empty(n, dtype))
    module.array = lambda a: DeviceArray(np.array(a))
    module.asnumpy = lambda a: a.array
    module.from_dlpack = lambda a: a

    class Function:
        max_dynamic_shared_size_bytes = None

        def __init__(self, name):
            self.name = name

        def __call__(self, grid, block, args, *, shared_mem=0):
            limit = self.max_dynamic_shared_size_bytes
            module.calls.append((self.name, grid, block, args, shared_mem, limit))

    class RawModule:
        def __init__(self, *, path):
            with open(path, "rb") as file:
                assert file.read(4) == b"\x7fELF"

        def get_function(self, name):
            return Function(name)

    module.RawModule = RawModule
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def device(cupy, tmp_path, monkeypatch):
    assert sys.modules["cupy"] is cupy
    monkeypatch.setattr("tcc.run.nvrtc.compile_cubin", lambda _text, _arch: b"\x7fELF")
    monkeypatch.setattr("tcc.run.nvrtc.version", lambda: (13, 0))
    return CudaDevice(cache=ObjectCache(tmp_path))


def test_launches(device, cupy, two_kernels):
    a, o = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    result = device.run(two_kernels, {"A": a, "O": o}, {})
    assert isinstance(result["O"], np.ndarray)
    np.testing.assert_array_equal(result["O"], o)
    first, second = cupy.calls
    assert first[:3] == ("first", (2, 1, 1), (64, 1, 1))
    assert first[4:] == (0, None)
    assert second[0] == "second"
    assert second[4:] == (65536, 65536)
    np.testing.assert_array_equal(first[3][0].array, a)
    temporary, n = first[3][1].array, first[3][2]
    assert temporary.nbytes == 400
    assert (temporary == 0xFF).all()
    assert n == 100
    assert isinstance(n, np.int32)
    assert second[3][0].array.base is temporary.base


def test_arrays_on_the_gpu_stay_there(device, two_kernels):
    a, o = DeviceArray(np.zeros(4, np.float32)), DeviceArray(np.ones(4, np.float32))
    result = device.run(two_kernels, {"A": a, "O": o}, {})
    assert isinstance(result["O"], DeviceArray)
    assert result["O"] is not o
    strided = DeviceArray(np.zeros((4, 2), np.float32)[:, 0])
    with pytest.raises(CompileError, match="E0708"):
        device.run(two_kernels, {"A": strided, "O": o}, {})
    with pytest.raises(CompileError, match="E0605"):
        device.run(two_kernels, {"A": DeviceArray(np.zeros(5, np.float32)), "O": o}, {})


def test_bfloat16_travels_as_bits(device, unit, tensor):
    artifact = unit("", [tensor("A", "inout", "bfloat16", 2), tensor("B", "out", "bfloat16")], [])
    a = np.array([1.5, -2.0], dtype=ml_dtypes.bfloat16)
    result = device.run(artifact, {"A": a}, {})
    assert result["A"].tolist() == [1.5, -2.0]
    assert result["B"].dtype == ml_dtypes.bfloat16
    assert np.isnan(result["B"].astype(np.float32)), "outputs start as poison"


def test_timing(device, cupy, two_kernels):
    arrays = {"A": np.zeros(4, np.float32), "O": np.zeros(4, np.float32)}
    call = device.prepare(two_kernels, arrays, {})
    assert call.time_us(repeats=3) == (250.0, 250.0, 250.0)
    assert call.median_us(repeats=2, flush=False) == 250.0
    assert len(cupy.calls) == 2 * (3 + 1) + 2 * (2 + 1)


def test_fast_kernels_where_they_are_right(device, cupy, two_kernels):
    n = var("N")
    quick = Launch("quick", (n // 4, const(1), const(1)), (64, 1, 1), 0, ("A", "O", "N"))
    fast = FastPath(("N",), (quick,))
    artifact = replace(two_kernels, interface=replace(two_kernels.interface, fast=fast))

    def launched(start, count):
        aligned = np.zeros(512, np.float32)
        skip = -aligned.ctypes.data % 16 // 4 + start
        a = DeviceArray(aligned[skip : skip + count])
        cupy.calls.clear()
        device.prepare(artifact, {"A": a, "O": np.zeros(count, np.float32)}, {}).launch()
        return cupy.calls

    ((name, grid, _, arguments, *_),) = launched(0, 256)
    assert (name, grid, arguments[-1]) == ("quick", (64, 1, 1), 64)
    assert [c[0] for c in launched(0, 255)] == ["first", "second"], "no multiple of 4"
    assert [c[0] for c in launched(1, 256)] == ["first", "second"], "misaligned"


def test_target(device, monkeypatch):
    assert device.target == "sm_90"
    for capability, target in (
        ("87", "sm_86"),
        ("121", "sm_120"),
        ("103", "sm_100"),
        ("60", "sm_70"),
    ):
        monkeypatch.setattr(Device, "compute_capability", capability)
        assert device.target == target


def test_errors_of_the_gpu(device, cupy, two_kernels, monkeypatch):
    def fail(*_, **__):
        raise FakeError("an illegal memory access was encountered")

    monkeypatch.setattr(DeviceArray, "copy", fail)
    monkeypatch.setattr(cupy, "asnumpy", fail)
    arrays = {"A": np.zeros(4, np.float32), "O": np.zeros(4, np.float32)}
    with pytest.raises(RunError, match="illegal memory access"):
        device.run(two_kernels, arrays, {})


def test_no_gpu(cupy, monkeypatch):
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 0)
    with pytest.raises(ToolchainError, match="E0707"):
        CudaDevice()

    def fail():
        raise FakeError("cudaErrorInsufficientDriver")

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", fail)
    with pytest.raises(ToolchainError, match=r"E0707.*InsufficientDriver"):
        CudaDevice()


def test_no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ToolchainError, match="E0706") as caught:
        CudaDevice()
    assert 'pip install "tcc[cuda13]"' in str(caught.value)


@pytest.mark.gpu
def test_on_a_gpu(two_kernels):
    try:
        device = CudaDevice()
    except ToolchainError as problem:
        pytest.skip(str(problem))
    # the launches above ask for dynamic memory that the second kernel does not need
    a, o = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    result = device.run(two_kernels, {"A": a, "O": o}, {})
    np.testing.assert_array_equal(result["O"], 1 + 2 * a[::-1])
    assert device.prepare(two_kernels, {"A": a, "O": o}, {}).median_us(repeats=5) > 0
