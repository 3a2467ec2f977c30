"""The search space: every point is a plan that compiles, every start is a point."""

from __future__ import annotations

import random

import pytest

from tcc.driver import compile_program
from tcc.inputs import options_of_source
from tcc.sched.plan import Staging
from tcc.source import Source
from tcc.target import TARGETS
from tcc.tune.domains import digit_values
from tcc.tune.model import predict_time
from tcc.tune.space import Space
from tcc.tune.starts import Starts
from tests.tune.programs import ROWS, kernel_space, request, space_of, spec


def test_digits_are_powers_of_two_and_ceil_divisors() -> None:
    assert digit_values(1, 1024) == (1,)
    assert digit_values(26, 1024) == (1, 2, 4, 7, 8, 13, 16, 26, 32)
    assert digit_values(100, 16) == (1, 2, 4, 7, 8, 13, 16)


@pytest.mark.parametrize("name", ["gemm", "softmax", "conv2d", "transpose", "heat3d", "lut2"])
def test_every_start_is_a_point(name: str) -> None:
    space, starts = space_of(spec(name))
    for start in starts:
        again = space.candidate(space.point(start))
        assert again == start or plans_differ_in_nothing(space, start, again)


def plans_differ_in_nothing(space: Space, one: object, other: object) -> bool:
    """Whether two candidates give the same kernels: the space spells some plans in one way."""
    texts = []
    for candidate in (one, other):
        structure = space.structures[candidate.structure]  # type: ignore[attr-defined]
        options = options_of_source(Source("o", structure.text(candidate.plan)))  # type: ignore[attr-defined]
        artifact = structure.compile(options).artifact
        assert artifact is not None
        texts.append(artifact.cuda_source.partition("#ifndef")[2])
    return texts[0] == texts[1]


@pytest.mark.parametrize("name", ["gemm", "log_softmax", "transpose", "lut2"])
def test_random_points_compile(name: str) -> None:
    """Valid by construction: what fits the budget is accepted by the compiler as it stands.

    And the model has a time for it.
    """
    space, _ = space_of(spec(name))
    rng = random.Random(1)
    for _ in range(8):
        candidate = space.candidate(space.sample(rng))
        assert space.problem(candidate) is None
        structure = space.structures[candidate.structure]
        options = options_of_source(Source("o.yaml", structure.text(candidate.plan)))
        found = structure.compile(options)
        assert found.plan == candidate.plan
        assert found.artifact is not None
        assert 0.5 < predict_time(found, TARGETS["sm_90"]).time_us < 1e6


def test_a_text_gives_its_structure_again() -> None:
    """Through the whole compiler, options of fusion and splitting included."""
    asked = spec("softmax")
    space, starts = space_of(asked)
    assert len(space.structures) > 2
    for start in starts[-len(space.structures) :]:
        structure = space.structures[start.structure]
        text = structure.text(start.plan)
        found = compile_program(request(asked.source.text, asked.sizes, text))
        assert found.plan == start.plan
        assert found.lowering is not None
        assert found.lowering.nest == structure.nest


def test_a_preset_gives_the_structure_that_it_compiles_to() -> None:
    """With tile sizes no reduction is split, unless that is asked for."""
    asked = spec("full_reduction")
    starts = Starts(asked)
    found = {s.origin: s.candidate for s in starts.all([])}
    whole = compile_program(request(asked.source.text, asked.sizes, "preset: naive"))
    assert whole.lowering is not None
    chosen = found["preset naive"]
    assert starts.structures.all[chosen.structure].nest == whole.lowering.nest
    assert chosen.plan == whole.plan


def test_the_size_counts_what_can_be_chosen() -> None:
    space, _ = space_of(request("def f(float(N) X) -> (Y) { Y(i) = X(i) }\n", {"N": 4}))
    (structure,) = space.structures
    assert space.size == len(set(points(space)))
    assert len(structure.nest.kernels) == 1


def points(space: Space) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for parameter in space.parameters:
        found = [(*p, k) for p in found for k in range(len(parameter.values))]
    return found


def test_what_is_meaningless_is_not_active() -> None:
    space = kernel_space(request(ROWS, {"N": 64, "K": 64}))
    rows = space.active({"form": "rows"})
    assert "row.threads" in rows
    assert not any(name.endswith((".outer", ".inner")) for name in rows)
    assert "row.threads" not in space.active({"form": "points"})


def test_plans_beyond_the_target_are_refused_and_shrunk() -> None:
    asked = request(sizes={"M": 1024, "N": 1024, "K": 1024})
    space = kernel_space(asked)
    large = {"m.threads": 64, "n.threads": 64}
    assert space.problem(space.plan(large)) == "too many threads"
    registers = {"m.outer": 8, "m.inner": 8, "n.outer": 8, "n.inner": 8}
    assert space.problem(space.plan(registers)) == "too many registers"
    whole, _ = space_of(asked)
    rng = random.Random(0)
    top = tuple(len(p.values) - 1 for p in whole.parameters)
    assert whole.problem(whole.candidate(whole.shrunk(top, rng))) is None


def test_staging_offers_what_the_kernel_can_stage() -> None:
    space = kernel_space(request())
    (found,) = [p.values for p in space.parameters if p.name == "A.staging"]
    assert set(found) == {s.value for s in Staging}
    plan = space.plan({"A.staging": "global", "B.staging": "shared", "pipeline": 3})
    assert dict(plan.staging) == {"A": Staging.GLOBAL, "B": Staging.SHARED}
    assert plan.pipeline == 3
    assert space.plan({"form": "points", "pipeline": 3}).pipeline == 1
