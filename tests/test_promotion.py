"""What the original's tests of memory promotion ask for, as facts; P1 to P7 are its names."""

from __future__ import annotations

import pytest

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tcc.errors import CompileError
from tests import case_files
from tests.agreement import assert_agrees, run_both_orders

SUM_4D = "def f(float(N, M, K, L) A, float(N, M, K, L) B) -> (C) { C(i, j, k, l) = A(i, j, k, l) + B(i, j, k, l) }"
SUM_OF_TRANSPOSES = "def f(float(M, N) A, float(M, N) B) -> (C) { C(i, j) = A(j, i) + B(j, i) }"
BIAS = """
def f(float(N, K) A, float(K, M) B, float(N, M) C) -> (O) {
    O(i, j) +=! A(i, k) * B(k, j)
    O(i, j) = O(i, j) + C(i, j)
}
"""


def compiled(program: str, sizes: dict[str, int], **mapping: object) -> Kernel:
    return tcc_compile(program, sizes=sizes, options={"mapping": mapping})


def check(kernel: Kernel, sizes: dict[str, int]) -> None:
    program = kernel.compilation.program
    case = case_files.Case(case_files.FOLDER, "", sizes=sizes)
    arrays = case_files.inputs(program, case)
    assert_agrees(program, arrays, sizes, run_both_orders(kernel, arrays))


def staged(kernel: Kernel) -> list[str]:
    """The tensors in shared memory, in the order of their declarations."""
    lines = [t for t in kernel.cuda_source.splitlines() if t.strip().startswith("__shared__")]
    return [line.partition(" shared_")[2].partition("[")[0] for line in lines]


def test_p1_tiles_of_four_dimensions() -> None:
    """What nobody reads twice is staged on request only; the box is that of the tile."""
    sizes = {"N": 8, "M": 8, "K": 20, "L": 40}
    tiled = {"tile": [1, 1, 16, 16], "threads": [16, 4]}
    assert staged(compiled(SUM_4D, sizes, **tiled, use_shared_memory=True)) == []
    kernel = compiled(SUM_4D, sizes, **tiled, staging={"A": "shared", "B": "shared"})
    assert staged(kernel) == ["A", "B"]
    assert kernel.launches[0].shared_bytes == 2 * 16 * 16 * 4
    check(kernel, sizes)


def test_p3_a_transposed_read_of_what_was_just_written() -> None:
    program = "def f(float(N, M) A) -> (B, C) { B(i, j) = A(i, j) C(i, j) = B(j, i) }"
    sizes = {"N": 42, "M": 40}
    mapping = {"tile": [32, 32], "threads": [32, 4], "use_shared_memory": True}
    kernel = compiled(program, sizes, **mapping, outer_schedule_fusion_strategy="min")
    assert staged(kernel) == ["B"]
    check(kernel, sizes)


@pytest.mark.parametrize(("limit", "count"), [(8448, 2), (8447, 1), (4224, 1), (4223, 0)])
def test_p4_what_fits(limit: int, count: int) -> None:
    """Transposed tiles of 32 x 32 have rows of 33 elements; the first by name gets the room."""
    sizes = {"M": 42, "N": 40}
    mapping = {"tile": [32, 32], "threads": [32, 4], "use_shared_memory": True}
    kernel = compiled(SUM_OF_TRANSPOSES, sizes, **mapping, max_shared_memory=limit)
    assert staged(kernel) == ["A", "B"][:count]
    assert kernel.launches[0].shared_bytes == count * 32 * 33 * 4
    check(kernel, sizes)


def test_p5_no_shared_memory_where_threads_share_rows() -> None:
    program = "def f(float(N, K) A) -> (S) { S(n) +=! A(n, k) }"
    mapping = {"reduction": "block", "staging": {"A": "shared"}}
    with pytest.raises(CompileError) as found:
        compiled(program, {"N": 4, "K": 500}, **mapping)
    assert [d.code for d in found.value.diagnostics] == ["E0525"]


def test_p6_results_in_registers() -> None:
    """A product with a bias: results in registers from the first to the last statement."""
    sizes = {"N": 42, "K": 56, "M": 37}
    tiled = {"tile": [16, 16, 8], "threads": [8, 8], "use_private_memory": True}
    kernel = compiled(BIAS, sizes, **tiled)
    text = kernel.cuda_source
    assert "float private_O[2][2];" in text
    assert text.count("O[") - text.count("private_O[") == 1
    assert staged(kernel) == []
    check(kernel, sizes)
    both = compiled(BIAS, sizes, **tiled, use_shared_memory=True, max_shared_memory=32768)
    assert staged(both) == ["A", "B"]
    check(both, sizes)


@pytest.mark.parametrize("unroll", [1, 512])
def test_p6_unrolling(unroll: int) -> None:
    sizes = {"N": 42, "K": 56, "M": 37}
    tiled = {"tile": [16, 16, 8], "threads": [8, 8], "use_private_memory": True}
    text = compiled(BIAS, sizes, **tiled, unroll=unroll).cuda_source
    rolled = "    for (int k = 0; k < 8; ++k)"
    assert f"\n{rolled}" in text
    assert (f"#pragma unroll\n{rolled}" in text) == (unroll == 512)


def test_p7_windows_with_strides() -> None:
    """Reads at 2 i + 1 and 5 i: boxes that reach over the gaps."""
    case = case_files.load(case_files.FOLDER / "structure/p7_strided.tc")
    sizes = {"N": 42, "M": 420}
    mapping = {"tile": [8, 16], "threads": [16, 8], "staging": {"I": "shared"}}
    kernel = compiled(case.text, sizes, **mapping)
    assert set(staged(kernel)) <= {"I", "I_"}
    assert staged(kernel)
    check(kernel, sizes)
