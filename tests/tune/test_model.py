"""The model: what it counts, how it ranks, and how its parts behave at their limits."""

from __future__ import annotations

from dataclasses import replace
from math import isclose, isfinite

import pytest

from tcc.driver import Compilation, compile_program
from tcc.errors import InternalError
from tcc.kernel import ir
from tcc.scalar import ScalarType
from tcc.target import TARGETS
from tcc.tune.census import census
from tcc.tune.model import Prediction, predict_kernel, predict_time
from tests.random_tc import numbered
from tests.tune.published_sgemm import A6000, GFLOPS, published
from tests.tune.records import SPECS, request

GEMM = (SPECS / "gemm.tc").read_text()
PLAN = """mapping:
  plan:
    matmul_kernel:
      parallel: {{m: [{m}], n: [{n}]}}
      loops: {{k: [{k}]}}
      staging: {{{staging}}}
      pipeline: {pipeline}
"""
STAGED = "A: shared, B: shared"
PLANS = {
    "naive": ("block.y, thread.y 16", "block.x, thread.x 16", "tile 1", "", 1),
    "shared 32 x 32": ("block.y, thread.y 32", "block.x, thread.x 32", "tile 32", STAGED, 1),
    "registers": (
        "block.y, outer 2, thread.y 16, inner 4",
        "block.x, outer 2, thread.x 16, inner 4",
        "tile 8",
        STAGED,
        1,
    ),
    "double buffer": (
        "block.y, outer 2, thread.y 16, inner 4",
        "block.x, outer 2, thread.x 16, inner 4",
        "tile 8",
        STAGED,
        2,
    ),
}


def compiled(text: str, options: str = "", target: str = "sm_90", **sizes: int) -> Compilation:
    return compile_program(request(text, options, target, **sizes))


def gemm(plan: str, target: str, size: int) -> Prediction:
    m, n, k, staging, pipeline = PLANS[plan]
    options = PLAN.format(m=m, n=n, k=k, staging=staging, pipeline=pipeline)
    made = compiled(GEMM, options, target, M=size, N=size, K=size)
    return predict_time(made, TARGETS[target])


def spearman(one: list[int], other: list[int]) -> float:
    """The rank correlation of two orders of the same things."""
    count = len(one)
    squares = sum((one.index(x) - other.index(x)) ** 2 for x in one)
    return 1 - 6 * squares / (count * (count**2 - 1))


@pytest.mark.parametrize("size", [1024, 4096])
@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_90"])
def test_better_kernels_are_predicted_to_be_faster(target, size):
    times = [gemm(plan, target, size).time_us for plan in PLANS]
    assert times == sorted(times, reverse=True)
    assert times[0] > 2 * times[-1]


@pytest.mark.parametrize("latencies", [0.6, 1.0, 1.4])
def test_published_kernels_come_in_their_order(latencies):
    """However far the figures of latencies are off."""
    paths = ("shared_latency", "l1_latency", "l2_latency", "dram_latency")
    board = replace(A6000, **{p: round(getattr(A6000, p) * latencies) for p in paths})
    kernels = published()
    times = {number: predict_kernel(k, board, {}).time_us for number, k in kernels.items()}
    predicted = sorted(times, key=lambda n: -times[n])
    measured = sorted(GFLOPS, key=lambda n: GFLOPS[n])
    assert len(measured) == 11
    assert spearman(predicted, measured) >= 0.9


def test_published_kernels_are_within_a_factor_of_two():
    """No time is right, but none is far off."""
    for number, kernel in published().items():
        gflops = 2 * 4096**3 / predict_kernel(kernel, A6000, {}).time_us / 1e3
        assert 0.5 < gflops / GFLOPS[number] < 2


@pytest.mark.parametrize(
    ("number", "fma_per_load"),
    [(3, 0.8), (4, 2.67), (6, 16.0), (7, 6.4), (9, 16.0), (10, 21.3)],
)
def test_shared_loads_are_those_of_the_machine_code(number, fma_per_load):
    """Counted in the output of nvcc for the published sources."""
    counted = census(published()[number], {})
    fmas = 4096**3 / 32 / (counted.warps * counted.grid["bx"] * counted.grid["by"])
    barriers = [s for s in counted.stalls if s.together]
    assert barriers
    loads = counted.work.accesses - global_and_stores(published()[number])
    assert isclose(fmas / loads, fma_per_load, rel_tol=0.01)


