"""Each mapping option of the original on a small program: what it changes in the kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tcc.errors import CompileError
from tcc.options import PRESETS, MappingOptions
from tcc.sched import schedule
from tests import case_files
from tests.agreement import assert_agrees, run_both_orders
from tests.sched.programs import GEMM, SOFTMAX

SIZES = {"M": 21, "N": 34, "K": 19}
ELEMENTWISE = "def f(float(N, M) A) -> (B) { B(i, j) = A(i, j) + 1.0 }"
FOUR = "def f(float(A, B, C, D) X) -> (Y) { Y(i, j, k, l) = X(i, j, k, l) }"


def compiled(program: str, sizes: Mapping[str, int], **mapping: object) -> Kernel:
    preset = mapping.pop("preset", None)
    return tcc_compile(program, sizes=sizes, options={"mapping": mapping, "preset": preset})


def check(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    program = kernel.compilation.program
    assert program is not None
    arrays = case_files.inputs(program, case_files.Case(case_files.FOLDER, "", sizes=dict(sizes)))
    assert_agrees(program, arrays, sizes, run_both_orders(kernel, arrays))


def grids(kernel: Kernel) -> list[list[int]]:
    return [[e.value for e in launch.grid] for launch in kernel.launches]


# -- the launch ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("blocks", "grid"),
    [([256, 256], [3, 5, 1]), ([2, 256], [2, 5, 1]), ([1], [1, 1, 1]), ([3, 4, 9], [3, 4, 1])],
)
def test_grids_larger_than_needed_are_tightened(blocks: list[int], grid: list[int]) -> None:
    """What is launched is in the launches, the manifest, the header comment and the call."""
    kernel = compiled(GEMM, SIZES, tile=[8, 8, 8], threads=[8, 4], blocks=blocks)
    assert grids(kernel) == [grid]
    (launch,) = json.loads(json.dumps(kernel.manifest))["launches"]
    assert (launch["grid"], launch["block"]) == (grid, [8, 4, 1])
    assert f"// grid {' x '.join(map(str, grid))}, block 8 x 4 x 1, 0 bytes" in kernel.cuda_source
    assert f"dim3({', '.join(map(str, grid))}), dim3(8, 4, 1)" in kernel.cuda_source
    check(kernel, SIZES)


def test_blocks_larger_than_the_tile_are_tightened() -> None:
    kernel = compiled(ELEMENTWISE, {"N": 3, "M": 5}, tile=[32, 32], threads=[32, 32])
    assert kernel.launches[0].block == (5, 3, 1)
    check(kernel, {"N": 3, "M": 5})


def test_open_sizes_have_a_grid_that_follows_them() -> None:
    kernel = compiled(GEMM, {"K": 19}, tile=[8, 8, 8], threads=[8, 4], blocks=[256, 256])
    (launch,) = kernel.manifest["launches"]
    assert launch["grid"] == ["min((M + 7) / 8, 256)", "min((N + 7) / 8, 256)", 1]
    check(kernel, SIZES)


# -- tiles ---------------------------------------------------------------------------------


@pytest.mark.parametrize("tile", [[0], [0, 0, 0], [0, 8], [8, 0, 4], [1, 1, 1], [5, 7, 3, 9, 9]])
def test_tile_sizes_of_zero_and_one_and_more_than_there_are_loops(tile: list[int]) -> None:
    kernel = compiled(GEMM, SIZES, tile=tile, threads=[4, 4], use_shared_memory=True)
    assert kernel.plan is not None
    rows, columns = (d.digits()[0].partition(" ")[0] for d in kernel.plan.kernels[0].dims)
    sizes = [*tile, 0, 0]
    assert (rows == "serial", columns == "serial") == (sizes[0] == 0, sizes[1] == 0)
    check(kernel, SIZES)


def test_more_parallel_loops_than_axes() -> None:
    sizes = {"A": 3, "B": 4, "C": 5, "D": 6}
    kernel = compiled(FOUR, sizes, tile=[1, 1, 2, 4], threads=[4, 2, 1], blocks=[9, 9, 9])
    assert grids(kernel) == [[3, 4, 3]]
    assert kernel.launches[0].block == (4, 2, 1)
    check(kernel, sizes)


# -- memory --------------------------------------------------------------------------------


def test_no_shared_memory_at_all() -> None:
    for mapping in ({}, {"tile": [16, 16, 8], "threads": [8, 8], "use_shared_memory": True}):
        kernel = compiled(GEMM, SIZES, **mapping, max_shared_memory=0)
        assert kernel.launches[0].shared_bytes == 0
        assert "__shared__" not in kernel.cuda_source


@pytest.mark.parametrize("sizes", [{"M": 4, "N": 3000}, {"M": 300, "N": 40}])
def test_rows_without_shared_memory(sizes: dict[str, int]) -> None:
    """Threads of one warp exchange without it; those of several cannot."""
    columns = "def f(float(M, N) A) -> (S) { S(j) +=! A(i, j) }"
    for program in (SOFTMAX, columns):
        kernel = compiled(program, sizes, max_shared_memory=0)
        assert all(launch.shared_bytes == 0 for launch in kernel.launches)
        check(kernel, sizes)


def test_copies_are_unrolled_or_loops() -> None:
    tiled = {"tile": [16, 16, 16], "threads": [8, 4], "use_shared_memory": True}
    for unroll in (True, False):
        kernel = compiled(GEMM, SIZES, **tiled, unroll_copy_shared=unroll)
        copies = [
            above.strip() == "#pragma unroll"
            for above, line in zip(
                kernel.cuda_source.splitlines(), kernel.cuda_source.splitlines()[1:], strict=False
            )
            if line.strip().startswith("for (int r = 0;")
        ]
        assert copies
        assert all(unrolled is unroll for unrolled in copies)
        check(kernel, SIZES)


def test_the_depth_of_shared_copies() -> None:
    """Two parallel loops outside: the whole reduction is copied; three: a tile at a time."""
    tiled = {"tile": [8, 8, 4], "threads": [8, 8], "use_shared_memory": True}
    bytes = []
    for depth in (2, 3):
        kernel = compiled(GEMM, SIZES, **tiled, shared_depth=depth)
        bytes.append(kernel.launches[0].shared_bytes)
        check(kernel, SIZES)
    assert bytes[0] > 4 * bytes[1]


def test_the_read_only_cache() -> None:
    text = compiled(GEMM, SIZES, use_readonly_cache=True, use_shared_memory=False).cuda_source
    cached = {line.partition("__ldg(")[2] for line in text.splitlines() if "__ldg(" in line}
    assert cached
    assert all("&A[" in read or "&B[" in read for read in cached)
    assert "= A[" not in text
    assert "= B[" not in text


# -- scheduling ----------------------------------------------------------------------------


def test_fixed_sizes_are_scheduled_within_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that does not end leaves program order, and a note on every attempt."""
    asked: list[int] = []
    monkeypatch.setattr(schedule, "solve_within", lambda *_: asked.append(1))
    sizes = {"M": 4, "N": 30}
    kernel = compiled(
        SOFTMAX,
        sizes,
        fix_parameters_before_scheduling=True,
        outer_schedule_fusion_strategy="max",
    )
    assert len(asked) == 2
    assert kernel.compilation.notes == (
        "no schedule by strategy `max` within 5 s",
        "no schedule by strategy `max, bounded coefficients` within 5 s",
        "the statements run one after the other, in program order",
    )
    assert len(kernel.launches) == 4
    check(kernel, sizes)


