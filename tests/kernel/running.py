"""Programs run on the host device under chosen options and compared with the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tcc.frontend import tir
from tcc.run.numbers import storage_dtype
from tcc.source import Source
from tests.agreement import assert_agrees, run_both_orders


def compiled(
    text: str, sizes: Mapping[str, int] | None = None, entry: str | None = None, **mapping: Any
) -> Kernel:
    """The kernel of a program under mapping options."""
    options = {"mapping": mapping}
    return tcc_compile(Source("test.tc", text), entry=entry, sizes=sizes, options=options)


def data(program: tir.Program, sizes: Mapping[str, int], most: int = 3) -> dict[str, np.ndarray]:
    """Small integers for every input and in/out tensor: sums of their products are exact."""
    random = np.random.default_rng(0)
    result: dict[str, np.ndarray] = {}
    for name in (*program.inputs, *program.inouts):
        tensor = program.tensors[name]
        shape = tuple(extent.evaluate(sizes) for extent in tensor.shape)
        low, high = {"bool": (0, 1), "uint": (0, most)}.get(tensor.type.kind, (-most, most))
        values = random.integers(low, high + 1, size=shape)
        result[name] = values.astype(storage_dtype(tensor.type))
    return result


def check(
    text: str,
    sizes: Mapping[str, int],
    *,
    fixed: bool = True,
    most: int = 3,
    entry: str | None = None,
    **mapping: Any,
) -> Kernel:
    """Run in both orders of threads; the results are the oracle's."""
    kernel = compiled(text, sizes if fixed else None, entry, **mapping)
    program = kernel.compilation.program
    assert program is not None
    arrays = data(program, sizes, most)
    assert_agrees(program, arrays, sizes, run_both_orders(kernel, arrays))
    return kernel