def global_and_stores(kernel: ir.Kernel) -> float:
    """Accesses of a warp that are no loads from shared memory: the same kernel without those."""

    def without(expression: ir.Expression) -> ir.Expression:
        shared = isinstance(expression, ir.Load) and expression.buffer.space is ir.Space.SHARED
        return ir.Const(0, ScalarType.FLOAT32) if shared else expression

    def strip(body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        result: list[ir.Statement] = []
        for s in body:
            match s:
                case ir.For(name, low, high, step, unroll, inner):
                    result.append(ir.For(name, low, high, step, unroll, strip(inner)))
                case ir.Store(buffer, index, value):
                    result.append(ir.Store(buffer, index, ir.rewrite(value, without)))
                case _:
                    result.append(s)
        return tuple(result)

    stripped = ir.Kernel(
        kernel.name,
        kernel.buffers,
        kernel.sizes,
        kernel.grid,
        kernel.block,
        kernel.aliases,
        strip(kernel.body),
    )
    return census(stripped, {}).work.accesses


# -- every program has a time --------------------------------------------------------------


def plausible(prediction: Prediction) -> bool:
    """Finite, above every level, and not for nothing."""
    return all(
        isfinite(k.time_us)
        and k.time_us >= max(x.time_us for x in k.levels)
        and min(k.l2_bytes, k.dram_bytes, k.transactions, k.resident_warps, k.waves) > 0
        and k.dram_bytes <= k.l2_bytes * (1 + 1e-9)
        for k in prediction.kernels
    )


QUICK = ("conv2d", "full_reduction", "jacobi2d", "lut", "softmax", "transpose")
EVERY = [
    pytest.param(p, id=p.stem, marks=() if p.stem in QUICK else pytest.mark.slow)
    for p in sorted(SPECS.glob("*.tc"))
]


@pytest.mark.parametrize("path", EVERY)
def test_every_spec(path):
    made = compiled(path.read_text(), target="sm_80")
    sizes = {n: 3 if n in ("KH", "KW") else 64 for n in made.program.sizes}
    prediction = predict_time(made, TARGETS["sm_80"], sizes)
    assert plausible(prediction)
    assert len(prediction.kernels) == len(made.plan.kernels)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    random = numbered(seed)
    assert plausible(predict_time(compiled(random.text, **random.sizes), TARGETS["sm_90"]))


def test_larger_problems_take_longer():
    times = [gemm("double buffer", "sm_90", size).time_us for size in (512, 1024, 2048, 4096)]
    assert times == sorted(times)
    assert times[-1] > 16 * times[1]


def test_open_sizes_count_as_1024():
    made = compiled(GEMM)
    cube = dict.fromkeys(("M", "N", "K"), 1024)
    assert predict_time(made, TARGETS["sm_90"]) == predict_time(made, TARGETS["sm_90"], cube)
    odd = predict_time(made, TARGETS["sm_90"], {**cube, "N": 1023})
    assert odd.time_us > predict_time(made, TARGETS["sm_90"], cube).time_us


def test_a_compilation_without_kernels():
    stopped = compile_program(request(GEMM), stop_after="check")
    with pytest.raises(InternalError):
        predict_time(stopped, TARGETS["sm_90"])


BATCHES = """mapping:
  plan:
    transposed_batch_matmul_kernel:
      parallel: {b: [block.z, thread.y 2], n: [block.y, thread.y 8, inner 4], k: [block.x, thread.x 7, inner 4]}
      loops: {m: [tile 36]}
      staging: {X: shared, Y: shared}
"""


def test_copies_with_their_places_in_registers_fetch_every_element() -> None:
    """Places are elements of integer arrays there: they count as the forms that they hold."""
    text = (SPECS / "transposed_batch_matmul.tc").read_text()
    made = compiled(text, BATCHES, B=500, N=26, M=72, K=26)
    assert made.lowering is not None
    (kernel,) = made.lowering.mapped.kernels
    assert any(a.buffer == "X" and len(a.shape) == 1 for a in census(kernel, {}).accesses)
    (found,) = predict_time(made, TARGETS["sm_90"]).kernels
    tensors = 4 * 500 * (2 * 26 * 72 + 26 * 26)
    assert tensors <= found.dram_bytes <= 1.1 * tensors
