"""What the original's tests of structure ask for, as facts about plans, launches and text.

The names S1 to S22 are those of the list in its test suite; programs whose results alone matter
are among the cases in `tests/cases/structure`.
"""

from __future__ import annotations

import pytest

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tests import case_files
from tests.agreement import assert_agrees, run_both_orders
from tests.sched.programs import GEMM

ADD = "def add(float(N, M) A, float(N, M) B) -> (C) { C(i, j) = A(i, j) + B(i, j) }"
MEAN = """
def mean(float(N, K) I) -> (O) {
    O(n) +=! I(n, r_k)
    O(n) = O(n) / K
}
"""


def compiled(program: str, sizes: dict[str, int], **mapping: object) -> Kernel:
    preset = mapping.pop("preset", "naive")
    return tcc_compile(program, sizes=sizes, options={"mapping": mapping, "preset": preset})


def shape(kernel: Kernel) -> tuple[tuple[int, ...], tuple[int, int, int]]:
    """Grid and block of the only launch."""
    (launch,) = kernel.launches
    return tuple(e.value for e in launch.grid), launch.block


def check(kernel: Kernel, sizes: dict[str, int]) -> None:
    program = kernel.compilation.program
    case = case_files.Case(case_files.FOLDER, "", sizes=sizes)
    arrays = case_files.inputs(program, case)
    assert_agrees(program, arrays, sizes, run_both_orders(kernel, arrays))


def test_s1_barriers_around_copies() -> None:
    """One barrier a tile with two buffers, two with one; none without copies."""
    sizes = {"M": 64, "N": 64, "K": 64}
    tiled = {"tile": [32, 32, 8], "threads": [8, 8], "use_shared_memory": True}
    counts = [
        compiled(GEMM, sizes, **tiled, pipeline=n).cuda_source.count("__syncthreads();")
        for n in (1, 2)
    ]
    assert counts == [2, 2]  # with two buffers one stands before the loop
    assert "__syncthreads" not in compiled(GEMM, sizes).cuda_source


def test_s2_a_sum_of_matrices() -> None:
    sizes = {"N": 512, "M": 512}
    kernel = compiled(ADD, sizes, tile=[16, 16], threads=[16, 16])
    assert shape(kernel) == ((32, 32, 1), (16, 16, 1))
    text = kernel.cuda_source
    assert "C[i * 512 + j] = A[i * 512 + j] + B[i * 512 + j];" in text
    assert "for (" not in text
    assert "if (" not in text.partition("extern")[2].partition("extern")[0]


def test_s3_statements_without_fusion() -> None:
    case = case_files.load(case_files.FOLDER / "structure/s03_multi.tc")
    options = {"mapping": {"outer_schedule_fusion_strategy": "min"}}
    kernel = tcc_compile(case.text, sizes=case.sizes, options=options)
    assert len(kernel.launches) == 3
    nest = kernel.compilation.dumps["nest"]
    assert [line.split("[")[0].strip() for line in nest.splitlines() if "[" in line] == [
        "S0_init",
        "S0",
        "S1",
        "S2",
    ]


def test_s7_unrolling_by_instances() -> None:
    """15 instances are too few for a loop of 16, whether the loop is of a tile or not."""
    sizes = {"N": 1024, "K": 16}
    for limit in (15, 16):
        text = compiled(MEAN, sizes, unroll=limit).cuda_source
        loop = "#pragma unroll\n  for (int r_k = 0; r_k < 16; ++r_k)"
        assert (loop in text) == (limit == 16)


def test_s8_one_dimension_leaves_the_others_alone() -> None:
    kernel = compiled("def copy(float(N) A) -> (B) { B(i) = A(i) }", {"N": 512})
    (_, y, z), (_, by, bz) = shape(kernel)
    assert (y, z, by, bz) == (1, 1, 1, 1)


def test_s10_copies_without_fusion() -> None:
    program = "def copies(float(N) I) -> (O1, O2) { O1(i) = I(i) O2(i) = O1(i) }"
    kernel = compiled(
        program, {"N": 1024}, preset=None, outer_schedule_fusion_strategy="min", threads=[64]
    )
    assert len(kernel.launches) == 2
    assert "__syncthreads" not in kernel.cuda_source


