"""Dependences against enumeration."""

from __future__ import annotations

import pytest

from tcc.sched.dependences import Kind, compute_dependences, text
from tcc.sched.scop import build_scop
from tests.random_tc import numbered
from tests.sched.brute_force import closure, conflicts, pairs, steps
from tests.sched.programs import PROGRAMS, elaborated, model

SMALL = [n for n in PROGRAMS if n not in ("lstm", "group_norm", "convolution", "mlp")]


@pytest.mark.parametrize("name", SMALL)
def test_dependences_are_those_of_enumeration(name: str) -> None:
    """Every pair found is real, and every real pair follows from those found."""
    program = elaborated(PROGRAMS[name])
    scop, found = build_scop(program), compute_dependences(build_scop(program))
    sizes = dict.fromkeys(program.sizes, 3)
    ours = set().union(*(pairs(scop.parameters, d.relation, sizes) for d in found.all))
    real = conflicts(program, sizes)
    assert ours <= real
    assert closure(ours) >= real


def test_reductions_are_relaxed_but_keep_their_coincidence() -> None:
    scop, found = model(PROGRAMS["gemm"])
    relaxed = [d for d in found.all if d.relaxed]
    assert {d.kind for d in relaxed} == set(Kind)
    assert all(d.source == d.sink == "S0" for d in relaxed)
    itself = relaxed[0].relation.to_union_map()
    assert found.validity.intersect(itself).is_empty()
    assert itself.is_subset(found.coincidence)
    assert [(d.source, d.sink) for d in found.strict] == [("S0_init", "S0")] * 2
    assert scop.by_name["S0"].is_reduction


def test_an_overwrite_ends_the_search() -> None:
    """What an overwritten value was read for has no order with what comes after."""
    _, found = model(
        """def f(float(N) X) -> (Y, Z) {
            Y(i) = X(i)
            Z(i) = Y(i)
            Y(i) = 2.0 * X(i)
            Z(i) = Z(i) + Y(i)
        }"""
    )
    edges = {(d.source, d.sink, d.kind, d.tensor) for d in found.all}
    assert ("S0", "S3", Kind.FLOW, "Y") not in edges
    assert {("S0", "S1", Kind.FLOW, "Y"), ("S1", "S2", Kind.ANTI, "Y")} <= edges
    assert ("S2", "S3", Kind.FLOW, "Y") in edges


def test_a_guard_limits_a_dependence() -> None:
    scop, found = model(
        """def f(float(N) X) -> (Y) {
            T(i) = X(i)
            Y(i) = i > 2 ? T(i - 1) : 0.0 where i in 0:N
        }"""
    )
    (flow,) = found.all
    assert pairs(scop.parameters, flow.relation, {"N": 5}) == {
        (("S0", (2,)), ("S1", (3,))),
        (("S0", (3,)), ("S1", (4,))),
    }


def test_text_has_a_line_for_each_dependence() -> None:
    _, found = model(PROGRAMS["softmax"])
    lines = text(found).splitlines()
    assert len(lines) == len(found.all)
    assert lines[0].startswith("S0_init -> S0 flow mx: ")
    assert sum("(any order)" in line for line in lines) == 6


def test_pairs_are_the_union_of_all_kinds() -> None:
    _, found = model(PROGRAMS["parts"])
    keys = [(d.source, d.sink, d.relaxed) for d in found.pairs]
    assert len(set(keys)) == len(keys)
    for dependence in found.all:
        (pair,) = [
            d
            for d in found.among((dependence.source, dependence.sink))
            if (d.source, d.sink) == (dependence.source, dependence.sink)
        ]
        assert dependence.relation.is_subset(pair.relation)


def test_dependences_of_random_programs() -> None:
    tested = 0
    for seed in range(50):
        random = numbered(seed)
        program = elaborated(random.text, random.sizes)
        if len(steps(program, random.sizes)) > 250:
            continue  # too many pairs to enumerate
        tested += 1
        scop = build_scop(program)
        found = compute_dependences(scop)
        ours = set().union(*(pairs(scop.parameters, d.relation, random.sizes) for d in found.all))
        real = conflicts(program, random.sizes)
        assert ours <= real, random
        assert closure(ours) >= real, random
    assert tested > 20
