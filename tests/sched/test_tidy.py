"""isl's trees in the form that mapping expects."""

from __future__ import annotations

from tcc.affine import Affine, const, var
from tcc.sched import tree
from tcc.sched.legality import check_tree
from tcc.sched.loop_form import LoopForm, LoopForms
from tcc.sched.tidy import tidy
from tcc.sched.tree import Band, Filter, Leaf, Member, Sequence
from tests.sched.programs import GEMM, SOFTMAX, model

N = var("N")
ROW, COLUMN, STEP = var("i"), var("j"), var("k")
NOTHING = const(0)


def member(coincident: bool, **values: Affine) -> Member:
    return Member(values, coincident)


def sequence(*statements: str) -> Sequence:
    return Sequence(tuple(Filter((s,), Leaf()) for s in statements))


def test_an_initialisation_leaves_the_loop_of_its_update() -> None:
    scop, found = model(GEMM)
    rows = member(True, S0_init=ROW, S0=ROW)
    columns = member(True, S0_init=COLUMN, S0=COLUMN)
    steps = member(False, S0_init=NOTHING, S0=STEP)
    before = Band((rows, columns, steps), True, sequence("S0_init", "S0"))
    check_tree(found, before)
    assert tidy(found, before) == tree.program_order(scop)


def softmax(order: tuple[str, ...]) -> Band:
    rows = member(True, S0_init=ROW, S0=ROW, S1=ROW, S2_init=ROW, S2=ROW, S3=ROW)
    shifted = member(
        False,
        S0_init=NOTHING,
        S0=COLUMN,
        S1=N + COLUMN,
        S2_init=NOTHING,
        S2=N + COLUMN,
        S3=2 * N + COLUMN,
    )
    return Band((rows, shifted), True, sequence(*order))


def test_phases_become_loops_of_their_own() -> None:
    _, found = model(SOFTMAX)
    before = softmax(("S0_init", "S0", "S2_init", "S1", "S2", "S3"))
    check_tree(found, before)
    after = tidy(found, before)
    check_tree(found, after)
    assert isinstance(after, Band)
    assert isinstance(after.child, Sequence)
    parts = after.child.children
    assert [p.statements for p in parts] == [
        ("S0_init",),
        ("S0",),
        ("S2_init",),
        ("S1", "S2"),
        ("S3",),
    ]
    shared = parts[3].child
    assert isinstance(shared, Band)
    assert shared.members == (Member({"S1": COLUMN, "S2": COLUMN}, False),)
    assert parts[4].child == Band((Member({"S3": COLUMN}, True),), True, Leaf())


def test_parts_come_in_program_order() -> None:
    _, found = model(
        """def f(float(N) X) -> (Y, Z) {
            Y(i) = X(i)
            Z(i) = 2.0 * X(i)
            Y(i) = Y(i) + Z(i)
        }"""
    )
    loop = {s: Band((member(True, **{s: ROW}),), True, Leaf()) for s in ("S0", "S1", "S2")}
    before = Sequence(tuple(Filter((s,), loop[s]) for s in ("S1", "S0", "S2")))
    after = tidy(found, before)
    assert isinstance(after, Sequence)
    assert [p.statements for p in after.children] == [("S0",), ("S1",), ("S2",)]


def test_a_single_statement_gets_the_loops_of_the_source() -> None:
    scop, found = model(GEMM.replace("+=!", "+="))
    before = Band(
        (member(False, S0=3 * STEP - N),),
        False,
        Band((member(True, S0=COLUMN + 1), member(True, S0=-ROW)), True, Leaf()),
    )
    assert tidy(found, before) == tree.program_order(scop)


def test_nested_parallel_bands_become_one() -> None:
    _, found = model(
        """def f(float(N, M) X) -> (Y) {
            T(i, j) = X(i, j)
            Y(i, j) = T(i, j)
        }"""
    )
    inner = Band((member(True, S0=COLUMN, S1=COLUMN),), True, sequence("S0", "S1"))
    after = tidy(found, Band((member(True, S0=ROW, S1=ROW),), True, inner))
    assert isinstance(after, Band)
    assert len(after.members) == 2


def test_a_loop_over_a_mixture_stays_where_that_is_allowed() -> None:
    """Otherwise each statement has its own loops below those over single indices."""
    _, found = model(
        """def f(float(N, M) X) -> (Y) {
            T(i, j) = X(i, j)
            Y(i, j) = T(i, j)
        }"""
    )
    skewed = Band(
        (member(True, S0=ROW + COLUMN, S1=ROW + COLUMN), member(True, S0=COLUMN, S1=COLUMN)),
        True,
        sequence("S0", "S1"),
    )
    assert tidy(found, skewed, LoopForms(LoopForm(skewed=True))) == skewed
    plain = tidy(found, skewed)
    assert isinstance(plain, Band)
    assert plain.members == (member(True, S0=COLUMN, S1=COLUMN),)
    assert plain.child == tree.Sequence(
        (
            Filter(("S0",), Band((member(True, S0=ROW),), True, Leaf())),
            Filter(("S1",), Band((member(True, S1=ROW),), True, Leaf())),
        )
    )
