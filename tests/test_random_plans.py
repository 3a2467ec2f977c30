"""Random programs under random legal plans compute what the oracle does, in both orders."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tcc.run.cache import ObjectCache
from tests.random_pairs import Pairs, Subject, generators, subjects

PARTS = 16
SUBJECTS = 25
PLANS = 5
"""Of each subject: 2,000 pairs in all."""

relaxed = settings(
    deadline=None, database=None, max_examples=SUBJECTS, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("part", range(PARTS))
def test_random_plans(part: int, tmp_path: Path) -> None:
    """Each part draws from its own seed: the same examples every time."""
    cache = ObjectCache(tmp_path)

    @seed(part)
    @relaxed
    @given(subjects(), st.lists(generators(), min_size=PLANS, max_size=PLANS))
    def agree(subject: Subject, plans: list[random.Random]) -> None:
        pairs = Pairs(subject, cache)
        for rng in plans:
            pairs.check(rng)

    agree()
