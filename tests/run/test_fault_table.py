"""Every kind of fault, in emitted kernels: one edit of the text, found with every compiler.

`docs/verification.md` has the table.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tcc.inputs import options_of_data
from tcc.run.findings import Finding
from tcc.run.findings import FindingKind as Kind
from tcc.run.host import HostDevice
from tcc.run.toolchain import Compiler
from tests.run.compilers import compilers

MATMUL = "def f(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
MATMUL_SIZES = {"M": 70, "N": 68, "K": 40}
ROWS = "def f(float(N, M) X) -> (S) { S(n) += X(n, m) }"
STAGED = {
    "tile": [32, 32, 8],
    "threads": [8, 8],
    "registers": [4, 4],
    "staging": {"A": "shared", "B": "shared"},
}
WARP = {"parallel": {"n": ["block.x"]}, "row": ["thread.x 32"]}
KERNELS = {
    "one buffer": (MATMUL, MATMUL_SIZES, STAGED | {"pipeline": 1}),
    "two buffers": (MATMUL, MATMUL_SIZES, STAGED | {"pipeline": 2}),
    "asynchronous": (MATMUL, MATMUL_SIZES, STAGED | {"pipeline": 3}),
    "a warp a row": (ROWS, {"N": 5, "M": 40}, {"plan": {"f_kernel": WARP}}),
}
# Of the kernel, a pattern, its replacement: (kernel, pattern, replacement, tensor, kinds).
RACES = (Kind.RACE, Kind.WARP_RACE, Kind.UNINITIALISED)
FAULTS = {
    "no barrier after copies": (
        "one buffer", r"(next_B\[0\]\[0\]\);\n) *__syncthreads\(\);", r"\1", "shared_", RACES,
    ),
    "no barrier before copies": (
        "one buffer", r"__syncthreads\(\);(\s+shared_A)", r"\1", "shared_", RACES,
    ),
    "no barrier between buffers": (
        "two buffers", r" +__syncthreads\(\);\n(  \}\n)", r"\1", "shared_", RACES,
    ),
    "global, past the end": ("one buffer", r"< 70 &&", "<= 70 &&", "C", (Kind.OUT_OF_BOUNDS,)),
    "global, before the start": (
        "one buffer", r"minimum\(4 \* t1", "minimum(-1 + 4 * t1", "A", (Kind.OUT_OF_BOUNDS,),
    ),
    "shared, past the end, by a pointer": (
        "one buffer", r"&shared_B\[32 \* k", "&shared_B[4 + 32 * k", "shared_B",
        (Kind.OUT_OF_BOUNDS,),
    ),
    "shared, past a row": (
        "two buffers", r"shared_A\[0\]\[144", "shared_A[0][36 + 144", None, (Kind.OUT_OF_BOUNDS,),
    ),
    "shared, not written": (
        "one buffer", r" shared_A\[[^\]]*\+ 32 [^;]*;", "", "shared_A", (Kind.UNINITIALISED,),
    ),
    "shared, updated before it is written": (
        "two buffers", r"(shared_A\[0\]\[[^\]]*\]) =", r"\1 +=", "shared_A",
        (Kind.UNINITIALISED,),
    ),
    "register, not written": (
        "one buffer", r"private_C\[m_i\]\[n_i\] = 0\.0f;", "", None, (Kind.UNINITIALISED,),
    ),
    "output, not written": ("one buffer", r"< 70 &&", "< 69 &&", "C", (Kind.UNWRITTEN,)),
    "a barrier that some threads skip": (
        "one buffer", r"__syncthreads\(\);(\s+shared_A)", r"if (t0 < 4) __syncthreads();\1", None,
        (Kind.DIVERGENCE,),
    ),
    "two blocks write one element": (
        "one buffer", r"(&C\[[^\]]*) \+ 32 \* b0", r"\1", "C", (Kind.BLOCK_RACE,),
    ),
    "no __syncwarp": ("a warp a row", r"__syncwarp\(\);", "", "S", (Kind.WARP_RACE,)),
    "a lane that is away": (
        "a warp a row", r"0xffffffffu, partial_S, 16", "0x0000ffffu, partial_S, 16", None,
        (Kind.INACTIVE_LANE, Kind.CRASH),
    ),
    "misaligned vector": (
        "one buffer", r"&shared_B\[32 \* k", "&shared_B[1 + 32 * k", "shared_B",
        (Kind.MISALIGNED, Kind.OUT_OF_BOUNDS),
    ),
    "no wait for copies": (
        "asynchronous", r"__pipeline_wait_prior\(1\);", "", "shared_", (Kind.PENDING_COPY,),
    ),
    "a wait for too few copies": (
        "asynchronous", r"__pipeline_wait_prior\(1\);", "__pipeline_wait_prior(2);", "shared_",
        (Kind.PENDING_COPY,),
    ),
    "a write to an input": (
        "a warp a row", r"private_S;", "const_cast<float*>(X)[0] = private_S;", "X",
        (Kind.INPUT_WRITE, Kind.CRASH),
    ),
}  # fmt: skip


@cache
def compiled(name: str) -> Kernel:
    text, sizes, mapping = KERNELS[name]
    return tcc_compile(
        text, sizes=sizes, options=options_of_data("<options>", {"mapping": mapping})
    )


def findings(name: str, source: str, compiler: Compiler) -> tuple[Finding, ...]:
    kernel = compiled(name)
    program = kernel.compilation.program
    assert program is not None
    rng = np.random.default_rng(0)
    sizes = KERNELS[name][1]
    arrays = {
        tensor: rng.standard_normal([e.evaluate(sizes) for e in program.tensors[tensor].shape])
        for tensor in (*program.inputs, *program.inouts)
    }
    data = {tensor: values.astype(np.float32) for tensor, values in arrays.items()}
    device = HostDevice(check=True, compiler=compiler)
    return device.check(replace(kernel.artifact, cuda_source=source), data, {}).findings


every_compiler = pytest.mark.parametrize("compiler", compilers(), ids=lambda c: c.name)


@every_compiler
@pytest.mark.parametrize("name", KERNELS)
def test_right_kernels(name: str, compiler: Compiler) -> None:
    found = findings(name, compiled(name).cuda_source, compiler)
    assert not found, "\n".join(f.text() for f in found)


@every_compiler
@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str, compiler: Compiler) -> None:
    name, pattern, replacement, tensor, kinds = FAULTS[fault]
    if fault == "register, not written" and compiler.name != "g++":
        pytest.skip("clang fills variables with NaN instead, which shows by itself")
    source, count = re.subn(pattern, replacement, compiled(name).cuda_source)
    assert count, f"`{pattern}` is not in the kernel"
    found = findings(name, source, compiler)
    assert found, "nothing found"
    assert {f.kind for f in found} & set(kinds), "\n".join(f.text() for f in found)
    first = next(f for f in found if f.kind in kinds)
    assert first.kind is Kind.UNWRITTEN or first.line or first.kind is Kind.CRASH
    if tensor is not None:
        assert any((f.tensor or "").startswith(tensor) for f in found), first.text()
