"""Random programs under random legal plans compute what the oracle does, in both orders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcc.run.cache import ObjectCache
from tests.random_pairs import Known, check_pairs

PARTS = 16
PAIRS = 2000 // PARTS
PLANS = 5


@pytest.mark.parametrize("part", range(PARTS))
def test_random_plans(part: int, tmp_path: Path) -> None:
    """Each part has its own numbers, which are the same every time."""
    cache, known, number = ObjectCache(tmp_path), Known(), part * PAIRS
    while len(known) < PAIRS:
        check_pairs(number, PLANS, cache, known)
        number += 1
