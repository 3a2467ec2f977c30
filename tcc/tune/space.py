"""The search space of a program: structures, and for each of its kernels a table of parameters.

A point is an index into the values of every parameter. It has the parameters of all structures,
those of the chosen one count; kernels that occur in several structures share their parameters.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

from tcc.frontend import tir
from tcc.sched.nest import KernelNest, instances
from tcc.sched.plan import KernelPlan, Plan
from tcc.sched.reuse import source_of
from tcc.target import Target
from tcc.tune.domains import Parameter, Value
from tcc.tune.kernel_space import KernelSpace
from tcc.tune.structure import Structure

Point: TypeAlias = tuple[int, ...]
STRUCTURE = "structure"


@dataclass(frozen=True)
class Candidate:
    """A structure, by its index, and the plan of its kernels."""

    structure: int
    plan: Plan


class Space:
    """All candidates of a program on a target.

    `starts` are candidates that must be points; `shared_bytes` is the most that a block may use.
    """

    def __init__(
        self,
        structures: tuple[Structure, ...],
        target: Target,
        shared_bytes: int,
        starts: Iterable[Candidate] = (),
    ) -> None:
        self.structures = structures
        kernels = _different(structures)
        self._owned = tuple(
            tuple(_place(k, s, kernels) for k in s.nest.kernels) for s in structures
        )
        plans: list[list[KernelPlan]] = [[] for _ in kernels]
        for start in starts:
            owned = self._owned[start.structure]
            for place, plan in zip(owned, start.plan.kernels, strict=True):
                plans[place].append(plan)
        self._spaces = tuple(
            KernelSpace(kernel, structure.program, target, shared_bytes, plans[place])
            for place, (kernel, structure) in enumerate(kernels)
        )

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The structure, then the parameters of all kernels."""
        first = Parameter(STRUCTURE, tuple(range(len(self.structures))))
        of_kernels = (
            Parameter(f"{place}/{p.name}", p.values)
            for place, space in enumerate(self._spaces)
            for p in space.parameters
        )
        return (first, *of_kernels)

    @cached_property
    def size(self) -> int:
        """How many points differ in a parameter that counts; not all of them fit the target."""
        return sum(prod(self._spaces[k].size for k in owned) for owned in self._owned)

    def active(self, point: Point) -> frozenset[int]:
        """The positions of the parameters that count at a point."""
        found = {0}
        for place in self._owned[point[0]]:
            counting = self._spaces[place].active(self._own(point, place))
            names = [p.name for p in self._spaces[place].parameters]
            found |= {self._starts[place] + k for k, n in enumerate(names) if n in counting}
        return frozenset(found)

    def candidate(self, point: Point) -> Candidate:
        """The candidate at a point."""
        index = point[0]
        nest = self.structures[index].nest
        plans = tuple(
            replace(self._spaces[place].plan(self._own(point, place)), kernel=kernel.name)
            for kernel, place in zip(nest.kernels, self._owned[index], strict=True)
        )
        return Candidate(index, Plan(plans))

    def point(self, candidate: Candidate) -> Point:
        """The point of a candidate; a value that no parameter has becomes the first one.

        What does not count has its first value.
        """
        owned = self._owned[candidate.structure]
        found = [candidate.structure]
        for place, space in enumerate(self._spaces):
            values: Mapping[str, Value] = {}
            if place in owned:
                values = space.values(candidate.plan.kernels[owned.index(place)])
            found += (_index(p, values) for p in space.parameters)
        return tuple(found)

    def problem(self, candidate: Candidate) -> str | None:
        """Why the target cannot have a candidate; None when it can."""
        pairs = zip(candidate.plan.kernels, self._owned[candidate.structure], strict=True)
        found = (self._spaces[place].problem(plan) for plan, place in pairs)
        return next((p for p in found if p is not None), None)

    def sample(self, rng: random.Random) -> Point:
        """A random point that fits the target, if shrinking makes it fit."""
        return self.shrunk(self._random(rng), rng)

    def shrunk(self, point: Point, rng: random.Random) -> Point:
        """A point near this one that fits the target: with smaller digits, drawn one by one."""
        found = list(point)
        for place in sorted(set(self._owned[point[0]])):
            start, space = self._starts[place], self._spaces[place]
            end = start + len(space.parameters)
            found[start:end] = space.shrunk(found[start:end], rng)
        return tuple(found)

    def _random(self, rng: random.Random) -> Point:
        return tuple(rng.randrange(len(p.values)) for p in self.parameters)

    def _own(self, point: Point, place: int) -> dict[str, Value]:
        """The values of one kernel's parameters."""
        start, space = self._starts[place], self._spaces[place]
        return space.at(point[start : start + len(space.parameters)])

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        """Where the parameters of each kernel begin in a point."""
        counts = [len(s.parameters) for s in self._spaces]
        return tuple(1 + sum(counts[:k]) for k in range(len(counts)))


def _different(structures: tuple[Structure, ...]) -> list[tuple[KernelNest, Structure]]:
    """The kernels that differ in more than their name, each with its first structure."""
    found: list[tuple[KernelNest, Structure]] = []
    for structure in structures:
        for kernel in structure.nest.kernels:
            if not any(_is_same(kernel, structure, *other) for other in found):
                found.append((kernel, structure))
    return found


def _place(
    kernel: KernelNest, structure: Structure, kernels: list[tuple[KernelNest, Structure]]
) -> int:
    """Which of the different kernels this one is."""
    found = (k for k, other in enumerate(kernels) if _is_same(kernel, structure, *other))
    return next(found)


def _is_same(
    kernel: KernelNest, structure: Structure, other: KernelNest, of_other: Structure
) -> bool:
    """Whether two kernels do the same; programs with split reductions reuse names."""
    return replace(kernel, name="") == replace(other, name="") and _statements(
        kernel, structure
    ) == _statements(other, of_other)


def _statements(kernel: KernelNest, structure: Structure) -> list[tir.Statement]:
    return [source_of(i.statement, structure.program) for i in instances(kernel.body)]


def _index(parameter: Parameter, values: Mapping[str, Value]) -> int:
    value = values.get(parameter.name)
    return parameter.values.index(value) if value in parameter.values else 0
