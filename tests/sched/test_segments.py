"""Which statements could be fused at all."""

from __future__ import annotations

from tcc.sched import tree
from tcc.sched.fusion import Fusion
from tcc.sched.segments import fusion_segments
from tests.sched.programs import PROGRAMS, model


def segments(text: str, fusion: Fusion) -> list[str]:
    scop, found = model(text)
    clusters = [p.statements for p in tree.source_statements(scop)]
    return [" ".join(c[-1] for c in s) for s in fusion_segments(scop, found, clusters, fusion)]


def test_equal_indices_count() -> None:
    text = PROGRAMS["softmax"]
    assert segments(text, Fusion.MAX) == ["S0 S1 S2 S3"]
    assert segments(text, Fusion.PRESERVE3COINCIDENT) == ["S0", "S1", "S2", "S3"]


def test_a_permuted_use_is_possible() -> None:
    text = """def f(float(N, M) X) -> (Y) {
        T(i, j) = X(i, j)
        Y(j, i) = T(i, j)
    }"""
    assert segments(text, Fusion.PRESERVE3COINCIDENT) == ["S0 S1"]


def test_a_stencil_has_nothing_in_common_with_its_producer() -> None:
    assert segments(PROGRAMS["stencils"], Fusion.MAX) == ["S0", "S1"]


def test_a_stencil_in_one_dimension_keeps_the_other() -> None:
    text = """def f(float(N, M) X) -> (Y) {
        T(i, j) = X(i, j)
        Y(i, j) = T(i, j) + T(i, j + 1)
    }"""
    assert segments(text, Fusion.MAX) == ["S0 S1"]
    assert segments(text, Fusion.PRESERVE3COINCIDENT) == ["S0", "S1"]


def test_a_gather_has_nothing_in_common_with_its_table() -> None:
    assert segments(PROGRAMS["gather"], Fusion.MAX) == ["S0 S1"]
    assert segments(PROGRAMS["gather"], Fusion.PRESERVE3COINCIDENT) == ["S0", "S1"]


def test_independent_statements_move_along_with_their_use() -> None:
    """S2 has nothing to do with S0 and S1, but S3 needs it and can't join them."""
    text = """def f(float(N, M) X, float(M) b) -> (Y) {
        T(i, j) = X(i, j)
        U(i, j) = 2.0 * T(i, j)
        Y(i, j) = b(j) where i in 0:N
        Y(i, j) += U(i, k) where j in 0:M
    }"""
    assert segments(text, Fusion.PRESERVE3COINCIDENT) == ["S0 S1", "S2 S3"]


def test_statements_without_dependences_may_be_fused() -> None:
    text = """def f(float(N, M) X, float(N) x) -> (Y, y) {
        Y(i, j) = X(i, j)
        y(i) = x(i)
    }"""
    assert segments(text, Fusion.PRESERVE3COINCIDENT) == ["S0 S1"]