def test_every_search_that_does_not_end_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those for better kernels than the first search finds."""
    monkeypatch.setattr(schedule, "solve_within", lambda *_: None)
    sizes = {"M": 4, "N": 30}
    kernel = compiled(SOFTMAX, sizes)
    assert kernel.compilation.notes == (
        "while looking for rows: no schedule by strategy `max` within 5 s",
        "while looking for rows: no schedule by strategy `max, bounded coefficients` within 5 s",
        "while looking for rows: the statements run one after the other, in program order",
    )
    assert len(kernel.launches) == 4
    with pytest.raises(CompileError) as found:
        compiled(SOFTMAX, sizes, kernels=[["mx"], ["sm", "E"], ["Y"]])
    (problem,) = found.value.diagnostics
    assert problem.code == "E0526"
    assert problem.notes == (
        "while looking for `kernels`: no schedule by strategy `max` within 5 s",
    )


def test_fixed_sizes_are_in_the_schedule() -> None:
    sizes = {"M": 4, "N": 30}
    texts = [
        compiled(SOFTMAX, sizes, fix_parameters_before_scheduling=fixed).compilation.dumps["nest"]
        for fixed in (True, False)
    ]
    assert ["0 : 30" in t for t in texts] == [True, False]
    assert ["0 : N" in t for t in texts] == [False, True]


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name: str) -> None:
    """Every preset compiles, launches what it says and computes the right thing."""
    kernel = compiled(GEMM, SIZES, preset=name)
    wanted: MappingOptions = PRESETS[name]
    if wanted.threads is not None:
        both = zip(kernel.launches[0].block, (*wanted.threads, 1, 1), strict=False)
        assert all(have <= most for have, most in both)
    assert "__shared__" not in kernel.cuda_source
    check(kernel, SIZES)
