"""Programs are linked in the fastest way that a compiler has."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tcc.run.cache import ObjectCache
from tcc.run.elf import Elf
from tcc.run.host import HostDevice
from tcc.run.host_build import QUICK
from tcc.run.linking import PLAIN, link_flags
from tcc.run.toolchain import Compiler
from tests.run.wrapped import Wrapped

X = np.arange(4, dtype=np.float32)
COPY = "Y[threadIdx.x] = X[threadIdx.x];"
FAR = f"""
extern __shared__ float d[];
if (X[0] < -1.0f) d[700000000] = 1.0f;
{COPY}
"""


@pytest.fixture
def run(unit, tensor):
    def run_(body: str, compiler: Compiler, cache: ObjectCache):
        text = f'extern "C" __global__ void k(const float* X, float* Y) {{ {body} }}\n'
        tensors = [tensor("X", "in", "float32", 4), tensor("Y", "out", "float32", 4)]
        artifact = unit(text, tensors, ["k; 1; 4; 16; X; Y"])
        device = HostDevice(compiler=compiler, cache=cache, flavour=QUICK)
        np.testing.assert_array_equal(device.run(artifact, {"X": X}, {})["Y"], X)
        return device.prepare(artifact)

    return run_


def test_without_the_cxx_library(gcc, run, tmp_path):
    program = run(COPY, gcc, ObjectCache(tmp_path))
    assert b"libstdc++" not in program.read_bytes()
    assert b"libm.so" in program.read_bytes()
    assert Elf(program.read_bytes()).thread_local() is not None


@pytest.mark.skipif(shutil.which("ld.gold") is None, reason="gold is not installed")
def test_by_gold(gcc, run, tmp_path):
    wrapped = Wrapped(tmp_path, gcc)
    cache = ObjectCache(tmp_path / "cache")
    run(COPY, wrapped.compiler, cache)
    wrapped.calls()
    run(f"{COPY} /* again */", wrapped.compiler, cache)
    assert "-fuse-ld=gold" in wrapped.calls()[-1]


def test_in_the_usual_way_where_nothing_else_works(gcc, run, tmp_path):
    """Which is found out once."""
    wrapped = Wrapped(tmp_path, gcc, "*gold*|*nodefaultlibs*")
    cache = ObjectCache(tmp_path / "cache")
    run(COPY, wrapped.compiler, cache)
    assert sum("-fuse-ld=gold" in call for call in wrapped.calls()) == 2
    run(f"{COPY} /* again */", wrapped.compiler, cache)
    assert not any("gold" in call for call in wrapped.calls())


def test_when_the_fastest_fails_later(gcc, run, tmp_path):
    """As after a removal of gold."""
    wrapped = Wrapped(tmp_path, gcc, "*gold*glue.o*")
    run(COPY, wrapped.compiler, ObjectCache(tmp_path / "cache"))


def test_addresses_far_away(gcc, run, tmp_path):
    """Compilers follow paths that no thread takes."""
    run(FAR, gcc, ObjectCache(tmp_path))


def test_other_compilers_link_in_their_own_way(tmp_path):
    other = Compiler("zig c++", ("no such compiler",), "")
    assert link_flags(other, ObjectCache(tmp_path), tmp_path, (), ()) == PLAIN
