"""Subscripts that are put together address the same element with fewer divisions."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from tcc.affine import const, var
from tcc.kernel.addresses import merge_rows
from tests.kernel.running import compiled

X = var("x")


def test_digits_of_one_number() -> None:
    shape = (const(5), const(6), const(8))
    assert merge_rows(shape, (X // 48, X // 8 % 6, X % 8)) == ((const(240),), (X,))
    shifted = (X // 48, X // 8 % 6, X % 8 + var("v"))
    assert merge_rows(shape, shifted) == ((const(240),), (X + var("v"),))


def test_what_has_no_division_to_save_stays() -> None:
    shape, index = (const(5), const(8)), (var("i"), var("j"))
    assert merge_rows(shape, index) == (shape, index)
    open_ = (const(5), var("N"))
    assert merge_rows(open_, (X // 8, X % 8)) == (open_, (X // 8, X % 8))


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.lists(st.integers(2, 6), max_size=4))
def test_the_element_is_the_same(shape: list[int], divisors: list[int]) -> None:
    forms = [X, *(X // d for d in divisors), *(X % d for d in divisors), var("y")]
    index = [forms[k % len(forms)] for k in range(len(shape))]
    extents, merged = merge_rows([const(n) for n in shape], index)
    for x, y in product(range(13), range(2)):
        values = {"x": x, "y": y}
        want = got = 0
        for extent, at in zip(shape, index, strict=True):
            want = want * extent + at.evaluate(values)
        for extent, at in zip(extents, merged, strict=True):
            got = got * extent.value + at.evaluate(values)
        assert got == want


def test_rows_over_several_loops_are_read_without_divisions() -> None:
    text = """
    def f(float(N, D, H, W) I) -> (S, O) {
        S(n) +=! I(n, d, h, w)
        O(n, d, h, w) = I(n, d, h, w) - S(n)
    }
    """
    source = compiled(text, {"N": 64, "D": 8, "H": 12, "W": 12}).cuda_source
    reads = [line for line in source.splitlines() if "I[" in line and "float4" in line]
    assert reads
    assert not any("/" in line or "%" in line for line in reads)
