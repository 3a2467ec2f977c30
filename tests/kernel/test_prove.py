"""Proofs about affine conditions against enumeration."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from tcc.affine import Affine, const, maximum, minimum, var
from tcc.kernel.prove import Scope, holds, interval, smallest

SIZES = {"N": (1, 6)}
SCOPES = (
    Scope("i", const(0), var("N")),
    Scope("j", var("i"), var("N") + 2),
    Scope("k", const(-2), minimum(var("j") + 1, const(4))),
)


def points() -> list[dict[str, int]]:
    """All values of the scopes' variables, for every size."""
    found = []
    for size in range(1, 7):
        for i, j, k in product(range(size), range(size + 2), range(-2, 4)):
            if i <= j and k < min(j + 1, 4):
                found.append({"N": size, "i": i, "j": j, "k": k})
    return found


POINTS = points()
LEAVES = st.sampled_from([var("i"), var("j"), var("k"), var("N"), const(1), const(-3)])


def grow(inner: st.SearchStrategy[Affine]) -> st.SearchStrategy[Affine]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        st.tuples(inner, st.integers(-3, 3)).map(lambda p: p[0] * p[1]),
        st.tuples(inner, st.integers(2, 4)).map(lambda p: p[0] // p[1]),
        st.tuples(inner, st.integers(2, 4)).map(lambda p: p[0] % p[1]),
        pairs.map(lambda p: minimum(*p)),
        pairs.map(lambda p: maximum(*p)),
    )


FORMS = st.recursive(LEAVES, grow, max_leaves=6)


@settings(max_examples=200, deadline=None)
@given(FORMS)
def test_bounds_are_never_too_tight(form: Affine) -> None:
    values = [form.evaluate(p) for p in POINTS]
    low = smallest(form, SCOPES, SIZES)
    assert low is None or low <= min(values)
    least, largest = interval(form, SCOPES, SIZES)
    assert least is None or least <= min(values)
    assert largest is None or largest >= max(values)
    if holds(form, SCOPES, SIZES):
        assert min(values) >= 0


def test_bounds_that_cancel() -> None:
    """Guards of full tiles go only when symbolic ends meet."""
    i, j, n = var("i"), var("j"), var("N")
    scopes = (Scope("i", const(0), n), Scope("j", i, n))
    sizes = {"N": (1, None)}
    assert holds(n - 1 - i, scopes, sizes)
    assert holds(j - i, scopes, sizes)
    assert holds(n - 1 - j, scopes, sizes)
    assert not holds(n - 2 - j, scopes, sizes)
    assert smallest(n * 2 - i - j - 2, scopes, sizes) == 0


def test_loops_along_a_diagonal() -> None:
    """Either bound of a loop from a maximum to a minimum is one."""
    d, i, n, m = (var(x) for x in ("d", "i", "N", "M"))
    scopes = (
        Scope("d", const(0), n + m - 1),
        Scope("i", maximum(d - m + 1, const(0)), minimum(n, d + 1)),
    )
    sizes = {"N": (1, None), "M": (1, None)}
    for inside in (i, n - 1 - i, d - i, m - 1 - (d - i)):
        assert holds(inside, scopes, sizes)
        assert not holds(inside - 1, scopes, sizes)
    assert not holds(m - 2 - i, scopes, sizes)


def test_sizes_have_their_ranges_and_strangers_none() -> None:
    assert holds(var("N") - 1, (), {"N": (1, None)})
    assert not holds(var("N") - 2, (), {"N": (1, None)})
    assert holds(var("N") * 4 - 4, (), {"N": (1, None)})
    assert not holds(var("x"), (), {"N": (1, None)})


def test_quotients_by_intervals() -> None:
    scopes = (Scope("t", const(0), const(32)),)
    assert smallest(7 - var("t") // 4, scopes, {}) == 0
    assert not holds(6 - var("t") // 4, scopes, {})
