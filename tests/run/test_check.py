"""What the checking build finds, and that each finding names statement, tensor, threads and line."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tcc.affine import const, var
from tcc.errors import RunError
from tcc.run.findings import FindingKind, FindingsError
from tcc.run.host import Order
from tests.run.compilers import compilers

BOTH = pytest.mark.parametrize("order", list(Order), ids=lambda o: o.value)
X = {"X": np.arange(64, dtype=np.float32)}
STATEMENT = "Y(i) = X(i)"


EVERY = pytest.mark.parametrize("compiler", compilers(), ids=lambda c: c.name)


def kernel(body: str, includes: str = "") -> str:
    """Line 5 has the statement, the body begins in line 6."""
    return f"""{includes}
extern "C" __global__ void __launch_bounds__(64) k(const float* __restrict__ X, float* __restrict__ Y) {{
  const int t = threadIdx.x;
  // {STATEMENT}
  {body}
}}
"""


@pytest.fixture
def check(unit, tensor, host):
    """Runs a kernel of 64 threads on 64 elements; the findings."""

    def run(body: str, *, shared="0", includes="", run=False, **settings):
        tensors = [tensor("X", "in", "float32", 64), tensor("Y", "out", "float32", 64)]
        artifact = unit(kernel(body, includes), tensors, [f"k; 1; 64; {shared}; X; Y"])
        device = host(check=True, **settings)
        return device.run(artifact, X, {}) if run else device.check(artifact, X, {}).findings

    return run


def line_of(body: str, part: str) -> int:
    """The line of a part of the body in the text that `kernel` and the fixture `unit` make."""
    return 3 + 5 + body[: body.index(part)].count("\n")


def only(findings, kind: FindingKind):
    assert [f.kind for f in findings] == [kind], "\n".join(f.text() for f in findings)
    return findings[0]


FAULTS = {
    "missing barrier": (
        FindingKind.RACE,
        "__shared__ float s[64];\n  s[t] = X[t];\n  Y[t] = s[63 - t];",
        "s[63 - t]",
        "s",
    ),
    "missing barrier before the next write": (
        FindingKind.RACE,
        """__shared__ float s[64];
  for (int i = 0; i < 3; ++i) {
    s[t] = X[t] + i;
    __syncthreads();
    Y[t] = s[63 - t];
  }""",
        "s[t] =",
        "s",
    ),
    "missing barrier, global": (
        FindingKind.RACE,
        "Y[t] = X[t];\n  Y[t] = Y[63 - t];",
        "Y[63 - t]",
        "Y",
    ),
    "two threads write": (
        FindingKind.WARP_RACE,
        "Y[t] = 0;\n  __syncthreads();\n  Y[t & 62] = X[t];",
        "Y[t & 62]",
        "Y",
    ),
    "missing __syncwarp": (
        FindingKind.WARP_RACE,
        "__shared__ float s[64];\n  s[t] = X[t];\n  Y[t] = s[t ^ 1];",
        "s[t ^ 1]",
        "s",
    ),
    "global write past the end": (
        FindingKind.OUT_OF_BOUNDS,
        "Y[t] = X[t];\n  if (t == 63) Y[t + 1] = 0;",
        "Y[t + 1]",
        "Y",
    ),
    "global read before the start": (
        FindingKind.OUT_OF_BOUNDS,
        "Y[t] = X[t - 1];",
        "X[t - 1]",
        "X",
    ),
    "read-only load past the end": (
        FindingKind.OUT_OF_BOUNDS,
        "Y[t] = __ldg(&X[t + 1]);",
        "__ldg",
        "X",
    ),
    "shared, through a pointer": (
        FindingKind.OUT_OF_BOUNDS,
        "__shared__ float s[65];\n  s[t] = X[t];\n  if (t == 9) s[64] = 0;\n  __syncthreads();\n"
        "  const float* p = s;\n  Y[t] = p[t + 2];",
        "p[t + 2]",
        "s",
    ),
    "shared, past a row": (
        FindingKind.OUT_OF_BOUNDS,
        "__shared__ float s[2][32];\n  s[t / 32][t % 32] = X[t];\n  __syncthreads();\n"
        "  Y[t] = s[0][t];",
        "s[0][t]",
        None,
    ),
    "register array": (
        FindingKind.OUT_OF_BOUNDS,
        "float r[4] = {1, 2, 3, 4};\n  Y[t] = r[t / 8];",
        "r[t / 8]",
        None,
    ),
    "uninitialised shared": (
        FindingKind.UNINITIALISED,
        "__shared__ float s[64];\n  if (t < 63) s[t] = X[t];\n  __syncthreads();\n  Y[t] = s[t];",
        "Y[t]",
        "s",
    ),
    "uninitialised shared, updated": (
        FindingKind.UNINITIALISED,
        "__shared__ float s[64];\n  s[t] += X[t];\n  __syncthreads();\n  Y[t] = s[t];",
        "s[t] +=",
        "s",
    ),
    "uninitialised output": (FindingKind.UNINITIALISED, "Y[t] += X[t];", "Y[t]", "Y"),
    "uninitialised register": (
        FindingKind.UNINITIALISED,
        "float sum;\n  sum = sum + X[t];\n  Y[t] = sum;",
        "sum =",
        "sum",
    ),
    "uninitialised register array, through shared memory": (
        FindingKind.UNINITIALISED,
        """__shared__ float s[64];
  float r[2];
  for (int i = 0; i < 2; ++i)
    if (t < 63) r[i] = X[t];
  s[t] = r[1];
  __syncthreads();
  Y[t] = s[63 - t];""",
        "s[63 - t]",
        "s",
    ),
    "misaligned vector": (
        FindingKind.MISALIGNED,
        "Y[t] = 0;\n  float4 v;\n  v = *reinterpret_cast<const float4*>(&X[1]);\n  Y[t] = v.x;",
        "v = *",
        "X",
    ),
    "write to an input": (
        FindingKind.INPUT_WRITE,
        "Y[t] = X[t];\n  const_cast<float*>(X)[t] = 0;",
        "const_cast",
        "X",
    ),
    "a barrier that some skip": (
        FindingKind.DIVERGENCE,
        "Y[t] = X[t];\n  if (t < 32)\n    __syncthreads();",
        "__syncthreads",
        None,
    ),
    "shuffle from a lane that is away": (
        FindingKind.INACTIVE_LANE,
        "Y[t] = X[t];\n  if (t < 16) Y[t] = __shfl_xor_sync(0xffffu, X[t], 16);",
        "__shfl",
        None,
    ),
    "crash": (FindingKind.CRASH, "Y[t] = X[t];\n  __builtin_trap();", None, None),
}


@BOTH
@pytest.mark.parametrize("name", FAULTS)
def test_faults(check, name, order):
    kind, body, part, tensor = FAULTS[name]
    findings = check(body, order=order)
    # A missing barrier has reads of what is not written yet in its wake, a crash lost writes.
    assert findings, "nothing found"
    found = findings[0]
    wake = {kind, FindingKind.UNINITIALISED, FindingKind.UNWRITTEN}
    assert found.kind is kind, found.text()
    assert {f.kind for f in findings} <= wake, "\n".join(f.text() for f in findings)
    if part is not None:
        lines = {f.line for f in findings} | {f.other_line for f in findings}
        assert line_of(body, part) in lines, found.text()
        assert found.statement == STATEMENT
    assert found.tensor == tensor
    assert found.kernel == "k"
    if name != "uninitialised register":  # that one the compiler sees
        assert found.thread is not None
        assert found.thread.block == (0, 0, 0)
    if kind in (FindingKind.RACE, FindingKind.WARP_RACE):
        assert found.other is not None
        assert found.other != found.thread
        assert found.index is not None


@EVERY
@pytest.mark.parametrize("name", FAULTS)
def test_faults_by_compiler(check, name, compiler):
    kind, body, _, _ = FAULTS[name]
    if "register array, through" in name and compiler.name != "g++":
        pytest.skip("clang fills variables with NaN instead, which shows by itself")
    assert check(body, compiler=compiler)[0].kind is kind


CORRECT = {
    "barrier": "__shared__ float s[64];\n  s[t] = X[t];\n  __syncthreads();\n  Y[t] = s[63 - t];",
    "buffer used twice": """__shared__ float s[64];
  for (int i = 0; i < 3; ++i) {
    s[t] = X[t] + i;
    __syncthreads();
    Y[t] = s[63 - t];
    __syncthreads();
  }""",
    "double buffer": """__shared__ float s[2][64];
  s[0][t] = X[t];
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    const float v = s[i % 2][63 - t];
    s[(i + 1) % 2][t] = v;
    __syncthreads();
  }
  Y[t] = s[0][t];""",
    "syncwarp": "__shared__ float s[64];\n  s[t] = X[t];\n  __syncwarp();\n  Y[t] = s[t ^ 1];",
    "syncwarp of half a warp": """__shared__ float s[64];
  s[t] = X[t];
  if (t % 32 < 16) __syncwarp(0xffffu); else __syncwarp(0xffff0000u);
  Y[t] = s[t ^ 1];""",
    "atomics": """__shared__ int n;
  if (t == 0) n = 0;
  __syncthreads();
  atomicAdd(&n, 1);
  __syncthreads();
  Y[t] = n;""",
    "vectors": """__shared__ __align__(16) float s[64];
  if (t < 16) *reinterpret_cast<float4*>(&s[4 * t]) = *reinterpret_cast<const float4*>(&X[4 * t]);
  __syncthreads();
  if (t < 32) *reinterpret_cast<float2*>(&Y[2 * t]) = *reinterpret_cast<const float2*>(&s[62 - 2 * t]);""",
    "a warp that ends early": "if (t >= 48) { Y[t] = 0; return; }\n  Y[t] = X[t];",
    "shuffle": "Y[t] = __shfl_xor_sync(0xffffffffu, X[t], 16);",
    "broadcast": "__shared__ float s;\n  if (t == 7) s = X[t];\n  __syncthreads();\n  Y[t] = s;",
}


@EVERY
@pytest.mark.parametrize("name", CORRECT)
def test_correct_kernels(check, name, compiler):
    for order in Order:
        findings = check(CORRECT[name], order=order, compiler=compiler)
        assert not findings, "\n".join(f.text() for f in findings)


def test_dynamic_shared_memory(check):
    body = "extern __shared__ float s[];\n  s[t] = X[t];\n  __syncthreads();\n  Y[t] = s[63 - t];"
    assert not check(body, shared="256")
    found = check(body.replace("s[63 - t]", "s[64 - t]"), shared="256")[0]
    assert found.kind is FindingKind.OUT_OF_BOUNDS
    found = check(body.replace("__syncthreads();", ""), shared="256")[0]
    assert found.kind is FindingKind.RACE


def test_bytes_have_a_shadow_each(unit, tensor, host):
    text = """
