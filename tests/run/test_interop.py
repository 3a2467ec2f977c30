"""Calls with arrays on a GPU, against stand-ins for CuPy and for a library with streams."""

# ruff: noqa: F401, F811 - the fixtures of another module
from __future__ import annotations

import contextlib

import numpy as np
import pytest

import tcc
from tcc.run import interop
from tcc.run.interop import arguments_of, call_on_gpu
from tcc.run.library import PLAIN, UnusableArray
from tests.run.test_cuda import DeviceArray, cupy, device

PROGRAM = """\
def scale(float(N) A, float S) -> (B) { B(i) = S * A(i) }
def into(float(N) A) -> (B) { B(i) += A(i) }
def twice(bfloat16(N) A) -> (B) { B(i) = A(i) + A(i) }
def long(float(N, 64) A) -> (B) { T(i) +=! A(i, j)  B(i) = exp(T(i)) }
"""


class Tensor(DeviceArray):
    """An array of a library that has its own allocator and stream."""


class FakeLibrary:
    """What a library says; `events` has what it was asked to allocate."""

    name = "fake"

    def __init__(self):
        self.events = []

    def place(self, array):
        return None if isinstance(array, np.ndarray) else 0

    def as_numpy(self, array):
        return array

    def as_cuda(self, array):
        return array

    def element_type(self, _):
        return None

    def empty(self, scalar, shape, place):
        self.events.append((scalar.value, shape, place))
        return Tensor(np.full(shape, 7, scalar.value))

    def adopt(self, result, scalar):
        if scalar.value == "float64":
            raise UnusableArray("no such type here")
        return result

    def stream(self, _):
        return 0xBEEF


@pytest.fixture(autouse=True)
def library(monkeypatch):
    made = FakeLibrary()
    monkeypatch.setattr(interop, "library_of", lambda a: made if isinstance(a, Tensor) else PLAIN)
    return made


@pytest.fixture(autouse=True)
def streams(cupy):
    """The streams that work was put on, and what came back to the host."""
    entered = []

    @contextlib.contextmanager
    def external(handle):
        entered.append(handle)
        yield

    cupy.cuda.ExternalStream = external
    cupy.asnumpy = lambda _: pytest.fail("a copy to the host")
    cupy.array = lambda _: pytest.fail("a copy to the GPU")
    cupy.full = lambda *_, **__: pytest.fail("results are no poison in a call")
    return entered


def tensor(*values, kind=np.float32):
    return Tensor(np.array(values, kind))


def launched(cupy, name):
    (arguments,) = [c[3] for c in cupy.calls if c[0].startswith(name)]
    return arguments


def test_memory_and_stream_of_the_caller(device, cupy, library, streams):
    a = tensor(1, 2, 3)
    s = Tensor(np.array(2, np.float32))
    kernel = tcc.compile(PROGRAM, "scale")
    found = call_on_gpu(device, kernel.artifact, arguments_of({"A": a, "S": s}, {}))
    assert isinstance(found["B"], Tensor)
    assert library.events == [("float32", (3,), 0)]
    assert streams == [0xBEEF]
    arguments = launched(cupy, "scale")
    assert arguments[0] is a or arguments[1] is a
    assert any(x is found["B"] for x in arguments), "the kernel writes the array that is returned"


def test_given_results(device, cupy, library):
    a, s, out = tensor(1, 2, 3), Tensor(np.array(2, np.float32)), tensor(0, 0, 0)
    kernel = tcc.compile(PROGRAM, "scale")
    given = arguments_of({"A": a, "S": s}, {"B": out})
    assert call_on_gpu(device, kernel.artifact, given)["B"] is out
    assert library.events == []
    assert any(x is out for x in launched(cupy, "scale"))
    with pytest.raises(tcc.CompileError, match="E0618"):
        call_on_gpu(device, kernel.artifact, arguments_of({"A": a, "S": s}, {"B": a}))
    with pytest.raises(tcc.CompileError, match="E0618"):
        call_on_gpu(device, kernel.artifact, arguments_of({"A": a, "S": s}, {"B": tensor(1, 2)}))


def test_in_out_tensors(device, monkeypatch):
    """A copy of what the caller has; none where it is to be updated in place."""
    copied = []
    monkeypatch.setattr(
        DeviceArray, "__setitem__", lambda s, _, v: copied.append((s, v)), raising=False
    )
    a, b = tensor(1, 2, 3), tensor(4, 5, 6)
    kernel = tcc.compile(PROGRAM, "into")
    found = call_on_gpu(device, kernel.artifact, arguments_of({"A": a, "B": b}, {}))
    assert copied == [(found["B"], b)]
    copied.clear()
    found = call_on_gpu(device, kernel.artifact, arguments_of({"A": a, "B": b}, {"B": b}))
    assert found["B"] is b
    assert copied == []


