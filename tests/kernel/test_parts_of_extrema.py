"""Parts of `max=` and `min=`, combined with what is there, leave a NaN where all values are NaN."""

from __future__ import annotations

import numpy as np
import pytest

from tcc.api import compile as tcc_compile
from tcc.source import Source

NAN = np.nan
PLANS = {
    "parts in a second step": "split: 3",
    "parts with a surplus": "split: 7",
    "atomic": "split: 3, deterministic: false",
    "threads of a tile": "plan: {f_kernel: {parallel: {i: [block.x, thread.x 2]}, "
    "loops: {k: [tile 8, thread.y 4]}}}",
    "threads of a row": "plan: {f_kernel: {parallel: {i: [block.x, thread.y 2]}, "
    "row: [thread.x 8]}}",
    "warps of a row": "plan: {f_kernel: {parallel: {i: [block.x]}, row: [thread.x 64]}}",
}


@pytest.mark.parametrize("mapping", PLANS.values(), ids=PLANS.keys())
@pytest.mark.parametrize(("operator", "type"), [("max", "float"), ("min", "double")])
def test_nan_stays(operator: str, type: str, mapping: str) -> None:
    text = f"def f({type}(N, K) A) -> (T) {{ T(i) {operator}= A(i, k) where i in 0:N }}"
    dtype = np.dtype(type.replace("float", "float32"))
    a = np.full((6, 40), NAN, dtype)
    a[1, 3], a[4, 39] = 2, -7
    start = np.array([NAN, NAN, 1, NAN, -9, np.inf], dtype)
    sizes = {"N": 6, "K": 40}
    kernel = tcc_compile(Source("f.tc", text), sizes=sizes, options=f"mapping: {{{mapping}}}")
    got = kernel.run({"A": a, "T": start}, device="host")["T"]
    best = np.fmax if operator == "max" else np.fmin
    np.testing.assert_array_equal(got, best(start, best.reduce(a, axis=1)))
    assert np.isnan(got[[0, 3]]).all()


def test_identity_is_enough_for_a_start_from_it() -> None:
    """The parts of `max=!` need none: they start where the target does."""
    text = "def f(float(N, K) A) -> (T) { T(i) max=! A(i, k) }"
    kernel = tcc_compile(
        Source("f.tc", text), sizes={"N": 6, "K": 40}, options="mapping: {split: 3}"
    )
    assert "0x7fffffff" not in kernel.cuda_source
