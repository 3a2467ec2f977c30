"""What the host shim accepts, nvcc accepts: the forms that the emitter writes, without a warning."""

from __future__ import annotations

import subprocess

import pytest

from tcc.run.toolchain import find_nvcc

TEXT = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
extern "C" __global__ void __launch_bounds__(64) features(
    const float* __restrict__ X, const __half* __restrict__ H, __nv_bfloat16* __restrict__ B,
    float* __restrict__ Y, int N) {
  __shared__ __align__(16) float s[2][64];
  extern __shared__ float4 tile[];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][4 * (t / 4)], &X[4 * (t / 4)], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  tile[t] = make_float4(__half2float(H[t]), __int_as_float(0x7f800000), 0.0f, 0.0f);
  __syncthreads();
  const float4 v = __ldg(reinterpret_cast<const float4*>(X) + t / 16);
  float sum = fmaf(s[0][t], v.x, tile[63 - t].x) + __shfl_xor_sync(0xffffffffu, v.y, 1);
  __syncwarp();
  atomicAdd(&Y[t % N], sum);
  B[t] = __float2bfloat16_rn(sum);
}
"""


def test_the_same_text_compiles_under_nvcc(unit, tensor, host, tmp_path):
    nvcc = find_nvcc()
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    tensors = [
        tensor("X", "in", "float32", 64),
        tensor("H", "in", "float16", 64),
        tensor("B", "out", "bfloat16", 64),
        tensor("Y", "inout", "float32", "N"),
    ]
    raised = """  const cudaError_t raised =
      cudaFuncSetAttribute(features, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  if (raised != cudaSuccess) return raised;
"""
    launch = "features; 1; 64; 65536; X; H; B; Y; N"
    artifact = unit(TEXT, tensors, [launch], sizes=("N",), before=raised)
    host().prepare(artifact)
    (tmp_path / "unit.cu").write_text(artifact.cuda_source)
    flags = [
        "-std=c++17",
        "-arch=sm_80",
        "-Werror=all-warnings",
        "-Xcompiler=-Wall,-Wextra,-Werror",
    ]
    command = [nvcc, *flags, "-c", "-o", "unit.o", "unit.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
