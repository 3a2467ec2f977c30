"""No random program under a random plan has a finding or a wrong value, at awkward sizes either."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import differential
from tests.fuzz.differential import AWKWARD, judged
from tests.fuzz.experiment import FOLDER, Experiment, drawn, fault, load
from tests.fuzz.reduce import reduced

SAVED = sorted(FOLDER.glob("*.tc"))


@pytest.mark.parametrize("seed", range(6))
def test_some_experiments(seed: int, tmp_path: Path) -> None:
    assert judged(seed, tmp_path, awkward=1) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_experiments(seed: int) -> None:
    assert judged(seed, FOLDER) is None


@pytest.mark.parametrize("path", SAVED, ids=[p.stem for p in SAVED])
def test_found(path: Path) -> None:
    """What campaigns have found stays found."""
    assert fault(load(path), AWKWARD) is None


def test_files_hold_an_experiment(tmp_path: Path) -> None:
    for seed in (3, 4):
        made = drawn(seed)
        made.save(tmp_path, "x")
        assert load(tmp_path / "x.tc") == made


def test_a_fault_is_reduced_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every kernel with pipelines, whatever else it does, were wrong."""

    def wrong(made: Experiment, _: int) -> str | None:
        return "wrong" if "pipeline" in made.plan and "min=" in made.text else None

    monkeypatch.setattr(differential, "fault", wrong)
    assert judged(1, tmp_path) == "wrong"
    small = load(tmp_path / "seed_1.tc")
    assert len(small.text.splitlines()) == 3
    assert small.plan.split()[::2] == ["plan:", "pipeline:"]
    assert set(small.sizes.values()) <= {1}
    assert reduced(small, lambda made: wrong(made, 0) is not None) == small
