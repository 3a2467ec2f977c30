"""What the fast build finds: wrong kernels end in a RunError, in poison, or differ by order."""

from __future__ import annotations

import platform
import re
from dataclasses import replace

import numpy as np
import pytest

from tcc.affine import const, var
from tcc.errors import RunError
from tcc.run.host import Order

BOTH = pytest.mark.parametrize("order", list(Order), ids=lambda o: o.value)

MATMUL = """
extern "C" __global__ void product(const float* __restrict__ A, const float* __restrict__ B,
                                   float* __restrict__ C) {
  __shared__ float As[16][16];
  __shared__ float Bs[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < 64; k0 += 16) {
    As[ty][tx] = A[r * 64 + k0 + tx];
    Bs[ty][tx] = B[(k0 + ty) * 64 + c];
    FILLED;
    for (int k = 0; k < 16; ++k) sum = fmaf(As[ty][k], Bs[k][tx], sum);
    USED;
  }
  C[r * 64 + c] = sum;
}
"""


def vector_unit(unit, tensor, text, *, grid="1", block="64", shared="0", n=64):
    tensors = [tensor("X", "in", "float32", n), tensor("Y", "out", "float32", n)]
    return unit(text, tensors, [f"k; {grid}; {block}; {shared}; X; Y"])


def kernel(body: str) -> str:
    return f"""
extern "C" __global__ void k(const float* __restrict__ X, float* __restrict__ Y) {{
  const int t = threadIdx.x;
  {body}
}}
"""


def failure(device, artifact, arrays, sizes=None) -> str:
    with pytest.raises(RunError) as caught:
        device.run(artifact, arrays, sizes or {})
    return str(caught.value)


X = {"X": np.arange(64, dtype=np.float32)}


@pytest.mark.parametrize(
    ("filled", "used"), [("__syncthreads()", ""), ("", "__syncthreads()"), ("", "")]
)
def test_missing_barrier_gives_other_values_in_other_orders(unit, tensor, host, filled, used):
    square = [tensor(n, r, "float32", 64, 64) for n, r in (("A", "in"), ("B", "in"), ("C", "out"))]
    text = MATMUL.replace("FILLED", filled).replace("USED", used)
    artifact = unit(text, square, ["product; 4, 4; 16, 16; 0; A; B; C"])
    a = np.arange(4096, dtype=np.float32).reshape(64, 64) % 17
    forward, reverse = (
        host(order=o).run(artifact, {"A": a, "B": a.T.copy()}, {})["C"] for o in Order
    )
    right = a @ a.T
    assert not np.array_equal(forward, right)
    assert not np.array_equal(forward, reverse)


@BOTH
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "Y[t + 1] = X[t];",
            r"kernel `k` (writes|accesses) past the end of `Y`: element 64 of 64 .*63, 0, 0",
        ),
        (
            "Y[t] = X[t + 1];",
            r"kernel `k` (reads|accesses) past the end of `X`: element 64 of 64 .*63, 0, 0",
        ),
        ("Y[t] = X[t + 1000000];", r"s past the end of `X`: element 1000[0-9]+ of 64"),
        ("Y[t] = X[t - 100000];", r"s `X` \d+ elements before its start"),
        ("const_cast<float*>(X)[t] = Y[t];", r"s the input `X` at \[\d+\]"),
        ("Y[t] = *reinterpret_cast<const float*>((size_t)t * 8);", "s an address far from any"),
    ],
)
def test_global_out_of_bounds(unit, tensor, host, order, body, message):
    text = failure(host(order=order), vector_unit(unit, tensor, kernel(body)), X)
    assert re.search(message, text), text


def test_write_into_the_padding(unit, tensor, host):
    artifact = vector_unit(
        unit, tensor, kernel("Y[t] = X[t]; if (t == 0) Y[5] = 0;"), n=5, block="5"
    )
    x = {"X": np.zeros(5, np.float32)}
    assert failure(host(), artifact, x) == "a kernel writes past the end of `Y`"
    artifact = vector_unit(unit, tensor, kernel("Y[t - 1] = X[t];"), n=5, block="5")
    assert failure(host(), artifact, x) == "a kernel writes before the start of `Y`"


