"""Random programs under random legal plans compute what the oracle does, in both orders."""

from __future__ import annotations

import pytest

from tcc.run.cache import ObjectCache
from tests.random_pairs import Known, check_pairs

PARTS = 16
PAIRS = 2000 // PARTS
PLANS = 5
HARD = {"tiled", "row", "shared", "gather", "pipeline", "vector"}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> ObjectCache:
    return ObjectCache(tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("part", range(PARTS))
def test_random_plans(part: int, cache: ObjectCache) -> None:
    """Each part has its own numbers, which are the same every time, and hard work in its kernels."""
    known, number = Known(), part * PAIRS
    while len(known) < PAIRS:
        check_pairs(number, PLANS, cache, known)
        number += 1
    assert (+known.traits).keys() >= HARD
