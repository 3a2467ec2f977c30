"""Parallel loops inside a kernel, joined where values pass between them."""

from __future__ import annotations

from tcc.affine import Affine, var
from tcc.sched.join import join_loops
from tcc.sched.legality import check_tree
from tcc.sched.tree import Band, Filter, Leaf, Member, Node, Sequence
from tests.sched.programs import model

ROW, COLUMN = var("i"), var("j")

CHAIN = """def f(float(N, M) X, float(N, M) Z) -> (Y) {
    T(i, j) = X(i, j)
    U(i, j) = T(i, j)
    Y(i, j) = U(i, j)
}"""


def loop(statement: str, value: Affine = COLUMN) -> Filter:
    member = Member({statement: value}, True)
    return Filter((statement,), Band((member,), True, Leaf()))


def rows(*parts: Filter) -> Band:
    names = [s for f in parts for s in f.statements]
    return Band((Member(dict.fromkeys(names, ROW), True),), True, Sequence(parts))


def loops_below(node: Node) -> list[tuple[str, ...]]:
    assert isinstance(node, Band)
    if isinstance(node.child, Sequence):
        return [f.statements for f in node.child.children]
    assert isinstance(node.child, Band)
    return [tuple(node.child.members[0].partial)]


def test_a_chain_shares_its_loop() -> None:
    _, found = model(CHAIN)
    after = join_loops(found, rows(loop("S0"), loop("S1"), loop("S2")))
    check_tree(found, after)
    assert loops_below(after) == [("S0", "S1", "S2")]


def test_kernels_are_not_joined() -> None:
    _, found = model(CHAIN)
    parts = tuple(
        Filter((s,), Band((Member({s: ROW}, True), Member({s: COLUMN}, True)), True, Leaf()))
        for s in ("S0", "S1", "S2")
    )
    assert join_loops(found, Sequence(parts)) == Sequence(parts)


def test_neighbours_that_pass_no_value_stay_apart() -> None:
    _, found = model(
        """def f(float(N, M) X, float(N, M) Z) -> (Y, V) {
            Y(i, j) = X(i, j)
            V(i, j) = Z(i, j)
        }"""
    )
    assert loops_below(join_loops(found, rows(loop("S0"), loop("S1")))) == [("S0",), ("S1",)]


def test_a_distance_keeps_loops_apart() -> None:
    _, found = model(
        """def f(float(N, M) X) -> (Y) {
            T(i, j) = X(i, j)
            Y(i, j) = T(i, M - 1 - j)
        }"""
    )
    assert loops_below(join_loops(found, rows(loop("S0"), loop("S1")))) == [("S0",), ("S1",)]


def test_other_ranges_keep_loops_apart() -> None:
    _, found = model(
        """def f(float(N, M) X) -> (Y) {
            T(i, j) = X(i, j)
            T(i, j) = 2.0 * T(i, j) where j in 1:M
            Y(i, j) = T(i, j)
        }"""
    )
    after = join_loops(found, rows(loop("S0"), loop("S1"), loop("S2")))
    assert loops_below(after) == [("S0",), ("S1",), ("S2",)]


def test_sequential_loops_are_not_joined() -> None:
    _, found = model(
        """def f(float(N, M) X) -> (s, t) {
            s(i) +=! X(i, j)
            t(i) +=! s(i) * X(i, j)
        }"""
    )
    names = [s.name for s in found.scop.statements]
    steps = {n: Band((Member({n: COLUMN}, False),), True, Leaf()) for n in names}
    before = rows(*(Filter((n,), Leaf() if n.endswith("init") else steps[n]) for n in names))
    assert join_loops(found, before) == before
