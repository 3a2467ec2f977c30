"""Random programs under random legal plans: every pair computes what the oracle does.

A subject is one program with its data and what is decided before plans: which sizes are known,
the target, options of fusion, splitting and bounds. The front end and the schedule run once for
all plans of a subject. A plan goes through an options file, as a user would write it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tcc.api import request_of
from tcc.diagnostics import Report
from tcc.driver import Compilation, Request, prepare
from tcc.errors import CompileError
from tcc.frontend import tir
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.run.cache import ObjectCache, key_of
from tcc.run.host import HostDevice, Order
from tcc.run.host_build import Flavour
from tcc.sched import choose
from tcc.sched.budget import needs
from tcc.sched.nest import Nest
from tcc.sched.plan import Plan
from tcc.sched.reuse import chains
from tcc.source import Source
from tcc.target import Target
from tests.agreement import Oracle, assert_same, oracle
from tests.random_plan import random_plan
from tests.random_tc import RandomTc, programs
from tests.random_work import works
from tests.traits import traits

UNOPTIMISED = Flavour(("-w", "-O0"))
"""Compiles in half the time; a program of this size runs in no time anyway."""

_FUSION = (None, None, None, "max", "preserve3coincident", "min")
_RARELY: Mapping[str, tuple[str | None, ...]] = {
    "outer_schedule_fusion_strategy": _FUSION,
    "intra_tile_schedule_fusion_strategy": _FUSION,
    "outer_schedule_allow_skewing": (None, None, "true"),
    "intra_tile_schedule_allow_skewing": (None, None, "true"),
    "outer_schedule_positive_orthant": (None, None, "true"),
    "intra_tile_schedule_positive_orthant": (None, None, "false"),
    "fix_parameters_before_scheduling": (None, None, "true"),
    "split": ("1", "1", "1", "1", "2", "3", None),
    "deterministic": (None, None, "false"),
    "check_bounds": (None, None, "true"),
}
_STRUCTURE = st.fixed_dictionaries({name: st.sampled_from(v) for name, v in _RARELY.items()})


@dataclass(frozen=True)
class Subject:
    """A program, and what is decided of it before it gets plans."""

    program: RandomTc
    fixed: bool
    target: str
    structure: tuple[str, ...]
    """Lines of an options file below `mapping:`."""

    def __repr__(self) -> str:
        sizes = "known" if self.fixed else "open"
        return f"{self.program!r}# {self.target}, sizes {sizes}\n" + _mapping(self.structure)


def _mapping(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in ("mapping:", *(f"  {x}" for x in lines)) if lines)


def _options(structure: tuple[str, ...]) -> Options:
    text = _mapping(structure)
    return options_of_source(Source("structure.yaml", text)) if text else Options()


def _subject(
    program: RandomTc, fixed: bool, target: str, structure: dict[str, str | None]
) -> Subject:
    lines = tuple(f"{name}: {value}" for name, value in structure.items() if value is not None)
    return Subject(program, fixed, target, lines)


def subjects(max_statements: int = 4) -> st.SearchStrategy[Subject]:
    """Random programs with random decisions."""
    targets = st.sampled_from(("sm_90", "sm_80", "sm_70"))
    drawn = st.one_of(programs(max_statements), works(), works(), works())
    return st.builds(_subject, drawn, st.booleans(), targets, _STRUCTURE)


class Known(set[str]):
    """Keys of pairs that agreed: texts with their sizes. `traits` counts what their kernels do."""

    def __init__(self) -> None:
        super().__init__()
        self.traits = Counter[str]()


def check_pairs(
    number: int, plans: int, cache: ObjectCache, known: Known, *, shrink: bool = True
) -> None:
    """Check a random subject, which the number determines, under as many plans.

    Kernels that are `known` are not run again; what agrees becomes known. Hypothesis begins with
    the least subject, which is passed over, because all numbers share it; the second is drawn
    freely; from the third on it would repeat parts of what it had.
    """
    is_least = [True]

    @seed(number)
    @settings(
        max_examples=2,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
    )
    @given(subjects(), st.randoms(use_true_random=False))
    def agree(subject: Subject, rng: random.Random) -> None:
        if is_least and is_least.pop():
            return
        pairs = Pairs(subject, cache, known)
        for _ in range(plans):
            pairs.check(rng)

    agree()


class Pairs:
    """The pairs of one subject."""

    def __init__(self, subject: Subject, cache: ObjectCache, known: Known) -> None:
        self._subject = subject
        self._known = known
        self._devices = [
            HostDevice(order=o, workers=1, cache=cache, flavour=UNOPTIMISED) for o in Order
        ]
        self._oracle: Oracle | None = None
        self._mapped_by = self._prepared()

    def check(self, rng: random.Random) -> None:
        """Compile under a random plan, run in both orders, compare."""
        chosen = _RandomPlan(self._subject.structure, rng)
        with _said(self._subject, chosen):
            made = chosen.compile(self._mapped_by)
            assert made.artifact is not None
            key = key_of((made.artifact.cuda_source, str(self._subject.program.sizes)))
            if key not in self._known:
                self._run(made)
                self._known.add(key)
                self._known.traits.update(chosen.traits(made))

    def _prepared(self) -> Callable[[Options], Compilation]:
        try:
            return prepare(self._request(fixed=self._subject.fixed))
        except CompileError as rejection:
            # With open sizes, bounds that hang on them in a way that no launcher check can say.
            if self._subject.fixed or any(
                d.code != "E0307" for d in rejection.diagnostics if d.is_error
            ):
                raise
        return prepare(self._request(fixed=True))

    def _request(self, *, fixed: bool) -> Request:
        subject = self._subject
        source = Source("random.tc", subject.program.text)
        sizes = subject.program.sizes if fixed else {}
        return request_of(source, None, sizes, _options(subject.structure), subject.target)

    def _run(self, made: Compilation) -> None:
        program, artifact = made.program, made.artifact
        assert program is not None
        assert artifact is not None
        arrays, sizes = self._subject.program.arrays, self._subject.program.sizes
        forward, reverse = (device.run(artifact, arrays, {}) for device in self._devices)
        self._devices[0].prepare(artifact).unlink(missing_ok=True)  # nobody needs it again
        self._oracle = self._oracle or oracle(program, arrays, sizes)
        self._oracle.assert_agrees(forward)
        if "deterministic: false" in self._subject.structure:
            self._oracle.assert_agrees(reverse)  # a least zero may have either sign
        else:
            assert_same(forward, reverse)


class _RandomPlan:
    """Chooses a plan where the compiler would."""

    def __init__(self, structure: tuple[str, ...], rng: random.Random) -> None:
        self._structure = structure
        self._rng = rng
        self._allowed: dict[str, int] = {}
        self._mapped: tuple[Nest, tir.Program, Plan] | None = None
        self.text = ""

    def compile(self, mapped_by: Callable[[Options], Compilation]) -> Compilation:
        """What the back end makes of it, with no more shared memory than the budget says."""
        with patch("tcc.driver.choose_plan", self._choose):
            made = mapped_by(_options(self._structure))
        assert made.artifact is not None
        for launch in made.artifact.interface.launches:
            assert launch.shared_bytes <= self._allowed[launch.kernel], "the budget counts it all"
        return made

    def traits(self, made: Compilation) -> Counter[str]:
        """What the kernels do that were compiled under the plan."""
        assert made.artifact is not None
        assert self._mapped is not None
        return traits(*self._mapped, made.artifact.cuda_source)

    def _choose(
        self, nest: Nest, program: tir.Program, _: Options, target: Target, report: Report
    ) -> choose.Chosen:
        plan = random_plan(nest, program, target, self._rng)
        self.text = _mapping((*self._structure, *plan.text().splitlines()))
        options = options_of_source(Source("plan.yaml", self.text))
        chosen = choose.choose_plan(nest, program, options, target, report)
        assert report.errors == ()
        assert chosen.plan == plan
        self._mapped = nest, program, plan
        self._allowed = _shared_bytes(nest, program, plan)
        return chosen


def _shared_bytes(nest: Nest, program: tir.Program, plan: Plan) -> dict[str, int]:
    pairs = zip(nest.kernels, plan.kernels, strict=True)
    return {k.name: needs(k, chains(k, program), program, p).shared_bytes for k, p in pairs}


@contextmanager
def _said(subject: Subject, chosen: _RandomPlan) -> Iterator[None]:
    """Puts the pair beside whatever is raised."""
    try:
        yield
    except Exception as problem:
        problem.add_note(f"{subject!r}# plan:\n{chosen.text}")
        raise
