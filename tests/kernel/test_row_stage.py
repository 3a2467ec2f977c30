"""Gathers in two stages: the block's indices to shared memory, then the rows."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tcc.api import compile as tcc_compile
from tcc.errors import CompileError
from tests.agreement import assert_agrees, run_both_orders
from tests.sched.programs import SOFTMAX

LUT = "def f(float(E, D) T, int32(B, L) I) -> (O) { O(b, d) +=! T(I(b, l), d) }"
WEIGHTED = """
def f(float(E, D) T, int32(B, L) I, float(L, B) W) -> (O) {
    O(b, d) +=! W(l, b) * T(I(b, l), d) where l in 1:L
}
"""


def arrays(sizes: dict[str, int]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    b, d, length, e = (sizes[n] for n in "BDLE")
    return {
        "T": random.integers(-3, 4, (e, d)).astype(np.float32),
        "I": random.integers(0, e, (b, length)).astype(np.int32),
        "W": random.integers(-3, 4, (length, b)).astype(np.float32),
    }


@pytest.mark.parametrize("tile", [1, 3])
@pytest.mark.parametrize("text", [LUT, WEIGHTED])
@pytest.mark.parametrize("length", [2, 50])
def test_results(text: str, length: int, tile: int) -> None:
    """Several rows a block, blocks that walk over rows, weights that are staged as well."""
    sizes = {"B": 7, "D": 37, "L": length, "E": 11}
    staged = {"I": "shared", "W": "shared"} if text is WEIGHTED else {"I": "shared"}
    given = {
        "parallel": {
            "b": ["block.y 2", f"thread.z {tile}"],
            "d": ["block.x", "thread.x 32"],
        },
        "row": ["thread.y 4"],
        "staging": staged,
    }
    kernel = tcc_compile(text, sizes=sizes, options={"mapping": {"plan": {"f_kernel": given}}})
    program = kernel.compilation.program
    mine = {n: a for n, a in arrays(sizes).items() if n in program.inputs}
    assert_agrees(program, mine, sizes, run_both_orders(kernel, mine))
    kernel.run(mine, check=True)


GUARDED = (
    "def f(float(E, D) T, int32(B, L) I) -> (O) { O(b, d) +=! I(b, l) < 0 ? 0.0 : T(I(b, l), d) }"
)


def test_the_default_loads_each_index_once() -> None:
    """Where a gather stands under a condition, rows are not read in vectors."""
    kernel = tcc_compile(GUARDED, sizes={"B": 128, "D": 64, "L": 50, "E": 1000})
    (plan,) = kernel.plan.kernels
    assert [(t, s.value) for t, s in plan.staging] == [("I", "shared")]
    (load,) = re.findall(r".*&I\[.*", kernel.cuda_source)
    assert "int2" in load, "neighbouring threads take neighbouring indices"


def test_it_can_be_turned_off() -> None:
    sizes = {"B": 128, "D": 64, "L": 50, "E": 1000}
    for mapping in ({"staging": {"I": "global"}}, {"use_shared_memory": False}):
        kernel = tcc_compile(LUT, sizes=sizes, options={"mapping": mapping})
        assert "shared_I" not in kernel.cuda_source


def test_what_moves_with_the_rows_is_not_shared() -> None:
    given = {"softmax_kernel": {"parallel": {"i": ["block.x"]}, "row": ["thread.x 32"],
                                "staging": {"X": "shared"}}}  # fmt: skip
    with pytest.raises(CompileError) as found:
        tcc_compile(SOFTMAX, sizes={"M": 4, "N": 64}, options={"mapping": {"plan": given}})
    assert found.value.diagnostics[0].code == "E0525"
