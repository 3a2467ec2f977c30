"""Bank conflicts are counted as the model counts them, and shared boxes lie so that few are left.

The kernels are counted from their statements, whatever the lowering had in mind.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tcc.affine import Affine
from tcc.api import request_of
from tcc.driver import compile_program
from tcc.inputs import options_of_data
from tcc.kernel import ir
from tcc.kernel.bank import Access, Arrangement, arrange, in_warps, passes
from tcc.kernel.copy_shape import CopyShape, crossed
from tcc.source import Source
from tcc.tune.lanes import least_passes, shared_wavefronts
from tcc.tune.places import Places

NN = "def f(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, k) * B(k, j) }"
NT = "def f(float(M, K) A, float(N, K) B) -> (C) { C(i, j) +=! A(i, k) * B(j, k) }"
BATCH = """
def f(float(B, N, M) X, float(B, K, M) Y) -> (Z) { Z(b, n, k) +=! X(b, n, m) * Y(b, k, m) }
"""


@pytest.mark.parametrize("width", [1, 2, 4])
def test_passes_are_those_of_the_model(width: int) -> None:
    rng = random.Random(width)
    for _ in range(50):
        step = rng.choice((1, 2, 4, 8, 9, 32, 33, 36))
        addresses = [4 * width * (rng.randrange(40) * step) for _ in range(rng.randint(1, 32))]
        lanes = np.zeros((1, 32), dtype=np.int64)
        lanes[0, : len(addresses)] = addresses
        mask = np.arange(32).reshape(1, 32) < len(addresses)
        assert passes(addresses, 4 * width) == shared_wavefronts(lanes, mask, 4 * width)


def test_patterns_that_differ_by_whole_groups_are_one() -> None:
    places = [(4 * (n % 4), n // 4) for n in range(128)]
    (pattern,) = in_warps(places, 4, 4)
    assert in_warps(places, 4, 4)[pattern] == 4
    assert len(in_warps(places, 1, 64)) > 1


@pytest.mark.parametrize("columns", [28, 32, 64, 100, 128])
@pytest.mark.parametrize("vectors", [2, 4, 8])
def test_transposing_vectors_meet_no_bank_twice(columns: int, vectors: int) -> None:
    """Lanes of a warp have `vectors` groups of four rows: the rows of one column are apart."""
    rows = 4 * vectors
    active = range(min(128, vectors * columns))
    stores = [(4 * (n % vectors), n // vectors) for n in active]
    access = Access(in_warps(stores, 4, 4), 1, 1)
    found = arrange(rows, columns, 4, 4, 4, (access,))
    assert access.passes(found, 4) == access.least(4)
    assert found.elements(rows) <= rows * (columns + 4)


def test_nothing_is_left_out_without_need() -> None:
    loads = Access(in_warps([(0, 4 * (n % 8)) for n in range(32)], 1, 4), 4, 8)
    assert arrange(8, 64, 4, 4, 4, (loads,)) == Arrangement(64)


def test_a_warp_that_goes_across_copies_every_vector_once() -> None:
    plain = CopyShape((8, 64), 4, 128)
    across = crossed(plain, 0, 4)
    assert across is not None
    every = [across.position(n) for n in range(across.vectors)]
    assert sorted(every) == sorted(plain.position(n) for n in range(plain.vectors))
    assert {row for row, _ in every[:32]} == {0, 1, 2, 3}
    assert sorted(column for row, column in every[:32] if row == 0) == list(range(0, 32, 4))
    assert crossed(CopyShape((6, 64), 4, 128), 0, 4) is None
    assert crossed(CopyShape((8, 36), 4, 128), 0, 4) is None
    assert crossed(CopyShape((8, 64), 2, 128), 0, 4) is None


# -- whole kernels ---------------------------------------------------------------------------


def kernel(text: str, sizes: dict[str, int], block: dict[str, object] | None = None) -> ir.Kernel:
    mapping = {} if block is None else {"plan": {"f_kernel": block}}
    options = options_of_data("<options>", {"mapping": mapping})
    found = compile_program(request_of(Source("f.tc", text), None, sizes, options, "sm_90"))
    assert found.lowering is not None
    (only,) = found.lowering.mapped.kernels
    return only


def plan(k: int, inner: tuple[str, ...] = ("inner 4",)) -> dict[str, object]:
    return {
        "parallel": {
            "i": ["block.y", "thread.y 16", *inner],
            "j": ["block.x", "thread.x 8", *inner],
        },
        "loops": {"k": [f"tile {k}"]},
        "staging": {"A": "shared", "B": "shared"},
        "pipeline": 2 if k <= 16 else 1,
    }


def shared(at: Places, body: Sequence[ir.Statement]) -> Iterator[tuple[str, bool, float, float]]:
    """For each access of shared memory: the buffer, whether it stores, passes, least passes.

    Loops are at their first iteration, conditions hold.
    """
    for statement in body:
        match statement:
            case ir.For(name, low, _, _, _, inner):
                at.values[name] = low.evaluate(at.values)  # type: ignore[arg-type]
                yield from shared(at, inner)
            case ir.If(_, inner, _):
                yield from shared(at, inner)
            case ir.Let(name, value):
                at.define(name, value)
            case ir.Store(buffer, index, _) if buffer.space is ir.Space.SHARED:
                yield _access(at, buffer, index, 1, stores=True)
            case ir.Store(_, _, ir.Load(buffer, index)) if buffer.space is ir.Space.SHARED:
                yield _access(at, buffer, index, 1, stores=False)
            case ir.VectorMove(target, index, source, origin, width):
                if target.space is ir.Space.SHARED:
                    yield _access(at, target, index, width, stores=True)
                if source.space is ir.Space.SHARED:
                    yield _access(at, source, origin, width, stores=False)
            case _:
                pass


def _access(
    at: Places,
    buffer: ir.Buffer,
    index: tuple[Affine | ir.Expression, ...],
    width: int,
    *,
    stores: bool,
) -> tuple[str, bool, float, float]:
    size = 4 * width
    found = shared_wavefronts(at.addresses(buffer, index), at.threads, size)
    words = at.threads.sum(axis=1).mean() * width / 32 if stores else 0
    return buffer.name, stores, found, max(least_passes(size), words)


def worst(made: ir.Kernel) -> tuple[float, float]:
    """The most passes over the least, of stores and of loads."""
    every = list(shared(Places(made, {}), made.body))
    ways = ([p / n for _, s, p, n in every if s is stores] for stores in (True, False))
    stored, loaded = ways
    return max(stored), max(loaded)


@pytest.mark.parametrize("k", [8, 16, 64])
@pytest.mark.parametrize("text", [NN, NT])
def test_stores_and_loads_of_matrix_products_have_no_conflicts(text: str, k: int) -> None:
    stored, loaded = worst(kernel(text, {"M": 128, "N": 128, "K": 256}, plan(k)))
    assert stored == 1
    assert loaded == 1


def test_rows_that_threads_read_side_by_side_get_longer() -> None:
    """Lanes with one value each walk down the rows of B, 32 elements apart."""
    made = kernel(NT, {"M": 128, "N": 128, "K": 256}, plan(32, ()))
    assert worst(made) == (1, 1)


def test_the_default_plan_of_a_transposed_batch_has_few_conflicts() -> None:
    stored, _ = worst(kernel(BATCH, {"B": 500, "N": 26, "M": 72, "K": 26}))
    assert stored <= 2


@pytest.mark.parametrize("name", ["M", "K"])
def test_odd_sizes_stay_near_the_least(name: str) -> None:
    """Elements go one by one: rows of a vector's length have eight starts at most."""
    sizes = {"M": 128, "N": 128, "K": 256} | {name: 129}
    stored, loaded = worst(kernel(NT, sizes, plan(16)))
    assert stored <= 2
    assert loaded == 1
