"""Comparison of a run with the oracle: `==` where all arithmetic is exact, else a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tcc.api import Kernel
from tcc.frontend import tir
from tcc.run.host import HostDevice, Order
from tcc.run.reference import interpret
from tcc.scalar import ScalarType

EPSILON = {
    ScalarType.FLOAT16: 2.0**-11,
    ScalarType.BFLOAT16: 2.0**-8,
    ScalarType.FLOAT32: 2.0**-24,
    ScalarType.FLOAT64: 2.0**-53,
}
CHAIN = 16  # roundings of one element besides those of its sums


def run_both_orders(kernel: Kernel, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The results on the host, which do not depend on the order of the threads."""
    forward, reverse = (HostDevice(order=o).run(kernel.artifact, arrays, {}) for o in Order)
    assert_same(forward, reverse)
    return forward


def assert_same(forward: Mapping[str, np.ndarray], reverse: Mapping[str, np.ndarray]) -> None:
    """Both orders of the threads gave the same bytes."""
    for name, values in forward.items():
        assert values.tobytes() == reverse[name].tobytes(), f"`{name}` depends on the order"


@dataclass(frozen=True)
class Oracle:
    """What a program means on some data: values, and how far from them results may lie."""

    values: Mapping[str, np.ndarray]
    bounds: Mapping[str, float]
    """By output of float type."""

    def assert_agrees(self, results: Mapping[str, np.ndarray]) -> None:
        """The results have the dtypes, shapes and values of the oracle's."""
        assert list(results) == list(self.values)
        for name, want in self.values.items():
            got = np.asarray(results[name])
            assert (got.dtype, got.shape) == (want.dtype, want.shape), name
            if name not in self.bounds:
                np.testing.assert_array_equal(got, want, err_msg=name)
                continue
            np.testing.assert_allclose(
                got.astype(np.float64),
                want.astype(np.float64),
                rtol=0,
                atol=self.bounds[name],
                err_msg=name,
            )


def oracle(
    program: tir.Program, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> Oracle:
    """The oracle of one program on one set of arrays, for any number of results."""
    native = interpret(program, arrays, sizes)
    exact = interpret(program, arrays, sizes, precision="exact")
    kinds = {name: program.tensors[name].type for name in native}
    bounds = {
        name: tolerance(program, sizes, kinds[name], want, exact[name])
        for name, want in native.items()
        if kinds[name].is_float
    }
    return Oracle(native, bounds)


def assert_agrees(
    program: tir.Program,
    arrays: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    results: Mapping[str, np.ndarray],
) -> None:
    """The results have the dtypes, shapes and values of the oracle's."""
    oracle(program, arrays, sizes).assert_agrees(results)


def tolerance(
    program: tir.Program,
    sizes: Mapping[str, int],
    kind: ScalarType,
    native: np.ndarray,
    exact: np.ndarray,
) -> float:
    """0 where rounding happened nowhere, else terms * eps * max plus what the oracle itself lost."""
    finite = np.isfinite(exact)
    if not finite.any():
        return 0.0
    lost = np.abs(native.astype(np.float64) - exact)[finite].max()
    whole = np.equal(np.trunc(exact), exact)[finite].all()
    if lost == 0 and whole:
        return 0.0
    terms = max(_terms(s, sizes) for s in program.statements)
    scale = max(float(np.abs(exact[finite]).max()), 1e-6)
    return (terms + CHAIN) * EPSILON[kind] * scale + 16 * float(lost)


def _terms(statement: tir.Statement, sizes: Mapping[str, int]) -> int:
    known: dict[str, tuple[int | None, int | None]] = {n: (v, v) for n, v in sizes.items()}
    for name in statement.indices + statement.reductions:
        index = statement.ranges[name]
        low, high = index.low.bounds(known)[0], index.high.bounds(known)[1]
        assert low is not None
        assert high is not None
        known[name] = (low, max(low, high - 1))
    counts = [1]
    for name in statement.reductions:
        low, high = known[name]
        counts.append(max((high or 0) - (low or 0) + 1, 1))
    return int(np.prod(counts))
