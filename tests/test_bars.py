"""The default plans show what they must: instruction mixes, occupancy, grids; no GPU is needed.

Every kernel of the static benchmark is compiled and disassembled for two architectures, and held
against every bar. The same kernels compute the right thing on the host device.
"""

from __future__ import annotations

import numpy as np
import pytest

from bench.bars import BARS, MISSED, Bar
from bench.compile_time import schedule_seconds
from bench.figures import Measured, measure_all
from bench.workloads import SPECS, WORKLOADS, Workload, workload
from tcc.api import compile as tcc_compile
from tcc.api import request_of
from tcc.errors import ToolchainError
from tcc.inputs import options_of_data
from tcc.occupancy import resident_blocks
from tcc.options import Options
from tcc.run.disassemble import compiler_name, find_tools, parse
from tcc.run.mixes import loops_of, main_loop, mix_of
from tcc.run.verify import verify
from tcc.source import Source
from tcc.target import TARGETS

ARCHS = ("sm_80", "sm_90")
QUICK = ("tbmm", "softmax", "layer norm", "1lut", "max pool", "gemm bias relu")
"""Workloads that the quick tests verify at small sizes of the same shape."""


@pytest.fixture(scope="module")
def measured() -> dict[tuple[str, str], Measured]:
    try:
        find_tools()
        compiler_name()
    except ToolchainError as problem:
        pytest.skip(str(problem))
    return {(m.workload.name, m.target): m for m in measure_all(WORKLOADS, ARCHS)}


def _cases() -> list[object]:
    cases = []
    for bar in BARS:
        reason = MISSED.get((bar.workload, bar.what))
        marks = [] if reason is None else [pytest.mark.xfail(reason=reason)]
        cases.append(pytest.param(bar, id=f"{bar.workload}-{bar.what}", marks=marks))
    return cases


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("bar", _cases())
def test_bar(measured: dict[tuple[str, str], Measured], bar: Bar, arch: str) -> None:
    found = measured[bar.workload, arch]
    assert bar.holds(found), bar.text(found)


def test_every_workload_has_a_bar_and_every_miss_is_one() -> None:
    assert {b.workload for b in BARS} == {w.name for w in WORKLOADS}
    assert set(MISSED) <= {(b.workload, b.what) for b in BARS}


def test_the_same_loop_with_and_without_an_epilogue(
    measured: dict[tuple[str, str], Measured],
) -> None:
    for arch in ARCHS:
        plain = measured["gemm", arch].kernels[0].counted
        fused = measured["gemm bias relu", arch].kernels[0].counted
        assert fused.count("FFMA") == plain.count("FFMA")
        assert abs(fused.total - plain.total) <= plain.total // 100


@pytest.mark.parametrize("registers", [[8, 8], [8, 16]])
def test_micro_tiles_can_be_asked_for(registers: list[int]) -> None:
    sizes = {"M": 1024, "N": 1024, "K": 1024}
    options = {"mapping": {"registers": registers}}
    kernel = tcc_compile(SPECS / "gemm.tc", sizes=sizes, options=options)
    assert kernel.plan is not None
    (plan,) = kernel.plan.kernels
    assert [d.outer * d.inner for d in plan.dims] == registers


def _verified(given: Workload, sizes: dict[str, int], awkward: int, blocks: int | None) -> None:
    ranges = {name: [0, sizes[size] - 1] for name, size in given.indices.items()}
    options = options_of_data("<ranges>", {"verify": {"inputs": ranges}}) if ranges else Options()
    text = given.path.read_text()
    request = request_of(Source(given.path.name, text), None, sizes, options, None)
    outcome = verify(request, device="host", check=False, blocks=blocks, seed=1, awkward=awkward)
    assert outcome.ok, outcome.text()


SMALL = {
    "tbmm": {"B": 3, "N": 26, "M": 72, "K": 26},
    "softmax": {"N": 5, "D": 1024},
    "layer norm": {"N": 5, "D": 1024},
    "1lut": {"B": 3, "D": 64, "L": 50, "E": 1000},
    "max pool": {"N": 2, "C": 3, "H": 56, "W": 56},
    "gemm bias relu": {"B": 128, "M": 64, "N": 128},
}


@pytest.mark.parametrize("name", QUICK)
def test_verified_at_small_sizes(name: str) -> None:
    _verified(workload(name), SMALL[name], awkward=1, blocks=None)