def test_uninitialised_shared_memory_is_nan(unit, tensor, host):
    body = "__shared__ float s[64]; if (t < 63) s[t] = X[t]; __syncthreads(); Y[t] = s[t];"
    out = host().run(vector_unit(unit, tensor, kernel(body)), X, {})["Y"]
    assert np.isnan(out[63])
    assert not np.isnan(out[:63]).any()


def test_shared_memory_does_not_survive_a_block(unit, tensor, host):
    body = """__shared__ float s[64];
  if (blockIdx.x == 0) s[t] = X[t];
  __syncthreads();
  if (blockIdx.x == 1) Y[t] = s[t];"""
    out = host().run(vector_unit(unit, tensor, kernel(body), grid="2"), X, {})["Y"]
    assert np.isnan(out).all()


def test_dynamic_shared_memory(unit, tensor, host):
    body = "extern __shared__ float s[]; s[t] = X[t]; __syncthreads(); Y[t] = s[t + 1];"
    out = host().run(vector_unit(unit, tensor, kernel(body), shared="256"), X, {})["Y"]
    assert np.isnan(out[63])
    body = "extern __shared__ float s[]; s[t + 1] = X[t]; __syncthreads(); Y[t] = s[t + 1];"
    text = failure(host(), vector_unit(unit, tensor, kernel(body), shared="256"), X)
    assert "writes shared memory 0 bytes past its end" in text


def test_unwritten_outputs_are_poison(unit, tensor, host):
    text = 'extern "C" __global__ void k(float* Y, int* I, bool* B) { Y[0] = 1; }'
    tensors = [
        tensor("Y", "out", "float32", 3),
        tensor("I", "out", "int32", 2),
        tensor("B", "out", "bool", 1),
    ]
    out = host().run(unit(text, tensors, ["k; 1; 1; 0; Y; I; B"]), {}, {})
    assert np.isnan(out["Y"][1:]).all()
    assert (out["I"] == -1).all()
    assert out["B"].view(np.uint8) == 0xFF


@BOTH
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "__shared__ float s[64]; s[t] = X[t];\n  if (t < 32) __syncthreads(); Y[t] = s[t];",
            "kernel `k` has threads that never reach the barrier of line 8",
        ),
        (
            "if (t < 32)\n  __syncthreads();\n  else\n  __syncthreads();\n  Y[t] = X[t];",
            r"kernel `k` reaches the barrier of line (8|10) while 32 threads of the block wait at "
            r"that of line (10|8)",
        ),
        (
            "if (t == 5) __syncwarp();\n  else\n    __syncthreads();\n  Y[t] = X[t];",
            r"kernel `k` hangs: 63 threads wait at the barrier of line 9, the others at the warp "
            "operation of line 7",
        ),
        (
            "Y[t] = __shfl_xor_sync(1u, X[t], 1);",
            "kernel `k` calls a warp operation in line 7 whose mask has not its own lane",
        ),
        (
            "Y[t] = __shfl_xor_sync(t < 16 ? 0x1ffffu : 0xffffffffu, X[t], 1);",
            "kernel `k` joins lanes with different masks in one warp operation, lines 7 and 7",
        ),
        (
            "if (t < 7) Y[t] = __shfl_xor_sync(0xffffffffu, X[t], 1);\n  else __syncthreads();",
            r"kernel `k` hangs: 57 threads wait at the barrier of line 8, the others at the warp "
            "operation of line 7",
        ),
        ("__builtin_trap();", "kernel `k` is stopped by SIG(ILL|TRAP)"),
        (
            "volatile float big[1 << 20]; big[t] = X[t]; Y[t] = big[0];",
            "kernel `k` has local variables that do not fit",
        ),
    ],
)
def test_other_faults(unit, tensor, host, order, body, message):
    text = failure(host(order=order), vector_unit(unit, tensor, kernel(body)), X)
    assert re.match(message, text), text
    assert "(block (0, 0, 0), thread (" in text


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86 stops at a division by zero")
def test_integer_division_by_zero(unit, tensor, host):
    artifact = vector_unit(unit, tensor, kernel("Y[t] = t / (int)X[0];"))
    assert failure(host(), artifact, X).startswith("kernel `k` divides an integer by zero")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86 refuses them")
