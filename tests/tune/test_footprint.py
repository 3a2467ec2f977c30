"""Bytes that kernels move: boxes, reuse in caches, and programs whose traffic is known."""

from __future__ import annotations

from math import prod

import pytest

from tcc.affine import const, var
from tcc.driver import compile_program
from tcc.target import TARGETS
from tcc.tune.footprint import Access, Gather, LoopRange, traffic
from tcc.tune.model import predict_time
from tests.tune.records import SPECS, request

t, b, i, k = map(var, ("t", "b", "i", "k"))
BIG = 1e12


def loop(name: str, count: int, number: int = 1, low: int = 0, step: int = 1) -> LoopRange:
    last = low + (count - 1) * step
    return LoopRange(number, name, const(low), const(last + 1), step, low, last, count)


def access(*subscripts, shape, loops=(), sectors=1e9, is_store=False, buffer="A"):
    """Of 32 threads `t`, with elements of 4 bytes."""
    return Access(buffer, subscripts, shape, 4, 1, loops, {"t": (0, 31)}, sectors, is_store)


def moved(*accesses, blocks=8, l1=BIG, l2=BIG, concurrent=1):
    return traffic(accesses, {"b": blocks}, l1, l2, concurrent)


def test_a_row_for_each_block():
    found = moved(access(b, t, shape=(8, 32)))
    assert (found.block_l2_bytes, found.dram_bytes) == (128, 8 * 128)


def test_columns_take_whole_sectors():
    found = moved(access(t, b, shape=(32, 8)))
    assert found.block_l2_bytes == 32 * 32


def test_remainders_stay_in_their_range():
    found = moved(access(t // 8, t % 8, shape=(64, 64)))
    assert found.block_l2_bytes == 4 * 32


def test_what_fits_l1_is_fetched_once():
    again = access(t, shape=(32,), loops=(loop("k", 10),), sectors=40)
    assert moved(again).block_l2_bytes == 128
    assert moved(again, l1=64).block_l2_bytes == 40 * 32


def test_reuse_inside_the_outer_loop_only():
    """The row that the inner loop walks fits, all rows together do not."""
    rows = access(i, k, shape=(100, 64), loops=(loop("i", 100), loop("k", 64, 2)), sectors=6400)
    assert moved(rows, l1=300).block_l2_bytes == 100 * 256
    column = access(k, shape=(64,), loops=(loop("i", 100), loop("k", 64, 2)), sectors=6400)
    assert moved(column, l1=300).block_l2_bytes == 256
    assert moved(column, l1=100).block_l2_bytes == 6400 * 32


def test_neighbours_share_their_sectors():
    stencil = [access(b, t + d, shape=(8, 34)) for d in range(3)]
    assert moved(*stencil).block_l2_bytes == 160


def test_loops_after_each_other_fetch_twice_what_does_not_fit():
    first = access(k, shape=(1000,), loops=(loop("k", 1000, 1),), sectors=125)
    second = access(k, shape=(1000,), loops=(loop("k", 1000, 2),), sectors=125)
    assert moved(first, second).block_l2_bytes == 4000
    assert moved(first, second, l1=100).block_l2_bytes == 8000


def test_strides_leave_gaps_inside_a_block_and_none_between_blocks():
    every_fourth = access(
        i, t, shape=(64, 32), loops=(LoopRange(1, "i", b, const(64), 8, 3, 59, 8),), sectors=32
    )
    found = moved(every_fourth)
    assert found.block_l2_bytes == 8 * 128
    assert found.dram_bytes == 64 * 128


def test_gathered_rows():
    row = access(Gather(frozenset("k"), 10**6), t, shape=(10**6, 32), loops=(loop("k", 50),))
    assert moved(row).block_l2_bytes == 50 * 128


def test_blocks_that_run_at_once_share_what_l2_cannot_keep():
    """Each of 64 blocks reads all of B and a row of A; 8 run at once."""
    column = access(k, t, shape=(1000, 32), loops=(loop("k", 1000),), sectors=4000, buffer="B")
    found = moved(column, blocks=64, l1=64, l2=1000, concurrent=8)
    assert found.block_l2_bytes == 128000
    assert found.dram_bytes == 8 * 128000
    assert moved(column, blocks=64, l1=64, l2=1e9, concurrent=8).dram_bytes == 128000


def test_stores_go_through():
    store = access(b, t, shape=(8, 32), loops=(loop("k", 3),), sectors=12, is_store=True)
    found = moved(store)
    assert (found.block_l2_bytes, found.dram_bytes) == (384, 8 * 128)


# -- whole programs ------------------------------------------------------------------------

ONCE = {
    "softmax": {"N": 4096, "D": 1024},
    "layer_norm": {"N": 2048, "D": 1024},
    "transpose": {"B": 64, "M": 256, "N": 256},
    "full_reduction": {"N": 1 << 24},
    "max_pool": {"N": 32, "C": 64, "H": 56, "W": 56},
    "jacobi2d": {"H": 2050, "W": 2050},
    "gemm": {"M": 1024, "N": 1024, "K": 1024},
}


@pytest.mark.parametrize("name", ONCE)
def test_memory_moves_every_element_once_at_least(name):
    """Tensors are read and written once where L2 has room for them, never less."""
    made = compile_program(request((SPECS / f"{name}.tc").read_text(), **ONCE[name]))
    program, target = made.program, TARGETS["sm_90"]
    tensors = [program.tensors[n] for n in (*program.inputs, *program.outputs)]
    least = sum(prod(e.value for e in x.shape) * x.type.bytes for x in tensors)
    found = sum(k.dram_bytes for k in predict_time(made, target).kernels)
    most = 1.02 if least < target.l2_bytes else 1.5
    assert least * 0.99 <= found <= least * most
