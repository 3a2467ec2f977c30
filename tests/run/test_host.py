"""Correct kernels on the host device: every feature of emitted text, in both orders."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from tcc.affine import var
from tcc.errors import CompileError, RunError
from tcc.run.host import HostDevice, Order

BOTH = pytest.mark.parametrize("order", list(Order), ids=lambda o: o.value)

C_TYPES = {
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float64": "double",
    "bool": "bool",
}

TILED = """
extern "C" __global__ void __launch_bounds__(256) tiled(
    const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N,
    int K) {
  __shared__ float As[16][16];
  __shared__ float Bs[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += 16) {
    As[ty][tx] = r < M && k0 + tx < K ? __ldg(&A[r * K + k0 + tx]) : 0.0f;
    Bs[ty][tx] = k0 + ty < K && c < N ? __ldg(&B[(k0 + ty) * N + c]) : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) sum = fmaf(As[ty][k], Bs[k][tx], sum);
    __syncthreads();
  }
  if (r < M && c < N) C[r * N + c] = sum;
}
"""


@pytest.fixture(scope="module")
def matmul(unit, tensor):
    return unit(
        TILED,
        [
            tensor("A", "in", "float32", "M", "K"),
            tensor("B", "in", "float32", "K", "N"),
            tensor("C", "out", "float32", "M", "N"),
        ],
        ["tiled; (N + 15) / 16, (M + 15) / 16; 16, 16; 0; A; B; C; M; N; K"],
        sizes=("M", "N", "K"),
    )


def small_floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-8, 9, shape).astype(np.float32) / 4


@BOTH
@pytest.mark.parametrize("sizes", [(1, 1, 1), (16, 16, 16), (33, 17, 5), (100, 61, 128)])
def test_matmul(matmul, host, order, sizes):
    m, n, k = sizes
    rng = np.random.default_rng(1)
    a, b = small_floats(rng, m, k), small_floats(rng, k, n)
    result = host(order=order).run(matmul, {"A": a, "B": b}, {})
    assert result.keys() == {"C"}
    np.testing.assert_array_equal(result["C"], a @ b)


def test_any_layout_is_taken(matmul, host):
    rng = np.random.default_rng(6)
    a, b = small_floats(rng, 9, 7), small_floats(rng, 7, 20)
    product = host().run(matmul, {"A": a.T.copy().T, "B": b[:, ::2]}, {})["C"]
    np.testing.assert_array_equal(product, a @ b[:, ::2])
    row = np.broadcast_to(b[0], (7, 20))
    np.testing.assert_array_equal(host().run(matmul, {"A": a, "B": row}, {})["C"], a @ row)


def test_blocks_over_processes(matmul, host):
    rng = np.random.default_rng(2)
    a, b = small_floats(rng, 300, 300), small_floats(rng, 300, 300)
    result = host(workers=3).run(matmul, {"A": a, "B": b}, {})
    np.testing.assert_array_equal(result["C"], a @ b)


def test_sampled_blocks(matmul, host):
    rng = np.random.default_rng(3)
    a, b = small_floats(rng, 64, 16), small_floats(rng, 16, 48)
    c = host(blocks={0: [0, 4, 11]}).run(matmul, {"A": a, "B": b}, {})["C"]
    ran = np.zeros((4, 3), dtype=bool)
    ran.reshape(-1)[[0, 4, 11]] = True
    ran = np.kron(ran, np.ones((16, 16), dtype=bool))
    np.testing.assert_array_equal(c[ran], (a @ b)[ran])
    assert np.all(np.isnan(c[~ran]))


def test_launch_without_sample_runs_whole(matmul, host):
    a = np.ones((16, 16), np.float32)
    c = host(blocks={1: [0]}).run(matmul, {"A": a, "B": a}, {})["C"]
    np.testing.assert_array_equal(c, a @ a)


def test_arrays_that_do_not_fit(matmul, host):
    with pytest.raises(CompileError, match="E0605"):
        host().run(matmul, {"A": np.ones((2, 3), np.float32), "B": np.ones((4, 2), np.float32)}, {})


@BOTH
def test_two_kernels_with_workspace(unit, tensor, host, order):
    text = """
