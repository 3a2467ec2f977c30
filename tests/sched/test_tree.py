"""Plain schedule trees."""

from __future__ import annotations

from tcc.affine import const, var
from tcc.sched import tree
from tcc.sched.scop import build_scop
from tcc.sched.tree import Band, Filter, Leaf, Member, Sequence
from tests.sched.programs import GEMM, MATMUL_BIAS_RELU, elaborated


def members(*values: str, statement: str = "S0", coincident: bool = True) -> tuple[Member, ...]:
    return tuple(Member({statement: var(v)}, coincident) for v in values)


def test_program_order_joins_an_initialisation_with_its_update() -> None:
    node = tree.program_order(build_scop(elaborated(GEMM)))
    assert tree.text(node) == (
        "band permutable\n"
        "  coincident S0_init: i, S0: i\n"
        "  coincident S0_init: j, S0: j\n"
        "  sequence\n"
        "    filter S0_init\n"
        "      leaf\n"
        "    filter S0\n"
        "      band permutable\n"
        "        sequential S0: k\n"
        "        leaf\n"
    )


def test_times_are_of_one_length() -> None:
    scop = build_scop(elaborated(MATMUL_BIAS_RELU))
    node = tree.program_order(scop)
    i, j, k = var("i"), var("j"), var("k")
    assert tree.times(node, [s.name for s in scop.statements]) == {
        "S0_init": (const(0), i, j, const(0), const(0)),
        "S0": (const(0), i, j, const(1), k),
        "S1": (const(1), i, j, const(0), const(0)),
    }


def test_own_loops_leave_out_what_is_done() -> None:
    update = build_scop(elaborated(GEMM)).by_name["S0"]
    reduction = Band(members("k", coincident=False), True, Leaf())
    assert tree.own_loops(update) == Band(members("i", "j"), True, reduction)
    assert tree.own_loops(update, {"i", "k"}) == Band(members("j"), True, Leaf())
    assert tree.own_loops(update, {"i", "j", "k"}) == Leaf()


def test_scalars_have_no_loops() -> None:
    scop = build_scop(elaborated("def f(float a) -> (b) { b = 2.0 * a }"))
    assert tree.program_order(scop) == Leaf()


def test_sequences_are_flat() -> None:
    inner = Sequence((Filter(("A",), Leaf()), Filter(("B",), Leaf())))
    outer = tree.in_sequence([Filter(("A", "B"), inner), Filter(("C",), Leaf())])
    assert isinstance(outer, Sequence)
    assert [f.statements for f in outer.children] == [("A",), ("B",), ("C",)]
    assert tree.in_sequence([Filter(("A",), Leaf())]) == Leaf()


def test_leading_coincident_members_count() -> None:
    mixed = (*members("i"), *members("k", coincident=False), *members("j"))
    assert Band(mixed, True, Leaf()).coincident_count == 1
    assert Band(members("i", "j"), True, Leaf()).coincident_count == 2
