"""What is explained: occupancy, work, choices, and banks, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import tcc
from tcc.affine import const, var
from tcc.errors import UsageError
from tcc.explain.banks import sites
from tcc.explain.facts import Explanation, explain
from tcc.explain.regions import Rectangle, region_of, regions
from tcc.explain.space import space
from tcc.explain.text import text
from tcc.explain.trace import Kind, trace
from tcc.kernel import ir
from tcc.occupancy import limits
from tcc.scalar import ScalarType
from tcc.sched.plan import Staging
from tcc.target import TARGETS
from tests.doc_blocks import ROOT

MATMUL = (ROOT / "specs" / "gemm.tc").read_text("utf-8")


def explained(program: str, sizes: dict[str, int] | None = None, **mapping: object) -> Explanation:
    kernel = tcc.compile(program, sizes=sizes, options={"mapping": mapping})
    return explain(kernel.request, kernel.compilation)


def test_operations_and_bytes_of_a_product():
    (found,) = explained(MATMUL, {"M": 64, "N": 32, "K": 16}).kernels
    assert found.work.operations == 2 * 64 * 32 * 16
    assert found.work.bytes == 4 * (64 * 16 + 16 * 32 + 64 * 32)


def test_the_roof_is_the_slower_of_memory_and_arithmetic():
    copy = "def f(float(N) A) -> (B) { B(i) = A(i) + 1.0 }"
    (found,) = explained(copy, {"N": 1 << 20}).kernels
    assert found.roof.limit == "DRAM"
    assert found.roof.time_us == pytest.approx(8 * (1 << 20) / 3352e3)
    (found,) = explained(MATMUL, {"M": 1024, "N": 1024, "K": 1024}).kernels
    assert found.roof.limit == "fp32"
    assert found.roof.time_us == pytest.approx(2 * 1024**3 / TARGETS["sm_90"].peak_gflops / 1e3)


def test_a_temporary_of_one_kernel_is_no_traffic():
    chain = "def f(float(N) A) -> (B) { T(i) = A(i) + 1.0\n B(i) = T(i) * 2.0 }"
    found = explained(chain, {"N": 1000}).kernels
    assert sum(k.work.bytes for k in found) == 8 * 1000


def test_gathers_are_operands_with_all_their_choices():
    """2 rows of 8 indices, 4 x 32 threads of one element of a row each."""
    lookup = "def f(float(E, D) T, int32(B, L) I) -> (O) { O(b, d) +=! T(I(b, l), d) }"
    given = {
        "parallel": {"b": ["block.y", "thread.y 2"], "d": ["block.x", "thread.x 32", "inner 4"]},
        "loops": {"l": ["tile 8"]},
        "staging": {"I": "shared", "T": "register"},
    }
    sizes = {"E": 1000, "D": 128, "B": 64, "L": 32}
    (found,) = explained(lookup, sizes, plan={"f_kernel": given}).kernels
    rows = {r.tensor: (r.subscripts, r.block, r.sharing) for r in found.reuse}
    assert rows == {"I": ("b, l", 16, 32), "T": ("I(b, l), d", 2 * 8 * 128, 1)}
    costs = {c.staging: c for c in found.choices["T"]}
    assert costs[Staging.SHARED].barriers == 2
    assert costs[Staging.REGISTER].chosen


def test_limits_of_an_sm():
    """256 threads of 64 registers and 40 KiB of shared memory on an H100."""
    found = {x.resource: x for x in limits(TARGETS["sm_90"], 256, 64, 40 * 1024)}
    assert {name: x.blocks for name, x in found.items()} == {
        "registers": 4,
        "threads": 8,
        "shared memory": 5,
        "blocks": 32,
    }
    assert found["registers"].per_block == 64 * 256
    assert found["shared memory"].per_block == 41 * 1024


def test_every_way_to_stage_is_compiled():
    (found,) = explained(MATMUL, {"M": 256, "N": 256, "K": 256}).kernels
    assert set(found.choices) == {"A", "B"}
    for tensor, choices in found.choices.items():
        assert {c.staging for c in choices} == set(Staging)
        (chosen,) = (c for c in choices if c.chosen)
        assert chosen.staging is found.plan.stage(tensor)
        for choice in choices:
            assert not isinstance(choice.outcome, str)
            shared = [b.name for b in choice.outcome.kernel.shared]
            assert (f"shared_{tensor}" in shared) == (choice.staging is Staging.SHARED)


def test_barriers_are_those_of_a_k_tile():
    (found,) = explained(MATMUL).kernels
    counts = {c.staging: c.barriers for c in found.choices["A"]}
    assert counts[Staging.SHARED] == (1 if found.plan.pipeline > 1 else 2)


def test_open_sizes_that_cannot_be_what_is_assumed():
    program = "def f(float(N) A) -> (B) { B(i) = A(i + 2000) where i in 0:N - 2000 }"
    with pytest.raises(UsageError, match="--size"):
        explained(program)


def test_the_space_says_the_same_as_the_stores():
    """The picture of a block is made from the plan; the trace of its stores agrees."""
    result = explained(MATMUL, {"M": 256, "N": 256, "K": 64})
    (found,) = result.kernels
    cut = space(found.nest, found.plan, result.program, result.sizes)
    m, n = np.indices([a.tile for a in cut.axes])
    threads = cut.threads({"m": m, "n": n})
    for access in found.trace.accesses:
        if access.buffer.name == "C" and access.kind is Kind.STORE:
            for thread, first in enumerate(access.offsets.tolist()):
                for element in range(first, first + access.width):
                    assert threads[element // 256, element % 256] == thread
    digits = cut.digits(37)
    own = {
        (p, q)
        for p in cut.axes[0].positions(digits["m"])
        for q in cut.axes[1].positions(digits["n"])
    }
    assert own == {(int(p), int(q)) for p, q in zip(*np.nonzero(threads == 37), strict=True)}


def test_banks_of_a_column_walk():
    """A warp that reads down a column of 32 words takes 32 turns without padding."""
    for row, turns in ((32, 32), (33, 1)):
        shared = ir.Buffer("s", ir.Space.SHARED, ScalarType.FLOAT32, (const(32 * row),))
        out = ir.Buffer("O", ir.Space.GLOBAL, ScalarType.FLOAT32, (const(32),))
        body = (
            ir.Declare(shared),
            ir.Store(out, (var("t0"),), ir.Load(shared, (var("t0") * row,))),
        )
        one = (const(1), const(1), const(1))
        alias = (("t0", "threadIdx.x"),)
        kernel = ir.Kernel("k", (out,), (), one, (32, 1, 1), alias, body)
        (site,) = sites(shared, trace(kernel, {}))
        assert (site.turns, site.least) == (turns, 1)


def test_regions_cover_a_grid_once():
    grid = np.array([[1, 1, 2], [1, 1, 2], [3, 2, 2]])
    found = regions(grid)
    assert found[1] == [Rectangle(0, 0, 2, 2)]
    assert sum(r.width * r.height for rs in found.values() for r in rs) == grid.size
    assert region_of([(4, 7), (5, 7)]) == [Rectangle(4, 7, 2, 1)]


def test_the_text_marks_predictions_and_never_times():
    lines = text(explained(MATMUL, {"M": 512, "N": 512, "K": 512})).splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip() == "bound")
    timed = [line for line in lines[at:] if " us" in line]
    assert all("predicted" in line or line.startswith("      ") for line in timed)