def test_arrays_of_cupy_itself(device, cupy, streams):
    a, s = DeviceArray(np.ones(3, np.float32)), DeviceArray(np.array(2, np.float32))
    a.__dlpack_device__ = s.__dlpack_device__ = lambda: (2, 0)
    cupy.empty = lambda shape, dtype: DeviceArray(np.empty(shape, dtype))
    kernel = tcc.compile(PROGRAM, "scale")
    found = call_on_gpu(device, kernel.artifact, arguments_of({"A": a, "S": s}, {}))
    assert found["B"].array.shape == (3,)
    assert streams == [], "CuPy's own current stream"


def test_types_are_those_of_the_library(device, library, monkeypatch):
    """bfloat16 travels as bits, but the bits of another type do not pass for it."""
    kernel = tcc.compile(PROGRAM, "twice")
    bits = tensor(1, 2, kind=np.uint16)
    monkeypatch.setattr(library, "element_type", lambda _: np.dtype(np.uint16), raising=False)
    with pytest.raises(tcc.CompileError, match="E0603"):
        call_on_gpu(device, kernel.artifact, arguments_of({"A": bits}, {}))
    monkeypatch.setattr(library, "element_type", lambda _: None)
    monkeypatch.setattr(library, "empty", lambda *_: tensor(0, 0, kind=np.uint16))
    found = call_on_gpu(device, kernel.artifact, arguments_of({"A": bits}, {}))
    assert found["B"].array.dtype == np.uint16


def test_a_result_that_the_library_cannot_have(device):
    kernel = tcc.compile("def f(float(N) A) -> (double(N) B) { B(i) = A(i) }")
    with pytest.raises(tcc.CompileError, match="no such type here"):
        call_on_gpu(device, kernel.artifact, arguments_of({"A": tensor(1, 2)}, {}))


def test_vectors_need_aligned_arrays(device, library):
    memory = np.zeros(64 * 64 + 8, np.float32)
    start = -memory.ctypes.data % 16 // 4
    aligned = Tensor(memory[start : start + 4096].reshape(64, 64))
    shifted = Tensor(memory[start + 1 : start + 4097].reshape(64, 64))
    assert shifted.__cuda_array_interface__["data"][0] % 16 == 4
    kernel = tcc.compile(PROGRAM, "long", sizes={"N": 64})
    assert kernel.artifact.interface.alignments == {"A": 16}
    library.empty = lambda *_: aligned_result()
    call_on_gpu(device, kernel.artifact, arguments_of({"A": aligned}, {}))
    with pytest.raises(tcc.CompileError, match="E0714"):
        call_on_gpu(device, kernel.artifact, arguments_of({"A": shifted}, {}))
    options = {"mapping": {"vector": 1}}
    narrow = tcc.compile(PROGRAM, "long", sizes={"N": 64}, options=options)
    call_on_gpu(device, narrow.artifact, arguments_of({"A": shifted}, {}))


def aligned_result():
    memory = np.zeros(68, np.float32)
    start = -memory.ctypes.data % 16 // 4
    return Tensor(memory[start : start + 64])


def test_kernels_are_loaded_once(device, cupy):
    loads = []
    plain = cupy.RawModule
    cupy.RawModule = lambda *, path: loads.append(path) or plain(path=path)
    kernel = tcc.compile(PROGRAM, "scale")
    for _ in range(3):
        arrays = {"A": tensor(1), "S": Tensor(np.array(1, np.float32))}
        call_on_gpu(device, kernel.artifact, arguments_of(arrays, {}))
    assert len(loads) == 1


def test_a_kernel_finds_its_gpu(monkeypatch, device):
    """`kernel(a)` and `kernel.run` with arrays on a GPU."""
    asked = []
    monkeypatch.setattr(tcc.api, "_gpu", lambda index: asked.append(index) or device)
    kernel = tcc.compile(PROGRAM, "scale")
    s = Tensor(np.array(1, np.float32))
    assert isinstance(kernel(tensor(1, 2), s), Tensor)
    assert isinstance(kernel.run({"A": tensor(1, 2), "S": s}, device="cuda")["B"], Tensor)
    assert asked == [0, 0]
    with pytest.raises(tcc.CompileError, match="E0617"):
        kernel.run({"A": tensor(1, 2), "S": s})


def test_sizes_are_checked_as_the_launcher_checks_them():
    conv = tcc.compile("def conv(float(W) I, float(K) F) -> (O) { O(w) +=! I(w + k) * F(k) }")
    with pytest.raises(tcc.CompileError, match=r"E0619.*`conv` needs `W >= K`") as problem:
        conv(np.ones(3, np.float32), np.ones(5, np.float32))
    (found,) = problem.value.diagnostics
    assert found.primary.text == "`K` is 5, `W` is 3"