extern "C" __global__ void k(unsigned char* Y) {
  __shared__ unsigned char s[64];
  s[threadIdx.x] = threadIdx.x;
  BARRIER;
  Y[threadIdx.x] = s[threadIdx.x ^ 1];
}
"""
    wrong = {FindingKind.WARP_RACE, FindingKind.UNINITIALISED}
    for barrier, kinds in (("__syncwarp()", set()), ("", wrong)):
        artifact = unit(
            text.replace("BARRIER", barrier), [tensor("Y", "out", "uint8", 64)], ["k; 1; 64; 0; Y"]
        )
        found = host(check=True).check(artifact, {}, {}).findings
        assert {f.kind for f in found} == kinds


ASYNC = """__shared__ float s[64];
  __pipeline_memcpy_async(&s[t], &X[t], 4);
  __pipeline_commit();
  WAIT;
  BARRIER;
  Y[t] = s[63 - t];"""
PIPELINE = "#include <cuda_pipeline.h>"


@EVERY
@pytest.mark.parametrize(
    ("wait", "barrier", "kind"),
    [
        ("__pipeline_wait_prior(0)", "__syncthreads()", None),
        ("", "__syncthreads()", FindingKind.PENDING_COPY),
        ("__pipeline_wait_prior(1)", "__syncthreads()", FindingKind.PENDING_COPY),
        ("__pipeline_wait_prior(0)", "", FindingKind.RACE),
    ],
)
def test_asynchronous_copies(check, compiler, wait, barrier, kind):
    body = ASYNC.replace("WAIT", wait).replace("BARRIER", barrier)
    findings = check(body, includes=PIPELINE, compiler=compiler)
    if kind is None:
        assert not findings
        return
    assert findings[0].kind in (kind, FindingKind.PENDING_COPY)
    assert findings[0].tensor == "s"
    copy_line = line_of(body, "__pipeline_memcpy_async")
    assert copy_line in {findings[0].other_line, findings[0].line}


def test_copy_under_way_may_not_be_overwritten(check):
    body = ASYNC.replace("WAIT", "s[t] = 1").replace("BARRIER", "__syncthreads()")
    assert check(body, includes=PIPELINE)[0].kind is FindingKind.PENDING_COPY


@pytest.mark.parametrize("workers", [1, 3])
def test_two_blocks_write_one_word(unit, tensor, host, workers):
    text = """
