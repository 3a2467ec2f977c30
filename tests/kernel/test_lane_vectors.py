"""Lookups of rows outside of reductions: vectors for the lanes of a thread, also of open rows."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tcc.api import Kernel
from tests.agreement import assert_agrees, run_both_orders
from tests.kernel.running import compiled, data

LOOKUP = "def f({type}(E, D) T, int32(B) I) -> (O) {{ O(b, d) = T(I(b), d) }}"
SIZES = {"E": 9, "D": 12, "B": 5}
DIGITS = {"b": ["block.y", "outer 2", "thread.y 2"], "d": ["block.x", "thread.x 2", "inner 4"]}
WIDE = r"float4\*>\(&T\["


def agrees(kernel: Kernel, sizes: dict[str, int], *, check: bool = False) -> None:
    given = data(kernel.compilation.program, sizes)
    random = np.random.default_rng(1)
    given["I"] = random.integers(0, sizes["E"], given["I"].shape).astype(np.int32)
    assert_agrees(kernel.compilation.program, given, sizes, run_both_orders(kernel, given))
    if check:
        kernel.run(given, check=True)


@pytest.mark.parametrize("type", ["float", "double", "float16", "int8"])
def test_open_row_lengths(type: str) -> None:
    kernel = compiled(LOOKUP.format(type=type))
    for length in (1, 3, 4, 5, 33, 64):
        agrees(kernel, {**SIZES, "D": length}, check=length == 5)


def test_open_rows_are_read_and_written_in_vectors() -> None:
    source = compiled(LOOKUP.format(type="float")).cuda_source
    fast, slow = source.split("f_kernel_aligned(const")[1].split("f_kernel(const")[:2]
    assert re.search(WIDE, fast)
    assert "float4*>(&O[" in fast
    assert "float4" not in slow
    assert "if (D % 4 == 0 &&" in slow


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        ("O(b, d) = T(I(b), d) + T(I(b), D - 1 - d)", 1),
        ("O(b, d) = T(I(b) + 0 * b, d) * T(b, d)", 1),
        ("O(b, d) = T(I(I(b)), d)", 1),
        ("O(b, d) = T(I(b), d + 1) where d in 0:8", 0),
        ("O(b, d) = T(I(b), d + 4) where d in 0:8", 1),
        ("O(b, d) = T(I(b), d) where d in 0:10", 0),
        ("O(b, d) = I(b) < 4 ? T(I(b), d) : 0.0", 0),
        ("O(b, d) = T(d * d / 30, d) + float(I(b))", 0),
        ("O(d, b) = T(I(b), d)", 0),
    ],
)
def test_which_reads_are_vectors(text: str, wide: int) -> None:
    """Those that happen at every lane, of one row, at a multiple of the width."""
    digits = {n: DIGITS[n] for n in re.findall(r"\w", text.partition("=")[0])[1:]}
    digits |= {} if list(digits) == ["b", "d"] else {"b": ["block.x", "thread.x 2", "inner 4"]}
    program = f"def f(float(E, D) T, int32(B) I) -> (O) {{ {text} }}"
    kernel = compiled(program, SIZES, plan={"f_kernel": {"parallel": digits}})
    assert len(re.findall(WIDE, kernel.cuda_source)) == wide
    given = data(kernel.compilation.program, SIZES)
    given["I"] = np.array([4, 0, 3, 3, 1], np.int32)
    assert_agrees(kernel.compilation.program, given, SIZES, run_both_orders(kernel, given))
    kernel.run(given, check=True)


def test_loops_without_tiles() -> None:
    """A sum whose plan has no k-tiles reads a vector at every point of its loop."""
    text = "def f(float(E, D) T, int32(B, L) I) -> (O) { O(b, d) +=! T(I(b, l), d) }"
    sizes = {**SIZES, "L": 3}
    kernel = compiled(text, sizes, plan={"f_kernel": {"parallel": DIGITS}})
    assert re.search(WIDE, kernel.cuda_source)
    agrees(kernel, sizes, check=True)


@pytest.mark.parametrize("text", ["T(I(b), d) * W(d)", "T(I(b), d)", "T(I(b), d) * T(I(I(b)), d)"])
def test_threads_that_share_a_row_read_vectors_of_it(text: str) -> None:
    weights = ", float(D) W" if "W" in text else ""
    program = f"def f(float(E, D) T, int32(B) I{weights}) -> (O) {{ O(b) +=! {text} }}"
    sizes = {**SIZES, "D": 40}
    given = {"parallel": {"b": ["block.x"]}, "row": ["thread.x 4", "vector 4"]}
    kernel = compiled(program, sizes, plan={"f_kernel": given})
    assert len(re.findall(WIDE, kernel.cuda_source)) == text.count("T(")
    small = data(kernel.compilation.program, sizes)
    small["I"] = np.array([4, 0, 3, 3, 1], np.int32)
    assert_agrees(kernel.compilation.program, small, sizes, run_both_orders(kernel, small))
    kernel.run(small, check=True)
