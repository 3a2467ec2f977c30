"""Wrong kernels are found; right ones give no finding."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from tcc.run.cache import ObjectCache
from tests.mutation import report
from tests.mutation.evidence import evidence
from tests.mutation.judge import (
    Subject,
    Verdict,
    fixed_subject,
    judge,
    open_subject,
)
from tests.mutation.mutants import Mutant, mutants, some_mutants
from tests.mutation.probes import NAN, is_independent, probe
from tests.mutation.reasons import Reason
from tests.mutation.survivors import Change, known

KERNEL = 'extern "C" __global__'
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
    """The mutants that survive without a reason that runs show."""
    found = [m for m in chosen if judge(subject, m, cache)[0] is Verdict.SURVIVED]
    return [m for m in found if evidence(subject, m, cache) is None]


@pytest.mark.parametrize("name", ["gemm", "softmax"])
def test_every_barrier_is_needed(name, cache):
    subject = fixed_subject(SPECS / f"{name}.tc", cache)
    chosen = [m for m in mutants(subject.artifact.cuda_source) if m.operator == "drop_barrier"]
    assert chosen
    survivors = missed(subject, chosen, cache)
    assert not survivors, "\n".join(map(str, survivors))


def test_what_runs_show_about_a_survivor(cache):
    """A store is missed, and poison in its place is seen; not so where a guard decides as before."""
    subject = fixed_subject(SPECS / "avg_pool.tc", cache)
    assert not [r for r in subject.runs if r.few]
    of_kind: dict[str, list[Mutant]] = {}
    for mutant in mutants(subject.artifact.cuda_source):
        of_kind.setdefault(mutant.operator, []).append(mutant)
    stores = [m for m in of_kind["drop_statement"] if m.before.startswith(("O[", "private_O"))]
    bounds = [m for m in of_kind["shift_bound"] if "kh" in m.before]
    assert stores
    assert bounds
    for mutant in (*stores, *bounds[:2]):
        assert evidence(subject, mutant, cache) is None, mutant
    guard = next(m for m in of_kind["drop_guard"] if m.before.endswith(" < 17) {"))
    after = guard.before.replace("< 17)", "< 17 && t0 >= 0)")
    text = subject.artifact.cuda_source.replace(guard.before, after)
    assert evidence(subject, replace(guard, after=after, text=text), cache) is Reason.UNUSED
    assert evidence(subject, guard, cache) is None


def probed(operator: str, after: str) -> str:
    """What the probe of a mutant adds to a kernel."""
    text = f"#include <cuda_runtime.h>\n{TEXT}"
    found = next(m for m in mutants(text) if m.operator == operator and m.after == after)
    made = probe(text, found, NAN)
    assert made is not None
    return made[made.index(KERNEL) :]


def test_probes_poison_what_a_change_stores_otherwise():
    """In both branches of a condition, in the iterations that only one of the loops has."""
    guard = probed("drop_guard", "if (t0 < 60) {")
    assert "tcc_a = t0 < 60 && t0 < 61, tcc_b = t0 < 60;" in guard
    assert "tcc_put(shared_A[0][t0], A[3 * t0], tcc_a != tcc_b);" in guard
    assert "tcc_put(shared_A[0][t0], 0.0f, tcc_a != tcc_b);" in guard
    loop = probed("shift_bound", "for (int k = 0; k <= 8; ++k) {")
    assert "k <= 8" in loop
    assert "fmaf(shared_A[0][k], 2.0f, private_C), (!(k < 8)));" in loop
    lost = probed("shift_bound", "for (int k = 0 + 1; k < 8; ++k) {")
    assert "for (int k = 0; k < 8; ++k) {" in lost
    assert "(k < 0 + 1));" in lost
    moved = probed("shift_index", "shared_A[0][t0 + 1] = 0.0f;")
    assert "tcc_set(shared_A[0][t0], shared_A[0][t0 + 1], 0.0f, 0.0f);" in moved
    blocks = probed(
        "change_grid", "f_kernel, dim3(4 + 1, 1, 1), dim3(64, 1, 1), arguments, 0, stream);"
    )
    assert "if (blockIdx.x >= gridDim.x - 1) __builtin_trap();\n  C[t0] = private_C;" in blocks


def test_independent_statements():
    text = TEXT.replace("  C[t0] = private_C;", "  C[t0] = private_C;\n  D[t0] = 2.0f;")
    swaps = {m.before: m for m in mutants(text) if m.operator == "swap_statements"}
    assert is_independent(text, swaps["C[t0] = private_C;"])
    assert not is_independent(text, next(m for b, m in swaps.items() if "shfl" in b))


def test_every_change_that_is_left_was_read():
    """And no other one; the figures in the documents are those of the list."""
    left = [Change(*entry) for entry in json.loads(report.RESULTS.read_text())["left"]]
    readings = known()
    assert set(left) == set(readings)
    assert not [c for c, r in readings.items() if "presumably" in r.reason]
    missed = [row for row in report.rows_of_survivors() if row[-1].startswith("missed: ")]
    assert len(missed) == sum(r.missed for r in readings.values())
    assert f"{len(left) - len(missed)} change nothing" in report.in_words()


@pytest.mark.slow
@pytest.mark.parametrize("subject_of", [fixed_subject, open_subject], ids=["fixed", "open"])
@pytest.mark.parametrize("path", sorted(SPECS.glob("*.tc")), ids=lambda p: p.stem)
def test_specs(path, subject_of, cache):
    """One mutant of each kind in each kernel, and all of barriers: those of docs/verification.md."""
    subject = subject_of(path, cache)
    chance = random.Random(f"0 {subject.name}")
    survivors = missed(subject, some_mutants(subject.artifact.cuda_source, 1, chance), cache)
    listed = known()
    unexplained = [
        str(m) for m in survivors if Change(path.stem, m.operator, m.before, m.after) not in listed
    ]
    assert not unexplained, "\n".join(unexplained)