extern "C" __global__ void __launch_bounds__(64) first(
    const float* __restrict__ A, float* __restrict__ T, int N) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < N) T[i] = A[i] * 2.0f;
}
extern "C" __global__ void __launch_bounds__(64) second(
    const float* __restrict__ T, float* __restrict__ O, int N) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < N) O[i] = T[N - 1 - i] + 1.0f;
}
"""
    artifact = unit(
        text,
        [tensor("A", "in", "float32", "N"), tensor("O", "out", "float32", "N")],
        [
            "first; (N + 63) / 64; 64; 0; A; T; N",
            "second; (N + 63) / 64; 64; 0; T; O; N",
        ],
        sizes=("N",),
        workspace=var("N") * 4,
        before="  float* T = reinterpret_cast<float*>(static_cast<char*>(workspace));\n",
    )
    a = np.arange(131, dtype=np.float32)
    out = host(order=order).run(artifact, {"A": a}, {})["O"]
    np.testing.assert_array_equal(out, a[::-1] * 2 + 1)


@BOTH
@pytest.mark.parametrize("threads", [32, 48, 96, 1024])
def test_shuffle_reduction(unit, tensor, host, order, threads):
    text = """
extern "C" __global__ void __launch_bounds__(1024) sum(
    const int* __restrict__ A, int* __restrict__ S, int* __restrict__ P, int N) {
  const int i = threadIdx.x;
  const int lanes = N - (i & ~31) < 32 ? N - (i & ~31) : 32;
  const unsigned mask = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
  int value = A[i];
  for (int offset = 16; offset > 0; offset /= 2) {
    const int other = __shfl_down_sync(mask, value, offset);
    if ((i & 31) + offset < lanes) value += other;
  }
  P[i] = __shfl_sync(mask, value, 0) + __shfl_xor_sync(mask, i, 1) +
         __shfl_up_sync(mask, i, 1) + __shfl_sync(mask, i, 1, 4);
  if ((i & 31) == 0) atomicAdd(S, value);
}
"""
    artifact = unit(
        text,
        [
            tensor("A", "in", "int32", "N"),
            tensor("S", "inout", "int32"),
            tensor("P", "out", "int32", "N"),
        ],
        ["sum; 1; N; 0; A; S; P; N"],
        sizes=("N",),
    )
    a = np.arange(threads, dtype=np.int32) ** 2
    result = host(order=order).run(artifact, {"A": a, "S": np.int32(5)}, {})
    assert result["S"] == a.sum() + 5
    i = np.arange(threads)
    warps = np.array([a[w : w + 32].sum() for w in range(0, threads, 32)])
    up = np.where(i % 32 == 0, i, i - 1)
    np.testing.assert_array_equal(result["P"], warps[i // 32] + (i ^ 1) + up + (i // 4 * 4 + 1))


@BOTH
def test_votes(unit, tensor, host, order):
    text = """
extern "C" __global__ void vote(unsigned* __restrict__ O) {
  const int t = threadIdx.x;
  O[t] = __ballot_sync(0xffffffffu, t % 3 == 0);
  O[64 + t] = __any_sync(0xffffffffu, t == 33) * 2 + __all_sync(0xffffffffu, t < 32);
}
"""
    artifact = unit(text, [tensor("O", "out", "uint32", 128)], ["vote; 1; 64; 0; O"])
    out = host(order=order).run(artifact, {}, {})["O"]
    bits = [sum(1 << (t % 32) for t in w if t % 3 == 0) for w in (range(32), range(32, 64))]
    np.testing.assert_array_equal(out[:64], np.repeat(bits, 32))
    np.testing.assert_array_equal(out[64:], np.repeat([1, 2], 32))


@BOTH
def test_warp_barrier(unit, tensor, host, order):
    text = """
extern "C" __global__ void scan(const float* __restrict__ X, float* __restrict__ Y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = X[t];
  __syncthreads();
  if (t < 32) {
    for (int o = 32; o; o >>= 1) {
      const float v = s[t + o];
      __syncwarp();
      s[t] += v;
      __syncwarp();
    }
  }
  __syncthreads();
  if (t == 0) Y[0] = s[0];
}
"""
    tensors = [tensor("X", "in", "float32", 64), tensor("Y", "out", "float32", 1)]
    artifact = unit(text, tensors, ["scan; 1; 64; 0; X; Y"])
    x = np.arange(64, dtype=np.float32)
    assert host(order=order).run(artifact, {"X": x}, {})["Y"] == x.sum()


@BOTH
@pytest.mark.parametrize("declaration", ["float4 tile[]", "__align__(16) unsigned char tile[]"])
def test_dynamic_shared_memory(unit, tensor, host, order, declaration):
    text = f"""
