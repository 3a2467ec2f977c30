"""Options to plans: what each mapping option makes of the plan, and what is refused."""

from __future__ import annotations

import pytest

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tcc.errors import CompileError
from tcc.sched.plan import KernelPlan, Staging
from tests.sched.programs import CONVOLUTION, GEMM, SOFTMAX, TRANSPOSE

SQUARE = {"M": 512, "N": 512, "K": 512}
ROWS = "def f(float(N, K) A) -> (S) { S(n) +=! A(n, k) }"
GUARDED = """
def f(float(E, D) T, int32(B, L) I) -> (O) {
    O(b, d) +=! I(b, l) < 0 ? 0.0 : T(I(b, l), d)
}"""
STENCIL = "def f(float(N) A) -> (B) { B(n) = A(n) + A(n + 1) + A(n + 2) }"


def compiled(program: str, sizes: dict[str, int], **mapping: object) -> Kernel:
    preset = mapping.pop("preset", None)
    target = mapping.pop("target", None)
    options = {"mapping": mapping, "preset": preset, "target": target}
    return tcc_compile(program, sizes=sizes, options=options)


def plan(program: str, sizes: dict[str, int], **mapping: object) -> KernelPlan:
    (found,) = compiled(program, sizes, **mapping).plan.kernels
    return found


def gemm(**mapping: object) -> KernelPlan:
    return plan(GEMM, SQUARE, **mapping)


def rejected(program: str, sizes: dict[str, int], **mapping: object) -> list[str]:
    with pytest.raises(CompileError) as found:
        compiled(program, sizes, **mapping)
    return [f"{d.code} {d.primary.span.text}" for d in found.value.diagnostics]


def digits(found: KernelPlan) -> dict[str, tuple[str, ...]]:
    return {d.dim: d.digits() for d in found.dims}


# -- tile, threads, blocks -----------------------------------------------------------------


def test_the_naive_preset() -> None:
    found = gemm(preset="naive")
    assert digits(found) == {
        "i": ("block.x 256", "outer 4", "thread.y 8"),
        "j": ("block.y 256", "thread.x 32"),
    }
    assert (found.loops, found.staging, found.row) == ((), (), None)


def test_tile_threads_and_blocks() -> None:
    found = gemm(tile=[64, 16, 8], threads=[16, 4], blocks=[3, 5])
    assert digits(found) == {
        "i": ("block.x 3", "outer 16", "thread.y 4"),
        "j": ("block.y 5", "thread.x 16"),
    }


def test_nothing_exceeds_the_extents() -> None:
    found = plan(GEMM, {"M": 5, "N": 3, "K": 2}, tile=[64, 64, 64], threads=[32, 32])
    assert found.block == (3, 5, 1)
    assert [d.tile for d in found.dims] == [5, 3]


def test_zero_and_missing_tile_sizes_leave_a_loop_to_the_block() -> None:
    assert digits(gemm(tile=[0, 32], threads=[8], blocks=[7, 7])) == {
        "i": ("serial",),
        "j": ("block.y 7", "outer 4", "thread.x 8"),
    }
    assert digits(gemm(tile=[16], threads=[8, 2], blocks=[7]))["j"] == ("serial", "thread.x 8")


def test_threads_that_do_not_divide_the_tile() -> None:
    found = gemm(tile=[10, 10, 4], threads=[4, 3])
    assert digits(found)["i"] == ("block.y", "outer 4", "thread.y 3", "tile 10")


def test_tiles_beyond_the_registers_are_taken_in_turns() -> None:
    found = gemm(tile=[256, 32], threads=[8, 2], blocks=[100, 100])
    rows, columns = found.dims
    assert rows.registers * columns.registers <= 64
    assert (rows.blocks, columns.blocks) == (2, 100)


def test_values_per_thread_give_the_threads_of_a_tile() -> None:
    found = gemm(tile=[64, 64, 16], registers=[4, 4])
    assert digits(found) == {
        "i": ("block.y", "thread.y 16", "inner 4"),
        "j": ("block.x", "thread.x 16", "inner 4"),
    }
    assert [p.digits() for p in found.loops] == [("tile 16",)]


def test_threads_and_values_per_thread_without_tiles() -> None:
    found = gemm(threads=[16, 8], registers=[8, 6])
    assert digits(found) == {
        "i": ("block.y", "outer 2", "thread.y 8", "inner 4"),
        "j": ("block.x", "outer 3", "thread.x 16", "inner 2"),
    }


def test_threads_without_tiles() -> None:
    assert gemm(threads=[32, 4]).block == (32, 4, 1)
    conv = {"N": 8, "C": 16, "H": 30, "W": 34, "F": 32, "KH": 3, "KW": 3}
    assert plan(CONVOLUTION, conv, threads=[8, 4, 2]).block == (8, 4, 2)


