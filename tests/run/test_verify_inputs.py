"""Random inputs, and the interval analysis that keeps subscripts read from data in range."""

from __future__ import annotations

import numpy as np
import pytest

from tcc.api import request_of
from tcc.driver import compile_program
from tcc.frontend import tir
from tcc.inputs import options_of_data
from tcc.run.reference import interpret
from tcc.run.verify_inputs import Domain, Style, draw, find_domain, free_floats
from tcc.run.verify_ranges import is_harmless, steering_inputs
from tcc.source import Source


def program(text: str, **sizes: int) -> tir.Program:
    options = options_of_data("<options>", {})
    asked = request_of(Source("f.tc", text), None, sizes, options, None)
    found = compile_program(asked, stop_after="elaborate").program
    assert found is not None
    return found


def domain(text: str, given: dict | None = None, **sizes: int) -> Domain:
    return find_domain(program(text), sizes, given or {})


GATHERS = [
    # the program; its sizes; lowest and highest value of the index tensor I
    ("def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(I(b), d) }", (0, 9)),
    ("def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(I(b) + 1, d) }", (-1, 8)),
    ("def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(2 * I(b) + b, d) }", (0, 3)),
    ("def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(E - 1 - I(b), d) }", (0, 9)),
    ("def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(I(b) / 2, d) }", (0, 10)),
    ("def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(I(b) % E, d) }", (-10, 10)),
    ("def f(float(E, D) T, uint8(B) I) -> (O) { O(b, d) = T(int32(I(b)), d) }", (0, 9)),
    ("def f(float(E, D) T, float(B) I) -> (O) { O(b, d) = T(int32(I(b)), d) }", (0, 9)),
    ("def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(min(I(b), 5), d) }", (0, 10)),
    ("def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(b == 0 ? 0 : I(b), d) }", (0, 9)),
    ("def f(float(E) T, int32(B) I) -> (J, O) { J(b) = I(b) + 2\n O(b) = T(J(b)) }", (-2, 7)),
    ("def f(float(E) T, int32(B) I) -> (O) { O(b) = T(T(I(b)) > 0.0 ? 1 : 0) }", (0, 9)),
    ("def f(int32(E) T, int32(B) I) -> (O) { O(b) = T(I(b)) / I(b) }", (1, 9)),
]


@pytest.mark.parametrize(("text", "limits"), GATHERS)
def test_values_of_index_tensors(text: str, limits: tuple[int, int]) -> None:
    sizes = {"E": 10, "D": 2, "B": 4}
    found = domain(text, **sizes)
    assert found.harmless
    assert found.limits["I"] == limits


@pytest.mark.parametrize("text", [text for text, _ in GATHERS])
def test_the_oracle_finds_no_access_out_of_range(text: str) -> None:
    for sizes in ({"E": 10, "D": 2, "B": 4}, {"E": 9, "D": 1, "B": 3}):
        found = domain(text, **sizes)
        for seed in range(3):
            interpret(found.program, draw(found, Style.NORMAL, seed), sizes)


def test_several_index_tensors_in_one_subscript() -> None:
    text = "def f(float(E) T, int32(B) I, int32(B) J) -> (O) { O(b) = T(I(b) + J(b)) }"
    found = domain(text, E=10, B=4)
    assert found.harmless
    high = found.limits["I"][1] + found.limits["J"][1]
    low = found.limits["I"][0] + found.limits["J"][0]
    assert (low, high) == (0, 9)


def test_given_ranges_are_narrowed_to_the_tensor() -> None:
    text = "def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(I(b), d) }"
    assert domain(text, {"I": (0, 99)}, E=7, D=2, B=3).limits["I"] == (0, 6)
    assert domain(text, {"I": (2, 4)}, E=7, D=2, B=3).limits["I"] == (2, 4)
    beyond = domain(text, {"I": (8, 9)}, E=7, D=2, B=3)
    assert not beyond.harmless
    assert beyond.limits["I"] == (8, 9)


def test_no_value_is_harmless() -> None:
    text = "def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(I(b) * I(b) + 1, d) }"
    assert not domain(text, E=1, D=1, B=1).harmless
    assert domain(text, E=2, D=1, B=1).harmless


def test_divisors_are_not_zero() -> None:
    found = domain("def f(int32(N) A, int32(N) B) -> (C) { C(i) = A(i) % B(i) }", N=100)
    assert found.limits["B"][0] == 1
    assert draw(found, Style.NORMAL, 0)["B"].min() >= 1


def test_only_data_that_reaches_a_subscript_is_steered() -> None:
    text = """def f(float(E) T, int32(B) I, int32(B) K, float(B) X) -> (J, O) {
        J(b) = I(b) * 2
        O(b) = T(J(b)) + float(K(b)) + X(b)
    }"""
    assert steering_inputs(program(text)) == ("I",)
    found = domain(text, E=9, B=1000)
    assert found.limits["K"] == (-8, 8)
    assert "X" not in found.limits


