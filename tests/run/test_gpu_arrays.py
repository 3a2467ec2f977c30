"""Arrays on a GPU: in place, on the caller's stream, results of the caller's library."""

from __future__ import annotations

import numpy as np
import pytest

import tcc
from tcc.errors import ToolchainError
from tcc.run.cuda import CudaDevice

PROGRAM = """\
def matmul(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }
def into(float(N) A) -> (S) { S(i) += A(i) }
def twice(bfloat16(N) A) -> (B) { B(i) = A(i) + A(i) }
"""
A, B = np.random.default_rng(3).standard_normal((2, 300, 300), dtype=np.float32)
WANTED = A.astype(np.float64) @ B

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def device():
    try:
        return CudaDevice()
    except ToolchainError as problem:
        pytest.skip(str(problem))


def assert_product(got):
    np.testing.assert_allclose(got, WANTED, rtol=1e-4, atol=1e-4)


def test_cupy(device):
    cupy = device.cupy
    matmul = tcc.compile(PROGRAM, "matmul", target=device.target)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        a, b = cupy.asarray(A), cupy.asarray(B)
        out = cupy.empty((300, 300), cupy.float32)
        assert matmul(a, b, out=out) is out
    stream.synchronize()
    assert_product(out.get())
    assert isinstance(matmul(a, b), cupy.ndarray)


def test_torch(device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    matmul = tcc.compile(PROGRAM, "matmul", target=device.target)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        a, b = torch.from_numpy(A).cuda(), torch.from_numpy(B).cuda()
        torch.cuda._sleep(50_000_000)  # the kernel must wait for what its stream has to do
        a.mul_(2)
        before = torch.cuda.memory_allocated()
        got = matmul(a, b)
        assert torch.cuda.memory_allocated() - before >= 4 * 300 * 300, "PyTorch's allocator"
    stream.synchronize()
    assert_product(got.cpu() / 2)
    s = torch.zeros(9, device="cuda")
    into = tcc.compile(PROGRAM, "into", target=device.target)
    assert into(torch.ones(9, device="cuda"), s, out=s) is s
    assert s.tolist() == [1] * 9
    twice = tcc.compile(PROGRAM, "twice", target=device.target)
    assert twice(torch.full((5,), 1.5, device="cuda", dtype=torch.bfloat16)).tolist() == [3] * 5


def test_jax(device):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    matmul = tcc.compile(PROGRAM, "matmul", target=device.target)
    got = matmul(jax.numpy.asarray(A), jax.numpy.asarray(B))
    assert isinstance(got, jax.Array)
    assert_product(np.asarray(got))
