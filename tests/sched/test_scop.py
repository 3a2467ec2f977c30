"""Domains and access relations."""

from __future__ import annotations

import islpy as isl

from tcc.affine import var
from tcc.sched.scop import Part, build_scop, text
from tests.sched.programs import GEMM, PROGRAMS, elaborated, model


def test_an_initialisation_is_a_statement_of_its_own() -> None:
    scop, _ = model(GEMM)
    init, update = scop.statements
    assert (init.name, init.part, init.iterators) == ("S0_init", Part.INIT, ("i", "j"))
    assert (update.name, update.part, update.iterators) == ("S0", Part.UPDATE, ("i", "j", "k"))
    assert init.reads == ()
    assert [r.tensor for r in update.reads] == ["C", "A", "B"]
    assert [r.accumulates for r in update.reads] == [True, False, False]
    header = "[M, K, N] -> "
    box = "0 <= i < M and 0 <= j < N and 0 <= k < K"
    assert update.domain.is_equal(isl.Set(f"{header}{{ S0[i, j, k] : {box} }}"))
    assert update.reads[1].relation.is_equal(
        isl.Map(f"{header}{{ S0[i, j, k] -> A[i, k] : {box} }}")
    )
    assert update.is_reduction
    assert not init.is_reduction


def test_an_initialised_update_without_reduction_is_an_assignment() -> None:
    """So it reads the old value of its target, as all of the right side, before it writes."""
    scop, _ = model(
        """def f(float(N) X) -> (Y) {
            Y(i) = X(i)
            Y(i) +=! 2.0 * Y(i)
        }"""
    )
    assert [s.part for s in scop.statements] == [Part.ASSIGN, Part.ASSIGN]


def test_an_update_in_place_reads_its_target_once() -> None:
    scop, _ = model("def f(float a, float(N) X) -> (Y) { Y(n) += a * X(n) }")
    (update,) = scop.statements
    assert update.part is Part.UPDATE
    assert [(r.tensor, r.accumulates) for r in update.reads] == [
        ("Y", True),
        ("a", False),
        ("X", False),
    ]


def test_a_gather_reaches_the_whole_dimension() -> None:
    scop, _ = model("def f(float(V, D) E, int32(K) P) -> (O) { O(k, d) = E(P(k), d) }")
    table, pick = scop.statements[0].reads
    assert (table.tensor, table.exact, table.subscripts) == ("E", False, (None, var("d")))
    assert (pick.tensor, pick.exact) == ("P", True)
    expected = "{ S0[k, d] -> E[v, d] : 0 <= v < V and 0 <= k < K and 0 <= d < D }"
    assert table.relation.is_equal(isl.Map(f"[V, D, K] -> {expected}"))


def test_floors_moduli_and_extremes_are_affine() -> None:
    scop, _ = model(
        """def f(float(N) X, float(M) W) -> (Y) {
            Y(i) = X(i / 2) * W(i % 3) + X(min(i, N - 1)) where i in 0:2 * N
        }"""
    )
    first, second, third = scop.statements[0].reads
    assert all(r.exact for r in (first, second, third))
    at = {"N": 4, "M": 3}
    five = scop.statements[0].space.set(["i = 5"])
    for read, element in ((first, 2), (second, 2), (third, 3)):
        image = read.relation.intersect_domain(five).range()
        found = image.intersect_params(scop.parameters.fixed(at)).lexmin().sample_point()
        assert found.get_coordinate_val(isl.dim_type.set, 0).to_python() == element


def test_triangular_ranges() -> None:
    scop, _ = model(PROGRAMS["triangle"])
    domain = isl.Set("[N] -> { S0[i, r] : 0 <= i < N and 0 <= r < i }")
    assert scop.by_name["S0"].domain.is_equal(domain)


def test_an_origin_shifts_nothing() -> None:
    """Subscripts stay logical where a tensor's first index is not 0."""
    scop, _ = model(
        """def f(float(N) X) -> (Y) {
            T(i) = X(i) where i in 2:N
            Y(i) = T(i + 2)
        }"""
    )
    assert scop.tensor_box("T").is_equal(isl.Set("[N] -> { T[i] : 2 <= i < N }"))
    assert (
        scop.by_name["S0"]
        .write.relation.range()
        .is_equal(scop.tensor_box("T").intersect(scop.by_name["S0"].write.relation.range()))
    )


def test_products_of_sizes_are_opaque() -> None:
    program = elaborated(
        """def f(float(N, M) X, float(L) V) -> (Y) {
            Y(i) = V(i) where i in 0:N * M
        }"""
    )
    scop = build_scop(program)
    (product,) = scop.parameters.products
    assert [v.name for v in product.factors if hasattr(v, "name")] == ["M", "N"]
    name = list(scop.parameters.values)[-1]
    assert scop.statements[0].domain.is_equal(
        isl.Set(f"[N, M, L, {name}] -> {{ S0[i] : 0 <= i < {name} }}")
    )


def test_names_that_isl_claims() -> None:
    scop, found = model(
        """def f(float(mod, or) and, float(or) not) -> (NaN) {
            NaN(exists_) +=! and(exists_, implies) * not(implies)
        }"""
    )
    assert scop.parameters.sizes == ("mod", "or")
    assert len(found.all) == 5


def test_text_names_every_access() -> None:
    scop, _ = model(PROGRAMS["gather"])
    lines = text(scop).splitlines()
    assert lines[0].startswith("context ")
    assert [line for line in lines if not line.startswith("  ")][1:] == [
        "S0 assign: T(v, d) = table(v, d) * scale(d)",
        "S1 assign: out(k, d) = pick(k) > 0 ? T(pick(k), d) : T(0, d)",
    ]
    assert sum(line.startswith("  read") for line in lines) == 6
    assert sum(line.endswith("(contains)") for line in lines) == 1