def test_misaligned_vector(unit, tensor, host):
    body = "if (t < 15) reinterpret_cast<float4*>(Y)[t] = *reinterpret_cast<const float4*>(X + 4 * t + 1);"
    text = failure(host(), vector_unit(unit, tensor, kernel(body)), X)
    assert text.startswith("kernel `k` reads or writes a vector at an address that is not aligned")


@BOTH
@pytest.mark.parametrize("blocks", [1, 64])
def test_hang_ends_at_the_deadline(unit, tensor, host, order, blocks):
    body = """volatile int* flag = reinterpret_cast<volatile int*>(Y);
  if (blockIdx.x % 64 == 0) while (*flag != 7) { }"""
    artifact = vector_unit(unit, tensor, kernel(body), grid=str(blocks))
    text = failure(host(order=order, timeout_s=0.3, workers=2), artifact, X)
    assert text.startswith("kernel `k` does not end within 0.3 s (block (0, 0, 0), thread (")


def test_fault_in_a_worker_process(unit, tensor, host):
    body = """float sum = 0;
  for (int i = 0; i < 20000; ++i) sum += X[i % 64];
  if (blockIdx.x == 150) Y[64 + t] = sum; else if (blockIdx.x == 0) Y[t] = sum;"""
    text = failure(host(workers=2), vector_unit(unit, tensor, kernel(body), grid="200"), X)
    assert re.match(r"kernel `k` \w+ past the end of `Y`: element 64 of 64 \(block \(150, ", text)


@pytest.mark.parametrize(
    ("launch", "error"),
    [
        ("k; 0; 64; 0; X; Y", "cudaErrorInvalidConfiguration (9)"),
        ("k; 1; 1025; 0; X; Y", "cudaErrorInvalidConfiguration (9)"),
        ("k; 1, 65536; 64; 0; X; Y", "cudaErrorInvalidConfiguration (9)"),
        ("k; 1; 1, 1, 65; 0; X; Y", "cudaErrorInvalidConfiguration (9)"),
        ("k; 1; 64; 49153; X; Y", "cudaErrorInvalidValue (1)"),
    ],
)
def test_launch_limits(unit, tensor, host, launch, error):
    tensors = [tensor("X", "in", "float32", 64), tensor("Y", "out", "float32", 64)]
    artifact = unit(kernel("Y[t] = X[t];"), tensors, [launch])
    assert failure(host(), artifact, X) == f"the launcher `entry` returns {error}"


def test_error_of_the_launcher(unit, tensor, host):
    tensors = [tensor("X", "in", "float32", "N"), tensor("Y", "out", "float32", "N")]
    artifact = unit(
        kernel("Y[t] = X[t];"), tensors, ["k; 1; N; 0; X; Y"], sizes=("N",),
        before="  if (N % 2) return cudaErrorInvalidValue;\n",
    )  # fmt: skip
    x = {"X": np.zeros(3, np.float32)}
    assert "returns cudaErrorInvalidValue (1)" in failure(host(), artifact, x)


def test_crash_of_the_launcher(unit, tensor, host):
    artifact = unit(
        kernel("Y[t] = X[t];"),
        [tensor("X", "in", "float32", 64), tensor("Y", "out", "float32", 64)],
        ["k; 1; 64; 0; X; Y"],
        before="  if (X[64] == 0) return cudaErrorInvalidValue;\n",
    )
    assert re.match(r"the launcher \w+ past the end of `X`", failure(host(), artifact, X))


def test_workspace_overrun_and_size(unit, tensor, host):
    text = """
extern "C" __global__ void k(float* T, float* Y, int N) {
  for (int i = 0; i <= N; ++i) T[i] = i;
  Y[0] = T[0];
}
"""
    carve = "  float* T = reinterpret_cast<float*>(workspace);\n"
    artifact = unit(
        text, [tensor("Y", "out", "float32", 1)], ["k; 1; 1; 0; T; Y; N"], sizes=("N",),
        workspace=var("N") * 4, before=carve,
    )  # fmt: skip
    message = failure(host(), artifact, {}, {"N": 64})
    assert re.match(r"kernel `k` \w+ past the end of `workspace`: element 256 of 256", message)
    small = replace(artifact.interface, workspace_bytes=const(8))
    message = failure(host(), replace(artifact, interface=small), {}, {"N": 64})
    assert message == "the launcher wants 256 bytes of workspace, its interface says other"