def test_blocks_without_tiles() -> None:
    kernel = compiled(GEMM, SQUARE, blocks=[3, 2])
    assert [e.value for e in kernel.launches[0].grid] == [3, 2, 1]


# -- staging -------------------------------------------------------------------------------


def test_staging_of_single_tensors() -> None:
    found = gemm(staging={"A": "register", "B": "shared"})
    assert dict(found.staging) == {"A": Staging.REGISTER, "B": Staging.SHARED}
    assert set(dict(gemm(staging={"A": "global", "B": "global"}).staging).values()) == {
        Staging.GLOBAL
    }


def test_shared_memory_on_and_off() -> None:
    assert Staging.SHARED not in dict(gemm(use_shared_memory=False).staging).values()
    tiled = {"tile": [32, 32, 32], "threads": [32, 8]}
    assert gemm(**tiled).staging == ()
    on = gemm(**tiled, use_shared_memory=True)
    assert dict(on.staging) == {"A": Staging.SHARED, "B": Staging.SHARED}


def test_private_memory() -> None:
    tiled = {"tile": [32, 32, 32], "threads": [32, 8]}
    assert dict(gemm(**tiled, use_private_memory=True).staging) == {
        "A": Staging.REGISTER,
        "B": Staging.REGISTER,
    }
    assert gemm(**tiled, use_private_memory=False).staging == ()
    plain = dict(gemm(use_private_memory=False, use_shared_memory=False).staging)
    assert set(plain.values()) == {Staging.GLOBAL}


@pytest.mark.parametrize("limit", [40000, 16384, 8192, 3000, 700, 0])
def test_max_shared_memory(limit: int) -> None:
    for mapping in ({}, {"tile": [32, 32, 32], "use_shared_memory": True}):
        kernel = compiled(GEMM, SQUARE, max_shared_memory=limit, **mapping)
        assert kernel.launches[0].shared_bytes <= limit


def test_shared_depth_moves_the_copies_out_of_the_reduction() -> None:
    small = {"M": 512, "N": 512, "K": 64}
    assert [p.tile for p in plan(GEMM, small, shared_depth=2).loops] == [64]
    assert [p.tile for p in plan(GEMM, small, shared_depth=3).loops] != [64]
    tiled = {"tile": [16, 16, 8], "threads": [16, 16], "use_shared_memory": True}
    assert [p.tile for p in plan(GEMM, small, **tiled).loops] == [8]
    assert [p.tile for p in plan(GEMM, small, **tiled, shared_depth=2).loops] == [64]


def test_windows_are_staged_where_asked() -> None:
    assert plan(STENCIL, {"N": 1000}).staging == ()
    for mapping in ({"staging": {"A": "shared"}}, {"use_shared_memory": True}):
        assert plan(STENCIL, {"N": 1000}, **mapping).staging == (("A", Staging.SHARED),)


