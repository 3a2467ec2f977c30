"""Shared loops over sums of indices, and loops that run backward for one of their statements."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tcc.sched.loop_form import LoopForm
from tests import case_files
from tests.agreement import assert_agrees, run_both_orders

DIAGONALS = """
def f(float(N, M) A) -> (U) {
    T(i, j) = A(i, j) * 2.0
    U(i, j) = T(i + 1, j) + T(i, j + 1) where i in 0:N - 1, j in 0:M - 1
}
"""
DIFFERENCES = """
def f(float(N, M) A) -> (U) {
    T(i, j) = A(i, j) * 2.0
    U(i, j) = T(i, j) + T(i + 1, j + 1) where i in 0:N - 1, j in 0:M - 1
}
"""
DIAGONAL_SUMS = """
def f(float(N, M) A) -> (S) {
    T(i, j) = A(i, j) * A(i, j)
    S(k) +=! k - j >= 0 && k - j < N ? T(k - j, j) : 0.0 where k in 0:N + M - 1, j in 0:M
}
"""
SYMMETRIC = """
def f(float(B, N, N) X) -> (Y) {
    T(b, i, j) = X(b, i, j)
    U(b, i, j) = T(b, j, i)
    Y(b, i, j) = U(b, i, j) + T(b, i, j)
}
"""
BACKWARD = """
def f(float(B, N) A) -> (U) {
    T(b, i) = A(b, i) * 2.0
    U(b, i) = T(b, N - 1 - i) + 1.0
}
"""
OUTER, INNER = "outer_schedule_allow_skewing", "intra_tile_schedule_allow_skewing"
FORWARD, INSIDE = "outer_schedule_positive_orthant", "intra_tile_schedule_positive_orthant"
SIZES = {"B": 3, "N": 11, "M": 7}


def compiled(program: str, mapping: Mapping[str, object], *, fixed: bool = True) -> Kernel:
    sizes = {n: v for n, v in SIZES.items() if f"{n}," in program or f"{n})" in program}
    asked = {"outer_schedule_fusion_strategy": "max", **mapping}
    return tcc_compile(program, sizes=sizes if fixed else {}, options={"mapping": asked})


def parallel(kernel: Kernel) -> list[list[str]]:
    """The parallel loops of every kernel."""
    loops: list[list[str]] = []
    for line in kernel.compilation.dumps["nest"].splitlines():
        if line.startswith("kernel"):
            loops.append([])
        if line.startswith("  parallel"):
            loops[-1].append(line.split()[1])
    return loops


def check(kernel: Kernel, *, races: bool = False) -> None:
    """Values in both orders; `races`: also in the checking build, which takes long to compile."""
    program = kernel.compilation.program
    assert program is not None
    case = case_files.Case(case_files.FOLDER, "", sizes=SIZES)
    arrays = case_files.inputs(program, case)
    assert_agrees(program, arrays, SIZES, run_both_orders(kernel, arrays))
    if races:
        assert_agrees(program, arrays, SIZES, kernel.run(arrays, device="host", check=True))


@pytest.mark.parametrize(
    ("form", "factors", "allowed"),
    [
        (LoopForm(), [], True),
        (LoopForm(), [1], True),
        (LoopForm(), [-1], True),
        (LoopForm(), [1, 1], False),
        (LoopForm(forward=True), [-1], False),
        (LoopForm(skewed=True), [1, -1], True),
        (LoopForm(skewed=True), [1, 2], False),
        (LoopForm(skewed=True, forward=True), [1, -1], False),
        (LoopForm(skewed=True, forward=True), [1, 1, 1], True),
    ],
)
def test_forms(form: LoopForm, factors: list[int], allowed: bool) -> None:
    assert form.allows(factors) is allowed


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("program", [DIAGONALS, DIFFERENCES, DIAGONAL_SUMS])
def test_statements_share_a_parallel_loop_over_a_sum(program: str, *, fixed: bool) -> None:
    """No single index lets them: two kernels without skewing, one with it."""
    assert len(parallel(compiled(program, {}))) == 2
    kernel = compiled(program, {OUTER: True}, fixed=fixed)
    assert parallel(kernel) == [["i_j"]]
    assert not any("no effect" in n for n in kernel.compilation.notes)
    check(kernel, races=not fixed)


def test_the_loop_inside_runs_along_the_diagonal_only() -> None:
    kernel = compiled(DIAGONALS, {OUTER: True}, fixed=False)
    kernels = kernel.cuda_source.partition("__global__")[2].partition("\n}\n")[0]
    assert "if (" not in kernels
    assert kernel.compilation.dumps["nest"] == (
        "kernel f_kernel\n"
        "  parallel i_j in 0 : M + N - 1\n"
        "  for (coincident) i in max(i_j - M + 1, 0) : min(N, i_j + 1)\n"
        "    S0[i = i, j = i_j - i]\n"
        "  for (coincident) i in max(i_j - M + 1, 0) : min(N - 1, i_j)\n"
        "    S1[i = i, j = i_j - i - 1]\n"
    )


def test_non_negative_coefficients_forbid_a_difference() -> None:
    assert len(parallel(compiled(DIFFERENCES, {OUTER: True, FORWARD: True}))) == 2
    assert parallel(compiled(DIAGONALS, {OUTER: True, FORWARD: True})) == [["i_j"]]


def test_tiles_threads_and_registers_over_a_sum() -> None:
    tiled = {"tile": [4, 8], "threads": [4, 2], "blocks": [2, 3]}
    for mapping in (tiled, {"registers": [1, 2], "threads": [4, 2]}):
        kernel = compiled(SYMMETRIC, {OUTER: True, **mapping})
        assert parallel(kernel) == [["b", "i_j"]]
        check(kernel)


def test_a_sum_inside_of_single_indices() -> None:
    """Only `b` is parallel; the loop over the diagonals is shared below it."""
    kernel = compiled(SYMMETRIC, {INNER: True})
    assert parallel(kernel) == [["b"]]
    assert "\n  for i_j in 0 : 2 * N - 1\n" in kernel.compilation.dumps["nest"]
    assert not any("no effect" in n for n in kernel.compilation.notes)
    check(kernel, races=True)
    assert len(parallel(compiled(SYMMETRIC, {}))) == 2


def test_a_loop_that_runs_backward_inside() -> None:
    kernel = compiled(BACKWARD, {FORWARD: True, INSIDE: False})
    assert kernel.compilation.dumps["nest"] == (
        "kernel f_kernel\n"
        "  parallel b in 0 : B\n"
        "  for i in 0 : N\n"
        "    S0[b = b, i = i]\n"
        "    S1[b = b, i = N - i - 1]\n"
    )
    assert not any("no effect" in n for n in kernel.compilation.notes)
    check(kernel)
    assert len(parallel(compiled(BACKWARD, {FORWARD: True}))) == 2
    assert parallel(compiled(BACKWARD, {})) == [["b", "i"]]


@pytest.mark.parametrize(
    ("mapping", "why"),
    [
        ({OUTER: True}, "no parallel loop over a sum of indices"),
        ({INNER: True}, "no inner loop over a sum of indices"),
        ({INSIDE: False}, "no inner loop in opposite directions"),
    ],
)
def test_a_program_without_use_for_it_gets_a_note(mapping: dict[str, object], why: str) -> None:
    program = "def f(float(N, M) A) -> (O) { T(i, j) = A(i, j) O(i, j) = T(i, j) + 1.0 }"
    (note,) = compiled(program, mapping).compilation.notes
    (name,) = mapping
    assert note == f"`{name}` has no effect: statements of this program share {why}"