extern "C" __global__ void k(const float* X, float* Y) {
  // Sum +=! X(i)
  if (threadIdx.x == 0) WRITE;
  for (int i = 0; i < 3000; ++i) Y[1 + blockIdx.x * 64 + threadIdx.x] = X[threadIdx.x] * i;
}
"""
    blocks = 200  # enough to need more than one process
    tensors = [tensor("X", "in", "float32", 64), tensor("Y", "inout", "float32", 1 + blocks * 64)]
    data = {**X, "Y": np.zeros(1 + blocks * 64, np.float32)}
    plain = unit(text.replace("WRITE", "Y[0] += 1"), tensors, [f"k; {blocks}; 64; 0; X; Y"])
    found = only(
        host(check=True, workers=workers).check(plain, data, {}).findings, FindingKind.BLOCK_RACE
    )
    assert (found.tensor, found.index, found.statement) == ("Y", (0,), "Sum +=! X(i)")
    assert found.thread is not None
    assert found.other is not None
    assert found.thread.block != found.other.block
    atomic = unit(
        text.replace("WRITE", "atomicAdd(&Y[0], 1.0f)"), tensors, [f"k; {blocks}; 64; 0; X; Y"]
    )
    checked = host(check=True, workers=workers).check(atomic, data, {})
    assert not checked.findings
    assert checked.outputs["Y"][0] == blocks


@pytest.mark.parametrize("workers", [1, 2])
def test_reading_what_another_block_writes(unit, tensor, host, workers):
    text = """