LARGE = [w.name for w in WORKLOADS if w.sizes and not w.indices]
OPEN = [w.name for w in WORKLOADS if w.at and not w.indices]
BAGS = [w.name for w in WORKLOADS if w.indices]
SHORT_TABLE = 100_000
"""Rows of a table that the reference kernel can be run with."""


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_verified_at_its_sizes(name: str) -> None:
    given = workload(name)
    _verified(given, dict(given.sizes), awkward=3, blocks=16)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPEN)
def test_open_sizes_are_verified_at_their_sizes(name: str) -> None:
    given = workload(name)
    options = options_of_data("<sizes>", {"verify": {"sizes": [dict(given.at)]}})
    request = request_of(Source(given.path.name, given.path.read_text()), None, {}, options, None)
    outcome = verify(request, device="host", check=False, blocks=16, seed=1, awkward=5)
    assert outcome.ok, outcome.text()
    assert dict(outcome.trials[0].sizes) == dict(given.at)


@pytest.mark.slow
@pytest.mark.parametrize("name", BAGS)
def test_sums_of_looked_up_rows_at_their_sizes(name: str) -> None:
    """The whole table is there, and zero but for the rows that are looked up."""
    given = workload(name)
    kernel = given.compile("sm_90")
    random = np.random.default_rng(1)
    arrays: dict[str, np.ndarray] = {}
    wanted: list[np.ndarray] = []
    for index, size in given.indices.items():
        digit = index.removeprefix("I")
        rows, length = given.all_sizes[size], given.all_sizes[f"L{digit}"]
        where = random.integers(0, rows, (given.all_sizes["B"], length)).astype(np.int32)
        where[0, :2] = 0, rows - 1
        table = np.zeros((rows, given.all_sizes["D"]), np.float32)
        values = random.integers(-8, 9, (where.size, table.shape[1]))
        table[where.ravel()] = values
        arrays |= {f"LUT{digit}": table, index: where}
        wanted.append(table[where].sum(1))
    results = kernel.run(arrays, device="host")
    for got, want in zip(results.values(), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.slow
@pytest.mark.parametrize("name", BAGS)
def test_sums_of_looked_up_rows_at_awkward_sizes(name: str) -> None:
    """With tables that the reference kernel can be run with as well; their length is in no kernel."""
    given = workload(name)
    tables = dict.fromkeys(given.indices.values(), SHORT_TABLE)
    small = Workload(name, given.program, {**given.sizes, **tables}) if given.sizes else given
    assert small.compile("sm_90").cuda_source == given.compile("sm_90").cuda_source
    at = {**given.all_sizes, **tables}
    if given.sizes:
        _verified(given, at, awkward=5, blocks=None)
        return
    options = options_of_data("<sizes>", {"verify": {"sizes": [at]}})
    request = request_of(Source(given.path.name, given.path.read_text()), None, {}, options, None)
    outcome = verify(request, device="host", check=False, blocks=None, seed=1, awkward=9)
    assert outcome.ok, outcome.text()


def test_scheduling_is_quick() -> None:
    assert min(schedule_seconds((SPECS / "lstm_cell.tc").read_text()) for _ in range(3)) < 0.3


LISTING = """
 Function k:
  REG:40 STACK:8 SHARED:0 LOCAL:0 CONSTANT[0]:544 TEXTURE:0 SURFACE:0 SAMPLER:0
\t\tFunction : k
        /*0000*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;   /* 0x0 */
        /*0010*/                   FFMA R0, R1, R2, R0 ;                       /* 0x0 */
        /*0020*/              @!P0 LDS.64 R0, [R1] ;                           /* 0x0 */
        /*0030*/               @P0 BRA 0x10 ;                                  /* 0x0 */
        /*0040*/                   BRA 0x40;                                   /* 0x0 */
        /*0050*/                   NOP;                                        /* 0x0 */
"""


def test_listing() -> None:
    code = parse(LISTING)["k"]
    assert (code.registers, code.local_bytes) == (40, 8)
    assert len(loops_of(code)) == 1, "a branch to itself is the end of the program"
    loop = main_loop(code)
    assert loop is not None
    assert dict(loop.mix.counts) == {"FFMA": 1, "LDS.64": 1, "BRA": 1}
    whole = mix_of(code.instructions)
    assert whole.widths("LDG") == {128: 1}
    assert whole.total == 5


def test_occupancy() -> None:
    """Against the occupancy calculator's tables: registers, threads, shared memory, blocks."""
    h100 = TARGETS["sm_90"]
    assert resident_blocks(h100, 256, 255, 0) == 1
    assert resident_blocks(h100, 256, 128, 0) == 2
    assert resident_blocks(h100, 256, 32, 0) == 8
    assert resident_blocks(h100, 128, 32, 100 * 1024) == 2
    assert resident_blocks(h100, 32, 16, 0) == 32