extern "C" __global__ void turn(const float* __restrict__ X, float* __restrict__ Y) {{
  extern __shared__ {declaration};
  float* s = reinterpret_cast<float*>(tile);
  const int t = threadIdx.x;
  for (int i = t; i < 16384; i += 256) s[i] = X[i];
  __syncthreads();
  for (int i = t; i < 16384; i += 256) Y[i] = s[16383 - i];
}}
"""
    raised = """  const cudaError_t raised =
      cudaFuncSetAttribute(turn, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  if (raised != cudaSuccess) return raised;
"""
    tensors = [tensor("X", "in", "float32", 16384), tensor("Y", "out", "float32", 16384)]
    artifact = unit(text, tensors, ["turn; 1; 256; 65536; X; Y"], before=raised)
    x = np.arange(16384, dtype=np.float32)
    out = host(order=order).run(artifact, {"X": x}, {})["Y"]
    np.testing.assert_array_equal(out, x[::-1])


@BOTH
def test_vector_types_and_casts(unit, tensor, host, order):
    text = """
extern "C" __global__ void copy(const float* __restrict__ X, float* __restrict__ Y,
                                const double* __restrict__ D, double* __restrict__ E) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 64) return;
  const float4 v = __ldg(reinterpret_cast<const float4*>(X) + i);
  reinterpret_cast<float4*>(Y)[i] = make_float4(v.w, v.z, v.y, v.x);
  const double2 d = reinterpret_cast<const double2*>(D)[i];
  reinterpret_cast<double2*>(E)[i] = make_double2(d.y, __longlong_as_double(0x7ff0000000000000LL));
}
"""
    tensors = [
        tensor("X", "in", "float32", 256),
        tensor("Y", "out", "float32", 256),
        tensor("D", "in", "float64", 128),
        tensor("E", "out", "float64", 128),
    ]
    artifact = unit(text, tensors, ["copy; 3; 32; 0; X; Y; D; E"])
    x, d = np.arange(256, dtype=np.float32), np.arange(128, dtype=np.float64)
    result = host(order=order).run(artifact, {"X": x, "D": d}, {})
    np.testing.assert_array_equal(result["Y"], x.reshape(-1, 4)[:, ::-1].reshape(-1))
    assert np.all(result["E"][::2] == d[1::2])
    assert np.all(result["E"][1::2] == np.inf)


@BOTH
@pytest.mark.parametrize(
    "scalar",
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64", "bool"],
)
def test_element_types(unit, tensor, host, order, scalar):
    spelled = C_TYPES[scalar]
    text = f"""
extern "C" __global__ void flip(const {spelled}* __restrict__ X, {spelled}* __restrict__ Y) {{
  __shared__ {spelled} s[37];
  const int t = threadIdx.x;
  s[t] = X[t];
  __syncthreads();
  Y[t] = s[36 - t];
}}
"""
    tensors = [tensor("X", "in", scalar, 37), tensor("Y", "out", scalar, 37)]
    artifact = unit(text, tensors, ["flip; 1; 37; 0; X; Y"])
    x = np.arange(-18, 19).astype(scalar)
    out = host(order=order).run(artifact, {"X": x}, {})["Y"]
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(out, x[::-1])


@BOTH
def test_asynchronous_copies(unit, tensor, host, order):
    text = """