extern "C" __global__ void k(float* Y) {
  const int at = blockIdx.x * 64 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < 2000; ++i) sum += Y[at + (i & 1)];
  __syncthreads();
  Y[at] = sum;
}
"""
    tensors = [tensor("Y", "inout", "float32", 64 * 100 + 1)]
    data = {"Y": np.ones(64 * 100 + 1, np.float32)}
    artifact = unit(text, tensors, ["k; 100; 64; 0; Y"])
    found = host(check=True, workers=workers).check(artifact, data, {}).findings
    assert {f.kind for f in found} == {FindingKind.BLOCK_RACE}
    assert all(f.tensor == "Y" and f.index and f.index[0] % 64 == 0 for f in found)


def test_launches_are_in_order(unit, tensor, host):
    """What one launch wrote, all blocks of the next may read."""
    text = """
extern "C" __global__ void first(float* T) { T[blockIdx.x] = blockIdx.x; }
extern "C" __global__ void second(const float* T, float* Y) { Y[blockIdx.x] = T[7 - blockIdx.x]; }
"""
    carve = "  float* T = reinterpret_cast<float*>(static_cast<char*>(workspace));\n"
    artifact = unit(
        text, [tensor("Y", "out", "float32", 8)],
        ["first; 8; 1; 0; T", "second; 8; 1; 0; T; Y"], workspace=const(32), before=carve,
    )  # fmt: skip
    checked = host(check=True).check(artifact, {}, {})
    assert not checked.findings
    np.testing.assert_array_equal(checked.outputs["Y"], np.arange(8)[::-1])


def test_elements_of_a_tensor_have_logical_subscripts(unit, tensor, host):
    text = """