@pytest.mark.parametrize("strategy", ["max", "preserve3coincident", "min"])
def test_s11_statements_of_unequal_depth(strategy: str) -> None:
    """A statement with fewer loops runs once for each of its points, on any threads."""
    program = """
    def unbalanced(float(N, M) A, float(N) B) -> (C, D, E) {
        C(i, j) = A(i, j)
        D(i) = B(i)
        E(i) = D(i) + C(i, 0)
    }
    """
    sizes = {"N": 37, "M": 50}
    check(compiled(program, sizes, outer_schedule_fusion_strategy=strategy), sizes)


@pytest.mark.parametrize("inside", ["max", "min"])
def test_s12_loops_inside_of_a_kernel(inside: str) -> None:
    """Two products with one operand in common share their reduction loop, or do not."""
    program = """
    def two(float(N, K) A, float(K, M) B, float(K, M) C) -> (Z) {
        X(i, j) +=! A(i, k) * B(k, j)
        Y(i, j) +=! A(i, k) * C(k, j)
        Z(i, j) = X(i, j) + Y(i, j)
    }
    """
    sizes = {"N": 40, "K": 30, "M": 50}
    kernel = compiled(
        program,
        sizes,
        preset=None,
        outer_schedule_fusion_strategy="max",
        intra_tile_schedule_fusion_strategy=inside,
    )
    assert len(kernel.launches) == 1
    assert kernel.compilation.dumps["nest"].count("for k") == (1 if inside == "max" else 2)
    check(kernel, sizes)


def rows(kernel: Kernel) -> list[int | None]:
    return [None if k.row is None else k.row.threads for k in kernel.plan.kernels]


def test_s13_s16_sums_by_all_threads_of_a_block() -> None:
    """A sum of a vector, of the rows of a matrix, of a product, each shared along x."""
    one = "def f(float(N) I) -> (O) { O +=! I(i) }"
    library = {"match_library_calls": True, "split": 1}
    assert rows(compiled(one, {"N": 300}, tile=[32], threads=[32], **library)) == [32]
    product = compiled(GEMM, {"M": 9, "N": 7, "K": 90}, threads=[32, 4], **library)
    assert rows(product) == [32]
    check(product, {"M": 9, "N": 7, "K": 90})


def test_s14_statements_around_a_sum() -> None:
    for name in ("before", "between", "after"):
        program = {
            "before": "O(n) = 0.0 where n in 0:N O(n) += I(n, k)",
            "between": "O(n) = M(n) O(n) += I(n, k) O(n) = O(n) / K",
            "after": "O(n) +=! I(n, k) O(n) = O(n) / K",
        }[name]
        text = f"def f(float(N, K) I, float(N) M) -> (O) {{ {program} }}"
        sizes = {"N": 18, "K": 600}
        kernel = compiled(
            text,
            sizes,
            tile=[1],
            threads=[512],
            blocks=[16384],
            unroll=16,
            outer_schedule_fusion_strategy="max",
            use_shared_memory=True,
            match_library_calls=True,
        )
        assert rows(kernel) == [512]
        check(kernel, sizes)


def test_s15_a_tile_with_fewer_points_than_threads() -> None:
    sizes = {"N": 36, "K": 1024}
    for threads, shared in ((512, None), (32, 32)):
        kernel = compiled(
            MEAN, sizes, tile=[1, 32], threads=[threads], match_library_calls=True, split=1
        )
        assert rows(kernel)[0] == shared
        check(kernel, sizes)


def test_s19_the_read_only_cache_is_for_inputs() -> None:
    text = compiled(MEAN, {"N": 30, "K": 40}, use_readonly_cache=True).cuda_source
    assert text.count("__ldg(") >= 1
    assert "__ldg(&O" not in text


def test_s20_threads_without_parallel_loops() -> None:
    case = case_files.load(case_files.FOLDER / "benchmarks/var.tc")
    sizes = {"N": 20, "K": 500}
    check(compiled(case.text, sizes, threads=[256], match_library_calls=True), sizes)
