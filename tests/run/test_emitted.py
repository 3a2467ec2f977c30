"""What the emitted text says of its lines."""

from __future__ import annotations

from tcc.api import compile as tcc_compile
from tcc.run.emitted import EmittedText

TEXT = """\
// gemm, compiled by tcc
//
//   C(i, j) +=! A(i, k) * B(k, j)

extern "C" __global__ void __launch_bounds__(64, 2) gemm_kernel(const float* A) {
  const int t0 = threadIdx.x;
  // C(i, j) +=! A(i, k) * B(k, j)
  __shared__ __align__(16) float shared_A[2][64];
  __shared__ unsigned char flags[3];
  if (t0 < 3) {
    // D(i) = C(i, i)
    shared_A[0][t0] = A[t0];
  }
}

extern "C" __global__ void other(const float* A) {
  const int t0 = threadIdx.x;
  __shared__ float shared_A[16];
}
  double* T = reinterpret_cast<double*>(static_cast<char*>(workspace));
  float* U = reinterpret_cast<float*>(static_cast<char*>(workspace) + 256);
"""


def test_statements_and_kernels():
    text = EmittedText(TEXT)
    assert text.statement(8) == "C(i, j) +=! A(i, k) * B(k, j)"
    assert text.statement(12) == "D(i) = C(i, i)"
    assert [text.statement(n) for n in (6, 17, 18)] == [None, None, None]
    assert [text.kernel(n) for n in (4, 5, 12, 18)] == ["", "gemm_kernel", "gemm_kernel", "other"]


def test_shared_arrays():
    text = EmittedText(TEXT)
    assert {k: v.shape for k, v in text.shared.items()} == {
        ("gemm_kernel", "shared_A"): (2, 64),
        ("gemm_kernel", "flags"): (3,),
        ("other", "shared_A"): (16,),
    }
    assert text.shared["gemm_kernel", "shared_A"].element_bytes == 4
    assert text.shared_granule == 1
    assert EmittedText("").shared_granule == 4
    assert EmittedText("  extern __shared__ double s[];").shared_granule == 8


def test_temporaries():
    assert EmittedText(TEXT).temporaries == {"T": 8, "U": 4}


def test_what_the_emitter_writes():
    """The forms that this module knows are those of the emitter."""
    program = """
def f(float(N, M) A, float(M) B) -> (C) {
    T(i, j) = A(i, j) + B(j)
    C(i) +=! T(i, j) * T(M - 1 - j, i)
}
"""
    kernel = tcc_compile(program, sizes={"N": 32, "M": 32})
    text = EmittedText(kernel.cuda_source)
    assert set(text.temporaries) == set(kernel.artifact.interface.temporaries)
    lines = kernel.cuda_source.splitlines()
    stores = [n for n, line in enumerate(lines, 1) if line.lstrip().startswith("C[")]
    assert stores
    assert {text.statement(n) for n in stores} == {"C(i) +=! T(i, j) * T(M - 1 - j, i)"}
    declared = [line for line in lines if line.lstrip().startswith("__shared__")]
    assert len(text.shared) == len(declared)
