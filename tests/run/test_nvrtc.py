"""PTX and cubin without a GPU; and that NVRTC knows all that the emitter may write."""

from __future__ import annotations

import builtins

import pytest

from tcc.errors import ToolchainError
from tcc.frontend.builtins import BUILTINS
from tcc.run import nvrtc

PLAIN = 'extern "C" __global__ void fill(float* Y) { Y[threadIdx.x] = 1.0f; }\n'
HALF = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
extern "C" __global__ void convert(const __half* H, __nv_bfloat16* B, const float4* X) {
  __shared__ float4 s[32];
  __pipeline_memcpy_async(&s[threadIdx.x], &X[threadIdx.x], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  B[threadIdx.x] = __float2bfloat16_rn(__half2float(H[threadIdx.x]) + s[threadIdx.x].x);
}
"""


@pytest.fixture(scope="module", autouse=True)
def _installed():
    try:
        nvrtc.version()
    except ToolchainError as problem:
        pytest.skip(str(problem))


def test_ptx():
    ptx = nvrtc.compile_ptx(PLAIN, "sm_90")
    assert ".target sm_90" in ptx
    assert ".visible .entry fill(" in ptx
    assert ptx == nvrtc.compile_ptx(PLAIN, "sm_90")


def test_cubin():
    cubin = nvrtc.compile_cubin(PLAIN, "sm_80")
    assert cubin[:4] == b"\x7fELF"
    assert b"fill" in cubin
    assert cubin == nvrtc.compile_cubin(PLAIN, "sm_80")


def test_half_types_and_asynchronous_copies():
    assert "cp.async" in nvrtc.compile_ptx(HALF, "sm_80")


def test_host_part_is_left_out(unit, tensor):
    artifact = unit(PLAIN, [tensor("Y", "out", "float32", 32)], ["fill; 1; 32; 0; Y"])
    assert "cudaLaunchKernel" in artifact.cuda_source
    assert "fill" in nvrtc.compile_ptx(artifact.cuda_source, "sm_75")


@pytest.mark.parametrize("scalar", ["float", "double"])
def test_every_builtin(scalar):
    names = {
        b.float32 if scalar == "float" else b.float64: b.arity
        for b in BUILTINS.values()
        if b.name not in ("sigmoid", "relu")
    }
    calls = "\n".join(
        f"  Y[{i}] = {name}({', '.join('abcd'[:arity])});"
        for i, (name, arity) in enumerate(names.items())
    )
    parameters = ", ".join(f"{scalar} {p}" for p in "abcd")
    text = f'extern "C" __global__ void all({scalar}* Y, {parameters}) {{\n{calls}\n}}\n'
    assert nvrtc.compile_ptx(text, "sm_90")


def test_rejected_text():
    with pytest.raises(ToolchainError, match="E0704") as caught:
        nvrtc.compile_ptx(PLAIN.replace("1.0f", "one"), "sm_90")
    assert 'kernel.cu(1): error: identifier "one" is undefined' in str(caught.value)


def test_unknown_architecture():
    with pytest.raises(ToolchainError, match=r"E0704.*compute_12"):
        nvrtc.compile_ptx(PLAIN, "sm_12")


def test_not_installed(monkeypatch):
    real = builtins.__import__

    def absent(name, *rest):
        if name.startswith("cuda"):
            raise ImportError("No module named 'cuda'")
        return real(name, *rest)

    nvrtc._library.cache_clear()
    monkeypatch.setattr(builtins, "__import__", absent)
    try:
        with pytest.raises(ToolchainError, match="E0703") as caught:
            nvrtc.compile_ptx(PLAIN, "sm_90")
    finally:
        nvrtc._library.cache_clear()
    assert 'pip install "tcc[nvrtc]"' in str(caught.value)


def test_headers_outside_of_nvrtc(monkeypatch):
    """Older NVRTC brings no headers; those of an installed toolkit or package serve."""
    assert nvrtc.include_directories(PLAIN) == ()
    pathfinder = pytest.importorskip("cuda.pathfinder")
    monkeypatch.delattr(nvrtc._library(), "nvrtcInstallBundledHeaders")
    monkeypatch.setattr(pathfinder, "find_nvidia_header_directory", lambda _: None)
    with pytest.raises(ToolchainError, match="E0703"):
        nvrtc.compile_ptx(HALF, "sm_80")
    monkeypatch.setattr(pathfinder, "find_nvidia_header_directory", lambda name: f"/{name}")
    assert [str(p) for p in nvrtc.include_directories(HALF)] == ["/cudart", "/cccl"]