#include <cuda_pipeline.h>
extern "C" __global__ void staged(const float* __restrict__ X, float* __restrict__ Y) {
  __shared__ __align__(16) float s[2][128];
  const int t = threadIdx.x;
  if (t < 32) __pipeline_memcpy_async(&s[0][t * 4], &X[t * 4], 16);
  __pipeline_commit();
  for (int k = 0; k < 4; ++k) {
    if (k < 3 && t < 32)
      __pipeline_memcpy_async(&s[(k + 1) % 2][t * 4], &X[(k + 1) * 128 + t * 4], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    Y[k * 128 + t] = s[k % 2][127 - t];
    __syncthreads();
  }
}
"""
    tensors = [tensor("X", "in", "float32", 512), tensor("Y", "out", "float32", 512)]
    x = np.arange(512, dtype=np.float32)
    artifact = unit(text, tensors, ["staged; 1; 128; 0; X; Y"])
    out = host(order=order).run(artifact, {"X": x}, {})["Y"]
    np.testing.assert_array_equal(out, x.reshape(4, 128)[:, ::-1].reshape(-1))
    early = unit(
        text.replace("wait_prior(1)", "wait_prior(2)"), tensors, ["staged; 1; 128; 0; X; Y"]
    )
    assert np.isnan(host(order=order).run(early, {"X": x}, {})["Y"]).any()


@BOTH
def test_atomics(unit, tensor, host, order):
    text = """
extern "C" __global__ void count(int* I, unsigned* U, long long* L, float* F, double* D) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  atomicAdd(&I[0], i);
  atomicMax(&I[1], i);
  atomicMin(&I[2], i);
  atomicMax(&U[0], (unsigned)i);
  atomicAdd(&U[1], 1u);
  atomicMax(&L[0], (long long)i << 33);
  atomicMin(&L[1], -(long long)i);
  atomicAdd(&F[0], 0.5f);
  atomicAdd(&D[0], 0.25);
}
"""
    tensors = [
        tensor("I", "inout", "int32", 3),
        tensor("U", "inout", "uint32", 2),
        tensor("L", "inout", "int64", 2),
        tensor("F", "inout", "float32", 1),
        tensor("D", "inout", "float64", 1),
    ]
    artifact = unit(text, tensors, ["count; 8; 32; 0; I; U; L; F; D"])
    arrays = {
        "I": np.array([0, 0, 9], np.int32),
        "U": np.zeros(2, np.uint32),
        "L": np.zeros(2, np.int64),
        "F": np.zeros(1, np.float32),
        "D": np.zeros(1, np.float64),
    }
    result = host(order=order).run(artifact, arrays, {})
    np.testing.assert_array_equal(result["I"], [255 * 128, 255, 0])
    np.testing.assert_array_equal(result["U"], [255, 256])
    np.testing.assert_array_equal(result["L"], [255 << 33, -255])
    assert result["F"] == 128
    assert result["D"] == 64
    assert arrays["I"][0] == 0, "the caller's array stays as it is"


def test_half_types_round_once(unit, tensor, host):
    text = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void convert(const __half* H, const __nv_bfloat16* B, const float* F,
                                   __half* P, __nv_bfloat16* Q) {
  const int i = threadIdx.x;
  P[i] = __float2half_rn(__half2float(H[i]) * F[i]);
  Q[i] = __float2bfloat16_rn(__bfloat162float(B[i]) * F[i]);
}
"""
    tensors = [
        tensor("H", "in", "float16", 256),
        tensor("B", "in", "bfloat16", 256),
        tensor("F", "in", "float32", 256),
        tensor("P", "out", "float16", 256),
        tensor("Q", "out", "bfloat16", 256),
    ]
    artifact = unit(text, tensors, ["convert; 1; 256; 0; H; B; F; P; Q"])
    rng = np.random.default_rng(4)
    f = rng.standard_normal(256).astype(np.float32)
    h = rng.standard_normal(256).astype(np.float16)
    b = rng.standard_normal(256).astype(ml_dtypes.bfloat16)
    result = host().run(artifact, {"H": h, "B": b, "F": f}, {})
    np.testing.assert_array_equal(result["P"], (h.astype(np.float32) * f).astype(np.float16))
    assert result["Q"].dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(
        result["Q"].astype(np.float32),
        (b.astype(np.float32) * f).astype(ml_dtypes.bfloat16).astype(np.float32),
    )


def test_early_exit_without_barrier(unit, tensor, host):
    text = """
extern "C" __global__ void part(float* Y, int N) {
  const int i = blockIdx.x * 1024 + threadIdx.x;
  if (i >= N) return;
  Y[i] = i;
}
"""
    artifact = unit(
        text, [tensor("Y", "out", "float32", "N")], ["part; (N + 1023) / 1024; 1024; 0; Y; N"],
        sizes=("N",),
    )  # fmt: skip
    out = host().run(artifact, {}, {"N": 5000})["Y"]
    np.testing.assert_array_equal(out, np.arange(5000, dtype=np.float32))


@pytest.mark.parametrize("function", ["write", "main", "fork", "select"])
def test_functions_named_like_the_c_library(unit, tensor, host, function):
    text = 'extern "C" __global__ void one(float* Y) { Y[0] = 1.0f; }'
    artifact = unit(text, [tensor("Y", "out", "float32", 1)], ["one; 1; 1; 0; Y"])
    interface = replace(artifact.interface, function=function)
    source = artifact.cuda_source.replace("entry(", f"{function}(")
    artifact = replace(artifact, cuda_source=source, interface=interface)
    assert host().run(artifact, {}, {})["Y"] == 1


