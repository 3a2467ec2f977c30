"""The option sets that the original shipped, and those on which it once failed.

Every set compiles at the published sizes, launches within the limits of the target, and computes
the right thing on the host at small ones, whatever the order of the threads.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tcc.source import Source
from tcc.target import DEFAULT_TARGET, TARGETS
from tests import case_files
from tests.agreement import assert_agrees, run_both_orders

PUBLISHED = 40
ROOT = Path(__file__).parents[1]
TARGET = TARGETS[DEFAULT_TARGET]
SETS = {
    entry["name"]: {**entry, "preset": preset}
    for table, preset in (("options_benchmarks", None), ("options_regressions", "naive"))
    for entry in yaml.safe_load((case_files.FOLDER / f"{table}.yaml").read_text())
}
QUICK = (
    "MLP3_B_128_N_128_O_64_P_32_Q_2",
    "TransposedBatchMatMul_B_500_K_26_M_72_N_26",
    "GroupNormalization_N_4_C_512_G_32_H_12_W_12",
    "Sum_2D_1D_N_128_K_2304",
    "c3_illegal_access",
    "group_norm_reduction_deadlock",
)
each_set = pytest.mark.parametrize(
    "entry",
    [pytest.param(e, id=n, marks=() if n in QUICK else pytest.mark.slow) for n, e in SETS.items()],
)


def compiled(entry: dict[str, Any], sizes: dict[str, int]) -> Kernel:
    path = ROOT / entry["program"]
    options = {"mapping": entry["mapping"], "preset": entry["preset"]}
    source = Source(path.name, path.read_text())
    return tcc_compile(source, sizes=sizes, options=options)


def data(kernel: Kernel, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Small integers; indices of a gather stay inside the smallest table."""
    program = kernel.compilation.program
    rng = np.random.default_rng(0)
    arrays = {}
    for name in (*program.inputs, *program.inouts):
        tensor = program.tensors[name]
        shape = tuple(e.evaluate(sizes) for e in tensor.shape)
        if tensor.type.is_integer:
            arrays[name] = rng.integers(0, 250, shape).astype(tensor.type.value)
        else:
            arrays[name] = case_files.random_array(tensor.type, shape, rng)
    return arrays


@each_set
def test_launches_within_limits(entry: dict[str, Any]) -> None:
    kernel = compiled(entry, entry["sizes"])
    asked = entry["mapping"].get("blocks")
    for launch in kernel.launches:
        grid = [extent.value for extent in launch.grid]
        assert all(1 <= n <= most for n, most in zip(grid, TARGET.max_grid, strict=True))
        assert all(n <= most for n, most in zip(launch.block, TARGET.max_block, strict=True))
        assert prod(launch.block) <= TARGET.max_threads_per_block
        assert launch.shared_bytes <= TARGET.max_shared_bytes
        if asked is not None:
            assert all(n <= most for n, most in zip(grid, (*asked, 1, 1), strict=False))


@each_set
def test_computes_the_right_thing(entry: dict[str, Any]) -> None:
    kernel = compiled(entry, entry["small"])
    arrays = data(kernel, entry["small"])
    results = run_both_orders(kernel, arrays)
    assert_agrees(kernel.compilation.program, arrays, entry["small"], results)


def test_every_published_set_is_there() -> None:
    """The 42 rows of the published table, two of which are there twice."""
    table = yaml.safe_load((case_files.FOLDER / "options_benchmarks.yaml").read_text())
    assert len(table) == PUBLISHED
    assert set(QUICK) <= set(SETS)
