"""Inequalities: solving, eliminating and proving agree with enumeration."""

from __future__ import annotations

import time

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tcc.affine import Affine, const, maximum, minimum, var
from tcc.frontend.prove import decide, is_nonnegative
from tcc.frontend.ranges import Condition, infer
from tcc.frontend.solve import conjuncts, greatest, least, solve
from tcc.frontend.tir import Range, Read
from tcc.scalar import ScalarType
from tcc.source import Source, Span

WIDE = range(-60, 61)
COEFFICIENTS = st.integers(-4, 4)
PLACE = Span(Source("", ""), 0, 0)


@st.composite
def linear(draw: st.DrawFn, names: tuple[str, ...]) -> Affine:
    total = const(draw(st.integers(-6, 6)))
    for name in names:
        total = total + var(name) * draw(COEFFICIENTS)
    return total


@st.composite
def quasi_affine(draw: st.DrawFn, names: tuple[str, ...]) -> Affine:
    """Sums of linear forms, floors, remainders and extrema."""
    total = draw(linear(names))
    for _ in range(draw(st.integers(0, 2))):
        inner = draw(linear(names))
        match draw(st.sampled_from(("floor", "modulo", "min", "max"))):
            case "floor":
                part = inner // draw(st.integers(2, 4))
            case "modulo":
                part = inner % draw(st.integers(2, 4))
            case "min":
                part = minimum(inner, draw(linear(names)))
            case _:
                part = maximum(inner, draw(linear(names)))
        total = total + part * draw(st.sampled_from((-2, -1, 1, 2)))
    return total


@given(quasi_affine(("i",)))
def test_solve_is_exact_or_silent(condition):
    interval = solve(condition, "i")
    if not (interval.lows or interval.highs):
        return
    for value in WIDE:
        inside = all(value >= low.value for low in interval.lows)
        inside = inside and all(value < high.value for high in interval.highs)
        assert inside == (condition.evaluate({"i": value}) >= 0)


@given(quasi_affine(("i", "N")), st.integers(1, 9))
def test_conjuncts_mean_the_same(condition, size):
    parts = conjuncts(condition, frozenset({"N"}))
    for value in WIDE:
        point = {"i": value, "N": size}
        assert all(p.evaluate(point) >= 0 for p in parts) == (condition.evaluate(point) >= 0)


@given(quasi_affine(("i", "N")), st.integers(-9, 9), st.integers(1, 9), st.integers(1, 9))
def test_extremes_bound_and_are_attained_where_they_say(expression, low, extent, size):
    range_ = Range(const(low), const(low + extent))
    values = [expression.evaluate({"i": v, "N": size}) for v in range(low, low + extent)]
    bottom, attained = least(expression, "i", range_)
    assert bottom.evaluate({"N": size}) <= min(values)
    assert not attained or bottom.evaluate({"N": size}) == min(values)
    top, attained = greatest(expression, "i", range_)
    assert top.evaluate({"N": size}) >= max(values)
    assert not attained or top.evaluate({"N": size}) == max(values)


@given(quasi_affine(("N", "M")))
@settings(max_examples=300)
def test_what_is_proved_holds(expression):
    verdict = decide(expression, {})
    if verdict is None:
        return
    for n in (1, 2, 3, 7, 20):
        for m in (1, 2, 5, 30):
            assert (expression.evaluate({"N": n, "M": m}) >= 0) == verdict


@given(quasi_affine(("N", "M")), st.integers(1, 30), st.integers(1, 30))
def test_known_sizes_decide(expression, n, m):
    assert decide(expression, {"N": n, "M": m}) == (expression.evaluate({"N": n, "M": m}) >= 0)


N, M = var("N"), var("M")
PROVABLE = [
    N - 1,
    N + M - 2,
    N * M - 1,
    N - minimum(N, M),
    maximum(N, M) - M,
    minimum(N, M) - 1,
    N - (N // 2) * 2,
    (N + 1) // 2 - 1,
    N - N // 2,
    N - minimum(N, M) // 2,
    (N % 3) * -1 + 2,
    maximum(N - 5, 0),
]


def test_provable_forms():
    for form in PROVABLE:
        assert is_nonnegative(form), str(form)
        assert decide(-form - 1, {}) is False, str(form)


def test_open_forms_follow_from_assumptions():
    assert decide(N - M, {}) is None
    assert decide(N - M + 2, {}, [N - M]) is True
    assert decide(N - M - 2, {}, [N - M]) is None


@st.composite
def accesses(draw: st.DrawFn) -> tuple[list[Affine], list[int]]:
    """Subscripts over i, j, k, and the extent of the dimension each one must stay in."""
    alone = [var(n) * draw(st.sampled_from((-2, -1, 1, 3))) for n in ("i", "j")]
    subscripts = [*alone, *(draw(linear(("i", "j", "k"))) for _ in range(draw(st.integers(1, 3))))]
    return subscripts, [draw(st.integers(1, 12)) for _ in subscripts]


@given(accesses())
def test_an_inferred_box_is_safe_where_nothing_is_left_open(drawn):
    subscripts, extents = drawn
    read = Read("X", (), ScalarType.FLOAT32, PLACE)
    conditions = [
        Condition(side, read, d, False, is_checked=True)
        for d, (subscript, extent) in enumerate(zip(subscripts, extents, strict=True))
        for side in (subscript, extent - 1 - subscript)
    ]
    names = sorted(frozenset().union(*(s.variables for s in subscripts)))
    found = infer(names, {}, conditions)
    assume(not found.unsolved)
    if any(not decide(c.expression, {}) for c in found.open):
        return
    ranges = [(n, found.ranges[n].low.value, found.ranges[n].high.value) for n in names]
    for corner in range(1 << len(names)):
        point = {n: high - 1 if corner >> b & 1 else low for b, (n, low, high) in enumerate(ranges)}
        if all(low < high for _, low, high in ranges):
            for subscript, extent in zip(subscripts, extents, strict=True):
                assert 0 <= subscript.evaluate(point) < extent


def test_proofs_end_soon():
    sizes = [var(f"N{k}") for k in range(40)]
    form = const(-1)
    for k in range(6):
        form = form + minimum(*(s + k for s in sizes)) - maximum(*(s - k for s in sizes))
    start = time.process_time()
    assert not is_nonnegative(form)
    assert time.process_time() - start < 2
