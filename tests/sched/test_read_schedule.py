"""isl's schedules as plain trees."""

from __future__ import annotations

import islpy as isl
import pytest

from tcc.affine import var
from tcc.sched import tree
from tcc.sched.islx import parse_schedule, union_set
from tcc.sched.read_schedule import read_schedule
from tcc.sched.scop import Scop
from tcc.sched.tree import Band, Filter, Leaf, Member
from tests.sched.programs import GEMM, SOFTMAX, model


@pytest.fixture(scope="module")
def gemm() -> Scop:
    return model(GEMM)[0]


def schedule(scop: Scop, below: str) -> isl.Schedule:
    domain = union_set(scop.parameters, (s.domain for s in scop.statements))
    return parse_schedule(f'{{ domain: "{domain}", child: {below} }}')


def test_bands_and_sequences(gemm: Scop) -> None:
    both = "{ S0_init[i, j] -> [(i)]; S0[i, j, k] -> [(N - i + floor((j)/2))] }"
    inner = "{ S0[i, j, k] -> [(k)] }"
    found = read_schedule(
        gemm,
        schedule(
            gemm,
            f"""{{ schedule: "[M, K, N] -> [{both}]", permutable: 1, coincident: [ 1 ], child:
              {{ sequence: [
                {{ filter: "[M, K, N] -> {{ S0_init[i, j] }}" }},
                {{ filter: "[M, K, N] -> {{ S0[i, j, k] }}",
                   child: {{ schedule: "[M, K, N] -> [{inner}]" }} }} ] }} }}""",
        ),
    )
    i, j, k = var("i"), var("j"), var("k")
    assert found.statements == ("S0_init", "S0")
    outer = Member({"S0_init": i, "S0": var("N") - i + j // 2}, True)
    loop = Band((Member({"S0": k}, False),), False, Leaf())
    parts = (Filter(("S0_init",), Leaf()), Filter(("S0",), loop))
    assert found.child == Band((outer,), True, tree.Sequence(parts))


def test_what_isl_leaves_open_is_in_program_order(gemm: Scop) -> None:
    both = "{ S0_init[i, j] -> [(i)]; S0[i, j, k] -> [(i)] }"
    found = read_schedule(gemm, schedule(gemm, f'{{ schedule: "[M, K, N] -> [{both}]" }}'))
    assert isinstance(found.child, Band)
    assert found.child.child == tree.Sequence(
        (Filter(("S0_init",), Leaf()), Filter(("S0",), Leaf()))
    )
    unordered = """{ set: [ { filter: "[M, K, N] -> { S0[i, j, k] }" },
                            { filter: "[M, K, N] -> { S0_init[i, j] }" } ] }"""
    assert read_schedule(gemm, schedule(gemm, unordered)).child == found.child.child


def test_an_empty_band_is_no_band(gemm: Scop) -> None:
    domain = union_set(gemm.parameters, (s.domain for s in gemm.statements))
    nothing = isl.MultiUnionPwAff.zero(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, 0))
    leaf = isl.Schedule.from_domain(domain).get_root().child(0)
    found = read_schedule(gemm, leaf.insert_partial_schedule(nothing).get_schedule())
    assert isinstance(found.child, tree.Sequence)


def test_statements_keep_the_order_of_the_program() -> None:
    scop, _ = model(SOFTMAX)
    domain = union_set(scop.parameters, (s.domain for s in reversed(scop.statements)))
    found = read_schedule(scop, isl.Schedule.from_domain(domain))
    assert found.statements == tuple(s.name for s in scop.statements)