def test_pipeline() -> None:
    assert [gemm(pipeline=n).pipeline for n in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert gemm(pipeline=2, use_shared_memory=False).pipeline == 1
    assert gemm(tile=[32, 32, 32], use_shared_memory=True, pipeline=2).pipeline == 2


# -- reductions ----------------------------------------------------------------------------


def test_who_shares_a_reduction() -> None:
    sizes = {"N": 400, "K": 3000}
    assert plan(ROWS, sizes, reduction="thread", split=1).row is None
    assert plan(ROWS, sizes, reduction="warp").row.threads == 32
    assert plan(ROWS, sizes, reduction="block").row.threads == 256
    assert plan(ROWS, sizes, reduction="block", threads=[100]).row.threads == 64
    assert gemm(reduction="block").row is not None
    assert gemm().row is None


def test_match_library_calls_needs_a_point_for_each_thread() -> None:
    sizes = {"N": 40, "K": 3000}
    tiled = {"threads": [64], "blocks": [40], "match_library_calls": True, "split": 1}
    assert plan(ROWS, sizes, tile=[1], **tiled).row.threads == 64
    assert plan(ROWS, sizes, tile=[1, 64], **tiled).row.threads == 64
    assert plan(ROWS, sizes, tile=[1, 32], **tiled).row is None


def test_split() -> None:
    sizes = {"N": 4, "K": 4096}
    assert len(compiled(ROWS, sizes, split=8).plan.kernels) == 2
    assert len(compiled(ROWS, sizes, split=1).plan.kernels) == 1


# -- switches ------------------------------------------------------------------------------


def test_vector() -> None:
    text = compiled(GEMM, SQUARE, vector=2).cuda_source
    assert "float2" in text
    assert "float4" not in text
    assert "reinterpret_cast" not in compiled(GEMM, SQUARE, vector=1).cuda_source
    rows = compiled(ROWS, {"N": 400, "K": 3000}, vector=2)
    assert rows.plan.kernels[0].row.vector == 2


def test_unroll() -> None:
    program = "def f(float(N, K) A, int32(K) I) -> (S) { S(n) +=! A(n, I(k)) }"
    unrolled = "#pragma unroll\n  for (int k = 0; k < 16; ++k)"
    for limit in (15, 16):
        text = compiled(program, {"N": 64, "K": 16}, unroll=limit, reduction="thread").cuda_source
        assert (unrolled in text) == (limit == 16)
    tiled = {"tile": [8, 8, 16], "threads": [8, 8], "use_private_memory": True}
    assert [p.unroll for p in gemm(**tiled, unroll=16).loops] == [True]
    assert [p.unroll for p in gemm(**tiled, unroll=15).loops] == [False]


def test_copies_to_shared_memory_are_loops_on_request() -> None:
    tiled = {"tile": [32, 32, 32], "threads": [8, 8], "use_shared_memory": True}
    rolled = compiled(GEMM, SQUARE, **tiled, unroll_copy_shared=False)
    assert "next_A" not in rolled.cuda_source
    assert "next_A" in compiled(GEMM, SQUARE, **tiled, unroll_copy_shared=True).cuda_source


def test_readonly_cache_for_inputs_only() -> None:
    image = {"M": 300, "N": 500}
    for program, sizes in ((GEMM, SQUARE), (SOFTMAX, image), (TRANSPOSE, image)):
        text = compiled(program, sizes, use_readonly_cache=True).cuda_source
        assert "__ldg(" in text
        assert "__ldg(&C" not in text
        assert "__ldg(" not in compiled(program, sizes).cuda_source


def test_fixed_parameters_give_the_same_kernels() -> None:
    fixed = compiled(SOFTMAX, {"M": 300, "N": 500}, fix_parameters_before_scheduling=True)
    assert fixed.plan == compiled(SOFTMAX, {"M": 300, "N": 500}).plan


@pytest.mark.parametrize(
    ("mapping", "why"),
    [
        ({"match_library_calls": True}, "there is no reduction that has a point"),
        ({"use_shared_memory": True}, "no kernel reads anything"),
        ({"shared_depth": 2}, "nothing is copied to shared memory"),
        ({"unroll_copy_shared": True}, "nothing is copied to shared memory"),
    ],
)
def test_a_copy_has_no_use_for_it(mapping: dict[str, object], why: str) -> None:
    program = "def f(float(N, M) A) -> (B) { B(i, j) = A(i, j) }"
    (note,) = compiled(program, {"N": 64, "M": 32}, **mapping).compilation.notes
    (name,) = mapping
    assert note.startswith(f"`{name}` has no effect: {why}")
    used = {"tile": [16, 16, 16], "threads": [16], "use_shared_memory": True, **mapping}
    notes = compiled(GEMM, SQUARE, **used).compilation.notes
    assert not any(name in note for note in notes)


def test_options_without_effect_are_noted() -> None:
    asked = {"tile_imperfectly_nested": True, "fix_parameters_before_scheduling": True}
    notes = compiled(GEMM, {}, **asked, tile=[32, 32, 8]).compilation.notes
    assert notes == (
        "`fix_parameters_before_scheduling` has no effect: no size is given",
        "`tile_imperfectly_nested` has no effect: "
        "no kernel has several reductions whose loops `tile` cuts",
    )
    assert compiled(GEMM, SQUARE).compilation.notes == ()
    assert compiled(GEMM, SQUARE, preset="naive").compilation.notes == ()


# -- what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "mapping", "found"),
    [
        (GEMM, {"registers": [16, 16]}, "E0524 [16, 16]"),
        (GEMM, {"tile": [512, 512], "registers": [4, 4]}, "E0524 [4, 4]"),
        (GEMM, {"staging": {"A": "shared"}, "max_shared_memory": 64}, 'E0524 {"A": "shared"}'),
        (GEMM, {"staging": {"X": "shared"}}, 'E0522 "X"'),
        (GEMM, {"staging": {"C": "shared"}}, 'E0525 "C"'),
        (GUARDED, {"staging": {"T": "shared"}}, 'E0525 "T"'),
        (SOFTMAX, {"staging": {"X": "shared"}, "reduction": "block"}, 'E0525 "X"'),
        (GEMM, {"threads": [64, 32]}, "E0511 [64, 32]"),
        (GEMM, {"tensor_cores": True}, "E0912 true"),
        (GEMM, {"pipeline": 3, "target": "sm_75"}, "E0513 3"),
    ],
)
def test_refused(program: str, mapping: dict[str, object], found: str) -> None:
    sizes = {
        GEMM: SQUARE,
        GUARDED: {"E": 100, "D": 64, "B": 40, "L": 10},
        SOFTMAX: {"M": 300, "N": 500},
    }
    assert rejected(program, sizes[program], **mapping) == [found]