def test_sums_and_extrema_of_indices() -> None:
    text = """def f(float(E) T, int32(B, K) I) -> (P, O) {
        P(b) max=! I(b, k)
        O(b) = T(P(b))
    }"""
    assert domain(text, E=9, B=2, K=3).limits["I"] == (0, 8)
    counted = text.replace("max=!", "+=!")
    assert domain(counted, E=9, B=2, K=3).limits["I"] == (0, 2)


def test_overflow_is_any_value() -> None:
    text = "def f(float(E) T, uint8(B) I) -> (O) { O(b) = T(int32(I(b) * I(b))) }"
    wide = program(text)
    assert is_harmless(wide, {"E": 256, "B": 1}, {"I": (0, 15)})
    assert is_harmless(wide, {"E": 256, "B": 1}, {"I": (0, 16)})
    assert is_harmless(wide, {"E": 226, "B": 1}, {"I": (0, 15)})
    assert not is_harmless(wide, {"E": 226, "B": 1}, {"I": (0, 16)})


def test_types_shapes_and_styles() -> None:
    text = """def f(float16(N) A, double B, bool(N) C, uint8(N) D, int64(N) E) -> (float(N) O) {
        O(i) = (C(i) ? float(A(i)) : 0.0) + float(B) + float(D(i)) + float(E(i))
    }"""
    found = domain(text, N=500)
    arrays = draw(found, Style.NORMAL, 0)
    dtypes = {n: a.dtype.name for n, a in arrays.items()}
    assert dtypes == {"A": "float16", "B": "float64", "C": "bool", "D": "uint8", "E": "int64"}
    assert arrays["B"].shape == ()
    assert arrays["C"].any()
    assert not arrays["C"].all()
    assert arrays["A"].min() < 0 < arrays["A"].max()
    assert (arrays["E"].min(), arrays["E"].max()) == (-8, 8)
    assert 0.05 <= draw(found, Style.UNIT, 0)["B"] <= 0.95
    assert 1 <= draw(found, Style.ABOVE_ONE, 0)["B"] <= 2


def test_given_ranges_of_floats() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = A(i) }"
    values = draw(domain(text, {"A": (0.25, 0.5)}, N=100), Style.NORMAL, 0)["A"]
    assert 0.25 <= values.min() < values.max() <= 0.5
    constant = draw(domain(text, {"A": (0.001, 0.001)}, N=3), Style.NORMAL, 0)["A"]
    np.testing.assert_array_equal(constant, np.full(3, 0.001, np.float32))


def test_a_seed_repeats_the_draw() -> None:
    found = domain("def f(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }", N=20)
    one, two = draw(found, Style.NORMAL, 5), draw(found, Style.NORMAL, 5)
    assert all((one[n] == two[n]).all() for n in one)
    assert (one["A"] != draw(found, Style.NORMAL, 6)["A"]).any()
    assert (one["A"] != one["B"]).any()


def test_spots_leave_slices_without() -> None:
    text = "def f(float(M, K) A, float(K, N) B, float(K) W) -> (C) { C(m, n) +=! A(m, k) * B(k, n) * W(k) }"
    arrays = draw(domain(text, {}, M=9, K=5, N=7), Style.SPOTTED, 0)
    spots = {name: np.isnan(values) for name, values in arrays.items()}
    assert spots["A"].all(axis=1).sum() == spots["A"].any(axis=1).sum() == 3
    assert spots["B"].all(axis=0).sum() == spots["B"].any(axis=0).sum() == 2
    assert not spots["W"].any()
    limited = draw(domain(text, {"A": (0.0, 1.0)}, M=1, K=5, N=1), Style.SPOTTED, 0)
    assert not any(np.isnan(values).any() for values in limited.values())


def test_wide() -> None:
    found = domain("def f(float(N) A) -> (B) { B(i) = A(i) }", {}, N=1000)
    values = draw(found, Style.WIDE, 0)["A"]
    assert np.median(np.abs(values)) > 50
    assert {np.argmin(values), np.argmax(values)} == {0, 999}
    assert draw(found, Style.NORMAL, 0)["A"][5] * 100 != values[5]


def test_windows_have_one_slice_without_numbers() -> None:
    text = "def f(float(L) A, float(K) W) -> (O) { O(l) +=! A(l + k) * W(k) }"
    values = draw(domain(text, L=40, K=3), Style.SPOTTED, 0)
    assert np.isnan(values["A"]).sum() == 1
    assert not np.isnan(values["W"]).any()


def test_one_input_after_another_is_infinite() -> None:
    text = "def f(float(M, K) A, float(K, N) B, int32(K) I, float(K) W) -> (C) { C(m, n) +=! A(m, k) * B(k, n) * W(k) * I(k) }"
    found = domain(text, {"W": (0.0, 1.0)}, M=2, K=3, N=4)
    assert free_floats(found) == ("A", "B")
    for turn, infinite in enumerate(free_floats(found)):
        arrays = draw(found, Style.INFINITE, 0, turn)
        for name, values in arrays.items():
            assert np.isposinf(values.astype(float)).all() == (name == infinite)
        other = arrays["AB"[1 - turn]]
        assert 0.05 <= other.min() < other.max() <= 0.95