extern "C" __global__ void k(float* Y, int N) {
  // Y(i, j) = 1
  if (threadIdx.x != 17) Y[threadIdx.x] = 1;
}
"""
    y = replace(tensor("Y", "out", "float32", 4, "N"), origin=(const(3), const(1)))
    artifact = unit(text, [y], ["k; 1; 32; 0; Y; N"], sizes=("N",))
    found = only(host(check=True).check(artifact, {}, {"N": 8}).findings, FindingKind.UNWRITTEN)
    assert (found.tensor, found.index) == ("Y", (2 + 3, 1 + 1))
    assert found.message == "no thread writes `Y(5, 2)`"


def test_sampled_blocks(unit, tensor, host):
    text = """
extern "C" __global__ void k(const float* X, float* Y) {
  Y[blockIdx.x * 4 + threadIdx.x] = X[blockIdx.x * 4 + threadIdx.x EXTRA];
}
"""
    tensors = [tensor("X", "in", "float32", 64), tensor("Y", "out", "float32", 64)]
    right, wrong = (
        unit(text.replace("EXTRA", e), tensors, ["k; 16; 4; 0; X; Y"]) for e in ("", "+ 1")
    )
    assert not host(check=True, blocks={0: [3, 15]}).check(right, X, {}).findings
    assert not host(check=True, blocks={0: [3, 4]}).check(wrong, X, {}).findings
    found = only(
        host(check=True, blocks={0: [15]}).check(wrong, X, {}).findings, FindingKind.OUT_OF_BOUNDS
    )
    assert found.thread is not None
    assert found.thread.block == (15, 0, 0)


def test_run_raises_what_check_returns(unit, tensor, host):
    tensors = [tensor("X", "in", "float32", 64), tensor("Y", "out", "float32", 64)]
    artifact = unit(kernel("Y[t] = X[t + 1];"), tensors, ["k; 1; 64; 0; X; Y"])
    with pytest.raises(FindingsError) as caught:
        host(check=True).run(artifact, X, {})
    assert caught.value.exit_code == 3
    assert len(caught.value.findings) == 1
    assert str(caught.value).splitlines() == [
        "out of bounds: reads past the end of `X`: element 64 of 64",
        "  in line 8 of the emitted text, kernel `k`",
        f"  for `{STATEMENT}`",
        "  block (0, 0, 0), thread (63, 0, 0)",
    ]


def test_a_refusing_launcher_is_no_finding(unit, tensor, host):
    artifact = unit(
        kernel("Y[t] = X[t];"),
        [tensor("X", "in", "float32", 64), tensor("Y", "out", "float32", 64)],
        ["k; 1; 2048; 0; X; Y"],
    )
    with pytest.raises(RunError, match="cudaErrorInvalidConfiguration") as caught:
        host(check=True).check(artifact, X, {})
    assert not isinstance(caught.value, FindingsError)


def test_time_out_is_a_finding(check):
    found = check("volatile int stop = 0;\n  while (!stop) { }\n  Y[t] = X[t];", timeout_s=0.3)[0]
    assert found.kind is FindingKind.CRASH
    assert "does not end within 0.3 s" in found.message


def test_many_findings_are_counted(check):
    """More places than the table has room for."""
    body = "\n  ".join(f"Y[t] += s[{i}];" for i in range(300))
    with pytest.raises(FindingsError) as caught:
        check("__shared__ float s[300];\n  Y[t] = X[t];\n  " + body, run=True)
    assert len(caught.value.findings) == 256
    assert re.search(r"\nand at other places, \d+ times$", str(caught.value))


def test_workspace_elements(unit, tensor, host):
    text = """
extern "C" __global__ void k(double* T, float* Y) { Y[threadIdx.x] = T[threadIdx.x]; }
"""
    carve = "  double* T = reinterpret_cast<double*>(static_cast<char*>(workspace) + 256);\n"
    artifact = unit(
        text, [tensor("Y", "out", "float32", 4)], ["k; 1; 4; 0; T; Y"], workspace=const(512),
        before=carve,
    )  # fmt: skip
    interface = replace(artifact.interface, temporaries={"T": var("N") * 0 + 256})
    artifact = replace(artifact, interface=replace(interface, sizes={"N": 1}))
    found = only(host(check=True).check(artifact, {}, {}).findings, FindingKind.UNINITIALISED)
    assert (found.tensor, found.index, found.count) == ("T", (0,), 4)
