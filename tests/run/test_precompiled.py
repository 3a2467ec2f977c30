"""The precompiled header changes nothing but the time; what is wrong with it does not stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tcc.run.cache import ObjectCache
from tcc.run.host import HostDevice
from tcc.run.host_build import FAST, FLAGS, QUICK, SHIM
from tcc.run.host_check import _flavour
from tcc.run.precompiled import precompiled
from tcc.run.toolchain import Compiler
from tests.run.wrapped import Wrapped

TEXT = """
extern "C" __global__ void twice(const float* X, float* Y) {
  __shared__ float s[32];
  s[threadIdx.x] = fmaf(2.0f, X[threadIdx.x], 0.0f);
  __syncthreads();
  Y[threadIdx.x] = s[threadIdx.x];
}
"""
X = np.arange(32, dtype=np.float32)


@pytest.fixture
def artifact(unit, tensor):
    tensors = [tensor("X", "in", "float32", 32), tensor("Y", "out", "float32", 32)]
    return unit(TEXT, tensors, ["twice; 1; 32; 0; X; Y"])


def assert_runs(artifact, compiler: Compiler, cache: ObjectCache) -> None:
    for program in cache.directory.rglob("*.exe"):
        program.unlink()
    got = HostDevice(compiler=compiler, cache=cache, flavour=QUICK).run(artifact, {"X": X}, {})
    np.testing.assert_array_equal(got["Y"], 2 * X)


@pytest.mark.parametrize("name", ["fast", "quick", "check"])
def test_the_code_is_the_same(gcc, tmp_path, name):
    """To the byte, with the places of its lines and its warnings."""
    flavour = {"fast": FAST, "quick": QUICK}.get(name) or _flavour(gcc, ())
    flags = [*FLAGS, *flavour.text_flags, "-I.", f"-I{SHIM}"]
    (tmp_path / "glue.cpp").write_text(f"#include <cuda_runtime.h>\n{TEXT}")
    header = precompiled(gcc, ObjectCache(tmp_path), flags, ())
    assert header is not None
    include = ["-include", str(header.with_suffix(""))]
    logs = [
        gcc.run([*flags, *more, "-c", "-o", f"{len(more)}.o", "glue.cpp"], tmp_path)
        for more in ([], include)
    ]
    assert (tmp_path / "0.o").read_bytes() == (tmp_path / "2.o").read_bytes()
    assert logs[0] == logs[1]


def test_texts_share_it(gcc, artifact, tmp_path):
    wrapped = Wrapped(tmp_path, gcc)
    cache = ObjectCache(tmp_path / "cache")
    assert_runs(artifact, wrapped.compiler, cache)
    assert sum("c++-header" in call for call in wrapped.calls()) == 1
    assert_runs(artifact, wrapped.compiler, cache)
    compiled, linked = wrapped.calls()
    assert "-include" in compiled
    assert "-o" in linked


@pytest.mark.parametrize("keep", [0, 1 << 20], ids=["empty", "short"])
def test_a_damaged_one_is_made_anew(gcc, artifact, tmp_path, keep):
    cache = ObjectCache(tmp_path)
    assert_runs(artifact, gcc, cache)
    (header,) = tmp_path.rglob("*.gch")
    header.write_bytes(header.read_bytes()[:keep])
    assert_runs(artifact, gcc, cache)
    (header,) = tmp_path.rglob("*.gch")
    assert header.stat().st_size > 1 << 21


def test_one_that_the_compiler_does_not_take_is_removed(gcc, artifact, tmp_path):
    """As after an update of the C library, which does not show in its name."""
    cache = ObjectCache(tmp_path)
    cache_key = "0" * 40
    assert_runs(artifact, gcc, cache)
    (header,) = tmp_path.rglob("*.gch")
    other = cache.get(cache_key, ".gch", lambda path: path.write_bytes(b"another compiler's"))
    bad = header.with_name(header.name[:41] + other.name[41:])
    header.unlink()
    other.replace(bad)
    assert_runs(artifact, gcc, cache)
    assert not bad.exists()


def test_a_compiler_without_precompiled_headers(gcc, artifact, tmp_path):
    """It is asked once."""
    wrapped = Wrapped(tmp_path, gcc, "*' -include '*")
    cache = ObjectCache(tmp_path / "cache")
    assert_runs(artifact, wrapped.compiler, cache)
    assert sum("-include" in call for call in wrapped.calls()) == 1
    assert_runs(artifact, wrapped.compiler, cache)
    assert not any("-include" in call or "c++-header" in call for call in wrapped.calls())


def test_other_compilers_read_the_header(tmp_path: Path) -> None:
    other = Compiler("clang++", ("no such compiler",), "")
    assert precompiled(other, ObjectCache(tmp_path), (), ()) is None