def test_exited_lanes_do_not_hold_up_a_warp(unit, tensor, host):
    text = """
extern "C" __global__ void half_warp(int* Y) {
  const int t = threadIdx.x;
  if (t >= 16) return;
  Y[t] = __shfl_xor_sync(0xffffffffu, t, 8);
}
"""
    artifact = unit(text, [tensor("Y", "out", "int32", 16)], ["half_warp; 1; 32; 0; Y"])
    for order in Order:
        out = host(order=order).run(artifact, {}, {})["Y"]
        np.testing.assert_array_equal(out, np.arange(16) ^ 8)


CONVERSIONS = [
    ("__float2int_rz", "float32", "int32", 0),
    ("__float2uint_rz", "float32", "uint32", 0),
    ("__float2ll_rz", "float32", "int64", -(2**63)),
    ("__float2ull_rz", "float32", "uint64", 2**63),
    ("__double2int_rz", "float64", "int32", -(2**31)),
    ("__double2uint_rz", "float64", "uint32", 2**31),
    ("__double2ll_rz", "float64", "int64", -(2**63)),
    ("__double2ull_rz", "float64", "uint64", 2**63),
]


@pytest.mark.parametrize(("function", "source", "target", "nan"), CONVERSIONS)
def test_float_to_integer_saturates(unit, tensor, host, function, source, target, nan):
    text = f"""
extern "C" __global__ void convert(const {"float" if source == "float32" else "double"}* X,
                                   {C_TYPES[target]}* Y) {{
  Y[threadIdx.x] = {function}(X[threadIdx.x]);
}}
"""
    limits = np.iinfo(target)
    powers = [2.0**k for k in (7, 30, 31, 32, 62, 63, 64, 90)]
    x = [0.0, 0.99, 1.5, 2.5, *powers, *(p * (1 - 2.0**-20) for p in powers), np.inf]
    x = np.array([*x, *(-v for v in x), np.nan], dtype=source)
    clipped = [int(min(max(v, -(2.0**70)), 2.0**70)) for v in x[:-1]]
    wanted = [min(max(v, limits.min), limits.max) for v in clipped] + [nan]
    tensors = [tensor("X", "in", source, len(x)), tensor("Y", "out", target, len(x))]
    artifact = unit(text, tensors, [f"convert; 1; {len(x)}; 0; X; Y"])
    got = host().run(artifact, {"X": x}, {})["Y"]
    assert [int(v) for v in got] == wanted


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo boom; exit 9", "the program ends with status 9: boom"),
        ("kill -9 $$", "the program ends with status -9"),
        ("exec sleep 60", "the program does not end within 0.1 s"),
    ],
)
def test_programs_that_do_not_report(matmul, host, tmp_path, monkeypatch, script, message):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(HostDevice, "prepare", lambda *_: program)
    monkeypatch.setattr("tcc.run.host.GRACE_S", 0.1)
    ones = np.ones((1, 1), np.float32)
    with pytest.raises(RunError, match=message):
        host(timeout_s=0.1).run(matmul, {"A": ones, "B": ones}, {})


def test_an_interrupt_ends_the_program(matmul, host, tmp_path, monkeypatch):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(HostDevice, "prepare", lambda *_: program)

    def interrupt(*_, **__):
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.Popen.communicate", interrupt)
    ones = np.ones((1, 1), np.float32)
    with pytest.raises(KeyboardInterrupt):
        host().run(matmul, {"A": ones, "B": ones}, {})
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_an_output_of_negative_extent_is_the_launchers_to_refuse(unit, tensor, host):
    """One extent is negative, so the product is: no buffer has such a length."""
    tensors = [
        tensor("X", "in", "float32", "N", "M"),
        tensor("Y", "out", "float32", var("N") - 4, var("M") - 4),
    ]
    refusal = "  if (N < 5) return cudaErrorInvalidValue;\n"
    artifact = unit(
        'extern "C" __global__ void k(const float* X, float* Y) { Y[0] = X[0]; }',
        tensors, ["k; 1; 1; 0; X; Y"], sizes=("N", "M"), before=refusal,
    )  # fmt: skip
    x = {"X": np.ones((2, 9000), np.float32)}
    for check in (False, True):
        with pytest.raises(RunError, match="cudaErrorInvalidValue"):
            host(check=check).run(artifact, x, {})
