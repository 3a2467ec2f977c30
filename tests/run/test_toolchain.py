"""Which compiler is taken, and that each that is here compiles the shim."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tcc.errors import ToolchainError
from tcc.run import toolchain
from tcc.run.host import HostDevice
from tcc.run.host_build import SHIM
from tcc.run.toolchain import find_cxx, zig


@pytest.fixture
def path(monkeypatch, tmp_path):
    """An empty PATH to put compilers on; no zig package."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda _: None)

    def put(name: str, script: str = "exit 0") -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    return put


def test_order_of_preference(path):
    path("clang++")
    assert find_cxx().name == "clang++"
    path("g++")
    assert find_cxx().name == "g++"


@pytest.mark.usefixtures("path")
def test_no_compiler():
    with pytest.raises(ToolchainError, match="E0701") as caught:
        find_cxx()
    assert 'pip install "tcc[host]"' in str(caught.value)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("here", [("Darwin", "arm64"), ("Linux", "riscv64")])
def test_other_platforms(monkeypatch, here):
    monkeypatch.setattr(toolchain.platform, "system", lambda: here[0])
    monkeypatch.setattr(toolchain.platform, "machine", lambda: here[1])
    with pytest.raises(ToolchainError, match="E0709"):
        find_cxx()


def test_the_wheel_is_the_last_resort(path, monkeypatch, tmp_path):
    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda _: Spec)
    with pytest.raises(ToolchainError):
        find_cxx()
    path("zig")
    assert find_cxx().command[:2] == (str(tmp_path / "zig"), "c++")
    path("g++")
    assert find_cxx().name == "g++"


def test_log_of_a_failed_compilation(path, unit, tensor, object_cache):
    path("g++", "echo 'kernel.cu:3: error: no' >&2; exit 1")
    artifact = unit("", [tensor("Y", "out", "float32", 1)], [])
    with pytest.raises(ToolchainError, match="E0702") as caught:
        HostDevice(cache=object_cache).run(artifact, {}, {})
    assert "kernel.cu:3: error: no" in str(caught.value)


def test_a_full_disk_is_no_fault_of_the_text(path, unit, tensor, object_cache):
    path("g++", "echo 'ld: k.o: No space left on device' >&2; exit 1")
    artifact = unit("", [tensor("Y", "out", "float32", 1)], [])
    with pytest.raises(ToolchainError, match=r"E0705.*No space left"):
        HostDevice(cache=object_cache).run(artifact, {}, {})


def test_replacing_a_compiler_changes_its_identity(path):
    path("g++")
    before = find_cxx().identity
    path("g++", "exit 0 # newer")
    assert find_cxx().identity != before


@pytest.mark.parametrize("capable", [True, False])
def test_flags_follow_the_cpu(path, monkeypatch, capable):
    monkeypatch.setattr(toolchain, "is_x86_64_v3", lambda: capable)
    path("g++")
    assert ("-march=x86-64-v3" in find_cxx().command) == capable


@pytest.mark.parametrize("name", ["g++", "clang++", "zig c++"])
def test_compilers(name, unit, tensor, object_cache):
    found = zig() if name == "zig c++" else toolchain._on_path(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    text = """
extern "C" __global__ void turn(const float* X, double* Y) {
  __shared__ float s[64];
  extern __shared__ float d[];
  const int t = threadIdx.x;
  s[t] = __shfl_xor_sync(0xffffffffu, X[t], 1);
  d[t] = sinpif(X[t]);
  __syncthreads();
  Y[t] = erfcx((double)s[63 - t]) + d[63 - t];
}
"""
    tensors = [tensor("X", "in", "float32", 64), tensor("Y", "out", "float64", 64)]
    artifact = unit(text, tensors, ["turn; 1; 64; 256; X; Y"])
    x = np.linspace(0, 2, 64, dtype=np.float32)
    device = HostDevice(cache=object_cache, compiler=found)
    got = device.run(artifact, {"X": x}, {})["Y"]
    pairs = x.reshape(-1, 2)[:, ::-1].reshape(-1)[::-1].astype(np.float64)
    erfc = np.vectorize(math.erfc)(pairs)
    wanted = np.exp(pairs**2) * erfc + np.sin(np.pi * x[::-1].astype(np.float64))
    np.testing.assert_allclose(got, wanted, atol=3e-7)


def test_the_shim_needs_no_cxx_library():
    headers = {
        line.split("<")[1].split(">")[0]
        for file in SHIM.iterdir()
        for line in file.read_text().splitlines()
        if line.startswith("#include <")
    }
    assert all(h.endswith(".h") for h in headers), headers
