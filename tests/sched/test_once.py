"""Nests that leave instances out, or run them twice, are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from tcc.affine import const, minimum, var
from tcc.errors import InternalError
from tcc.sched.nest import Dim, Instance, Loop, Nest, Node
from tcc.sched.once import check_once
from tests.random_tc import numbered as random_program
from tests.sched import test_structure
from tests.sched.programs import GEMM, PARTS, PROGRAMS, SCALARS, TRIANGLE
from tests.sched.test_structure import CROSSED

nests = cache(test_structure.nests)
SMALL = [text for name, text in PROGRAMS.items() if name not in ("lstm", "mlp")]

Change = Callable[[Node], Node]


def changed(nest: Nest, change: Change) -> Nest:
    """The nest with every node below changed, inner ones first."""

    def visit(node: Node) -> Node:
        if isinstance(node, Loop):
            node = Loop(node.dim, tuple(map(visit, node.body)))
        return change(node)

    kernels = (replace(k, body=tuple(map(visit, k.body))) for k in nest.kernels)
    return Nest(tuple(kernels))


def loops(change: Callable[[Dim], Dim]) -> Change:
    return lambda node: Loop(change(node.dim), node.body) if isinstance(node, Loop) else node


def instances(change: Callable[[Instance], Instance]) -> Change:
    return lambda node: change(node) if isinstance(node, Instance) else node


@pytest.mark.parametrize("text", [*SMALL, CROSSED, PARTS])
def test_every_way_to_fuse(text: str) -> None:
    scop, found = nests(text)
    for nest in found:
        check_once(scop, nest)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    scop, found = nests(random_program(seed).text)
    for nest in found:
        check_once(scop, nest)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (loops(lambda d: replace(d, low=d.low + 1)), "S0 never runs"),
        (loops(lambda d: replace(d, high=d.high - 1)), "S0 never runs"),
        (loops(lambda d: replace(d, high=minimum(d.high, 1024))), "S0 never runs at .*1025"),
        (instances(lambda i: replace(i, conditions=(var("i") - 1,))), "S0_init never runs"),
        (
            instances(lambda i: replace(i, iterators={**i.iterators, "i": var("i") // 2})),
            "S0_init never runs",
        ),
    ],
)
def test_lost_instances(change: Change, fault: str) -> None:
    scop, (nest, *_) = nests(GEMM)
    with pytest.raises(InternalError, match=fault):
        check_once(scop, changed(nest, change))


def test_a_loop_around_an_instance_that_has_none() -> None:
    scop, (nest, *_) = nests(GEMM)
    extra = Dim("again", const(0), var("K"), False)

    def twice(node: Node) -> Node:
        if not isinstance(node, Instance) or node.statement != "S0_init":
            return node
        return Loop(extra, (replace(node, values={**node.values, "again": const(0)}),))

    with pytest.raises(InternalError, match=r"S0_init runs more than once at \{'M': 1, 'K': 2,"):
        check_once(scop, changed(nest, twice))


def test_a_condition_that_is_lost() -> None:
    """A statement in a loop that it does not have."""
    found = 0
    for text in (SCALARS, TRIANGLE, CROSSED, PARTS):
        scop, all_nests = nests(text)
        for nest in all_nests:
            wrong = changed(nest, instances(lambda i: replace(i, conditions=())))
            if wrong != Nest(nest.kernels):
                found += 1
                with pytest.raises(InternalError, match="runs more than once"):
                    check_once(scop, wrong)
    assert found


def test_statements_that_are_lost_or_twice() -> None:
    scop, (nest, *_) = nests(GEMM)
    with pytest.raises(InternalError, match=r"S0_init, S0 run as S0, S0, S0_init, S0_init"):
        check_once(scop, Nest(nest.kernels * 2))
    with pytest.raises(InternalError, match=r"S0_init, S0 run as $"):
        check_once(scop, Nest(()))
