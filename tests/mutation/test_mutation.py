"""Wrong kernels are found; right ones give no finding."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tcc.run.cache import ObjectCache
from tests.mutation.judge import (
    Subject,
    Verdict,
    explain,
    fixed_subject,
    judge,
    open_subject,
)
from tests.mutation.mutants import Mutant, mutants, some_mutants
from tests.mutation.survivors import reason

SPECS = Path(__file__).parents[2] / "specs"
TEXT = """\
extern "C" __global__ void __launch_bounds__(64) f_kernel(const float* __restrict__ A, float* __restrict__ C) {
  const int t0 = threadIdx.x;
  float private_C;
  private_C = 0.0f;
  __shared__ __align__(16) float shared_A[2][64];
  if (t0 < 60 && t0 < 61) {
    shared_A[0][t0] = A[3 * t0];
  } else {
    shared_A[0][t0] = 0.0f;
  }
  __syncthreads();
  for (int k = 0; k < 8; ++k) {
    private_C = fmaf(shared_A[0][k], 2.0f, private_C);
  }
  private_C = private_C + __shfl_xor_sync(0xffffffffu, private_C, 16, 32);
  C[t0] = private_C;
}
        f_kernel, dim3(4, 1, 1), dim3(64, 1, 1), arguments, 0, stream);
"""


def of(operator: str) -> set[str]:
    return {m.after for m in mutants(TEXT) if m.operator == operator}


def test_operators():
    assert of("drop_barrier") == {"nothing"}
    assert of("drop_guard") == {"if (t0 < 61) {", "if (t0 < 60) {"}
    assert of("shift_guard") == {
        "if (t0 <= 60 && t0 < 61) {", "if (t0 + 1 < 60 && t0 < 61) {",
        "if (t0 < 60 && t0 <= 61) {", "if (t0 < 60 && t0 + 1 < 61) {",
    }  # fmt: skip
    assert of("shift_bound") == {
        "for (int k = 0; k <= 8; ++k) {", "for (int k = 0; k < 8 - 1; ++k) {",
        "for (int k = 0 + 1; k < 8; ++k) {",
    }  # fmt: skip
    assert "shared_A[0][t0] = A[4 * t0];" in of("change_stride")
    assert "shared_A[0 + 1][t0] = A[3 * t0];" in of("shift_index")
    assert "shared_A[0][t0] = A[3 * t0 - 1];" in of("shift_index")
    assert of("shrink_array") == {
        "__shared__ __align__(16) float shared_A[1][64];",
        "__shared__ __align__(16) float shared_A[2][63];",
    }
    assert of("drop_accumulator") == {
        "private_C = fmaf(shared_A[0][k], 2.0f, 0.0f);",
        "private_C = __shfl_xor_sync(0xffffffffu, private_C, 16, 32);",
    }
    assert len(of("change_shuffle")) == 2
    assert len([m for m in mutants(TEXT) if m.operator == "drop_statement"]) == 6
    assert {m.line for m in mutants(TEXT) if m.operator == "move_barrier"} == {6, 11}
    assert of("change_grid") == {
        "f_kernel, dim3(4 - 1, 1, 1), dim3(64, 1, 1), arguments, 0, stream);",
        "f_kernel, dim3(4 + 1, 1, 1), dim3(64, 1, 1), arguments, 0, stream);",
    }


def test_every_mutant_differs_and_keeps_the_braces():
    found = mutants(TEXT)
    assert len({m.text for m in found}) > 40
    for mutant in found:
        assert mutant.text != TEXT
        assert mutant.text.count("{") == mutant.text.count("}")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> ObjectCache:
    return ObjectCache(tmp_path_factory.mktemp("cache"))


def missed(subject: Subject, chosen: list[Mutant], cache: ObjectCache) -> list[Mutant]:
    """The mutants that survive although some thread comes to the change."""
    found = [m for m in chosen if judge(subject, m, cache)[0] is Verdict.SURVIVED]
    return [m for m in found if explain(subject, m, cache) is Verdict.SURVIVED]


@pytest.mark.parametrize("name", ["gemm", "softmax"])
def test_every_barrier_is_needed(name, cache):
    subject = fixed_subject(SPECS / f"{name}.tc", cache)
    chosen = [m for m in mutants(subject.artifact.cuda_source) if m.operator == "drop_barrier"]
    assert chosen
    survivors = missed(subject, chosen, cache)
    assert not survivors, "\n".join(map(str, survivors))


@pytest.mark.slow
@pytest.mark.parametrize("subject_of", [fixed_subject, open_subject], ids=["fixed", "open"])
@pytest.mark.parametrize("path", sorted(SPECS.glob("*.tc")), ids=lambda p: p.stem)
def test_specs(path, subject_of, cache):
    """One mutant of each kind in each kernel; docs/verification.md has the figures for more."""
    subject = subject_of(path, cache)
    chosen = some_mutants(subject.artifact.cuda_source, 1, random.Random(subject.name))
    survivors = missed(subject, chosen, cache)
    unexplained = [str(m) for m in survivors if reason(m) is None]
    assert not unexplained, "\n".join(unexplained)
