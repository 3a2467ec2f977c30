"""The trace of a block is what the kernel does."""

from __future__ import annotations

import numpy as np
import pytest

import tcc
from tcc.explain.facts import KernelFacts, explain
from tcc.explain.trace import MOST_ITERATIONS, NOWHERE, OFFSET_BITS, Kind
from tests.doc_blocks import ROOT


def facts(text: str, sizes: dict[str, int] | None = None, **mapping: object) -> KernelFacts:
    kernel = tcc.compile(text, sizes=sizes, options={"mapping": mapping})
    (found,) = explain(kernel.request, kernel.compilation).kernels
    return found


def spec(name: str, **sizes: int) -> KernelFacts:
    return facts((ROOT / "specs" / f"{name}.tc").read_text("utf-8"), sizes)


GEMM = {"M": 256, "N": 256, "K": 64}


def test_a_block_of_a_product_uses_a_row_and_a_column_for_every_point():
    found = spec("gemm", **GEMM)
    dims = {d.dim: d for d in found.plan.dims}
    (loop,) = found.plan.loops
    uses = found.trace.uses
    threads, elements = uses["A"].T
    assert set(threads) == set(range(found.threads))
    rows, columns = elements // GEMM["K"], elements % GEMM["K"]
    assert set(rows) == set(range(dims["m"].tile))
    assert set(columns) == set(range(loop.tile))
    assert len(uses["A"]) == found.threads * dims["m"].registers * loop.tile


def test_a_shared_tile_holds_what_the_block_uses():
    found = spec("gemm", **GEMM)
    assert found.trace.sources == {"shared_A": "A", "shared_B": "B"}
    (shared,) = (b for b in found.kernel.shared if b.name == "shared_B")
    codes, fillers = found.trace.filled["shared_B"]
    stage = codes[: shared.shape[-1].value]
    held = set((stage[stage != NOWHERE] & ((1 << OFFSET_BITS) - 1)).tolist())
    assert held == set(found.trace.uses["B"][:, 1].tolist())
    assert fillers.max() < found.threads


def test_stores_cover_a_tile_once():
    found = spec("gemm", **GEMM)
    stores = [a for a in found.trace.accesses if a.buffer.name == "C" and a.kind is Kind.STORE]
    at = np.concatenate([(a.offsets[:, None] + np.arange(a.width)).ravel() for a in stores])
    m, n = (next(d.tile for d in found.plan.dims if d.dim == name) for name in "mn")
    assert len(at) == len(set(at.tolist())) == m * n
    assert set(at // 256) == set(range(m))


def test_every_thread_of_a_row_reads_its_part_once():
    found = spec("softmax", N=64, D=1024)
    assert len(found.trace.uses["I"]) == 1024
    (row,) = (r for r in found.touched if r.tensor == "I")
    assert (row.elements, row.moved, row.sharing, row.efficiency) == (1024, 1024, 1.0, 1.0)


def test_idle_threads_touch_nothing():
    found = facts("def f(float(N) A) -> (B) { B(i) = A(i) * 2.0 }", {"N": 70})
    (row,) = (r for r in found.touched if r.tensor == "A")
    assert row.moved == 70
    assert {int(t) for t in found.trace.uses["A"][:, 0]} <= set(range(70))


def test_gathers_are_said_to_depend_on_data():
    found = spec("lut", B=64, D=32, L=4, E=10)
    (row,) = (r for r in found.touched if r.tensor == "LUT")
    assert "data" in row.through


def test_transposed_loads_waste_sectors():
    copy = "def f(float(N, N) A) -> (B) { B(i, j) = A(j, i) }"
    (row,) = (r for r in facts(copy, {"N": 512}).touched if r.tensor == "A")
    assert row.efficiency == pytest.approx(1 / 8)


def test_long_loops_are_cut_and_said_to_be():
    lookup = """
    def f(float(E, D) T, int32(B, L) I) -> (O) {
        O(b, d) +=! I(b, l) < 0 ? 0.0 : T(I(b, l), d)
    }"""
    found = facts(lookup, {"B": 64, "D": 32, "L": 1000, "E": 10})
    (cut,) = found.trace.cuts.values()
    assert cut.shown == MOST_ITERATIONS < cut.total


def test_open_sizes_take_the_faster_kernels():
    found = facts((ROOT / "specs" / "gemm.tc").read_text("utf-8"))
    assert found.kernel.name.endswith("_aligned")
    assert {r.width for r in found.touched if r.tensor in "AB"} == {4}


QUICK = ("softmax", "jacobi2d", "lut", "transpose")
SPECS = [
    pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
    for path in sorted((ROOT / "specs").glob("*.tc"))
]


@pytest.mark.parametrize("path", SPECS)
def test_every_spec_is_explained(path):
    kernel = tcc.compile(path, options=path.with_suffix(".yaml"))
    for found in explain(kernel.request, kernel.compilation).kernels:
        assert found.work.bytes > 0
        assert found.prediction.resident_blocks >= 1
        outputs = [r for r in found.touched if r.kind is Kind.STORE]
        assert outputs, "a kernel writes something"
