"""Comparison of outputs: tolerance, NaN, infinities, memory that nobody wrote."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tcc.api import request_of
from tcc.driver import compile_program
from tcc.frontend import tir
from tcc.inputs import options_of_data
from tcc.run.verify_bound import Response, noise_response, relative_bounds
from tcc.run.verify_compare import Comparison, compare, differing, poisoned
from tcc.scalar import ScalarType
from tcc.source import Source

F32 = ScalarType.FLOAT32
NAN, INF = np.nan, np.inf


def floats(got: list[float], want: list[float], relative: float = 0.0, **more) -> Comparison:
    pair = (np.array(x, dtype=np.float32) for x in (got, want))
    return compare("O", F32, *pair, relative=relative, **more)


def test_the_tolerance_is_relative_to_the_largest_magnitude() -> None:
    assert floats([1.0, 100.0, 0.5], [1.5, 100.0, 0.0], 0.005).ok
    found = floats([1.0, 100.0, 0.51], [1.5, 100.0, 0.0], 0.005)
    assert (found.wrong, found.first, found.compared) == (1, (2,), 3)
    assert found.tolerance == pytest.approx(0.5)
    assert found.largest == pytest.approx(0.51)


@pytest.mark.parametrize(
    ("got", "want", "ok"),
    [
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (INF, INF, True),
        (INF, -INF, False),
        (INF, 1.0, False),
        (1.0, INF, False),
        (NAN, INF, False),
        (0.0, -0.0, True),
    ],
)
def test_special_values(got: float, want: float, ok: bool) -> None:
    found = floats([0.0, got], [0.0, want], relative=1e9)
    assert found.ok is ok
    assert found.first == (None if ok else (1,))


def test_memory_that_nobody_wrote_is_wrong_even_where_a_nan_is_right() -> None:
    got = np.full((2, 2), 0xFFFFFFFF, np.uint32).view(np.float32)
    found = compare("O", F32, got, np.full((2, 2), NAN, np.float32))
    assert (found.wrong, found.first, found.got, found.expected) == (
        4,
        (0, 0),
        "never written",
        "nan",
    )


def test_integers_are_exact() -> None:
    for kind in (ScalarType.INT64, ScalarType.UINT64):
        want = np.array([5, 2**62], dtype=kind.value)
        assert compare("O", kind, want.copy(), want, relative=1.0).ok
        found = compare("O", kind, want + np.array([0, 1], want.dtype), want, relative=1.0)
        assert (found.first, found.largest) == ((1,), 1.0)
        assert (found.got, found.expected) == (str(2**62 + 1), str(2**62))
    extremes = np.array([-(2**63), 2**63 - 1], np.int64)
    found = compare("O", ScalarType.INT64, extremes, extremes[::-1].copy())
    assert found.largest == pytest.approx(2.0**64)


def test_bool() -> None:
    want = np.array([True, False, True])
    assert compare("O", ScalarType.BOOL, want.copy(), want).ok
    found = compare("O", ScalarType.BOOL, np.array([1, 1, 255], np.uint8).view(np.bool_), want)
    assert (found.wrong, found.first, found.got, found.expected) == (2, (1,), "true", "false")


def test_half_types_and_scalars() -> None:
    want = np.array(1.5, ml_dtypes.bfloat16)
    found = compare("O", ScalarType.BFLOAT16, np.array(2.5, ml_dtypes.bfloat16), want)
    assert (found.first, found.got, found.expected) == ((), "2.5", "1.5")
    assert compare("O", ScalarType.BFLOAT16, want.copy(), want).ok


def test_only_the_chosen_elements_count() -> None:
    chosen = np.array([True, False])
    assert floats([1.0, 5.0], [1.0, 2.0], chosen=chosen).ok
    assert not floats([1.0, 5.0], [1.0, 2.0], chosen=~chosen).ok
    assert floats([1.0, 5.0], [1.0, 2.0], chosen=np.zeros(2, np.bool_)).compared == 0


def test_the_response_widens_single_elements() -> None:
    response = Response(np.array([0.0, 0.1]), np.array([False, False]))
    assert floats([1.0, 2.05], [1.0, 2.0], response=response).ok
    assert not floats([1.05, 2.0], [1.0, 2.0], response=response).ok
    unsure = Response(np.zeros(2), np.array([False, True]))
    assert floats([1.0, NAN], [1.0, 2.0], response=unsure).ok


def test_poison_and_bits() -> None:
    values = np.array([[-1, 0], [255, -1]], np.int16)
    np.testing.assert_array_equal(poisoned(values), [[True, False], [False, True]])
    np.testing.assert_array_equal(differing(values, values.T), [[False, True], [True, False]])
    assert poisoned(np.array(-1, np.int8))
    assert differing(np.array(0.0, np.float32), np.array(-0.0, np.float32))


def program(text: str) -> tir.Program:
    options = options_of_data("<options>", {})
    asked = request_of(Source("f.tc", text), None, {}, options, None)
    found = compile_program(asked, stop_after="elaborate").program
    assert found is not None
    return found


def test_the_bound_grows_with_the_reductions_of_the_chain() -> None:
    text = """def f(float(N, K) A) -> (T, S, O) {
        T(n) +=! A(n, k)
        S +=! T(n)
        O(n) = T(n) / S
    }"""
    bounds = relative_bounds(program(text), {"N": 10, "K": 100})
    unit = 2.0**-23
    assert bounds["T"] == pytest.approx(100 * unit)
    assert bounds["S"] == pytest.approx(110 * unit)
    assert bounds["O"] == pytest.approx(111 * unit)
    assert bounds["A"] == 0


def test_the_bound_follows_the_types() -> None:
    text = "def f(float16(N) A, double(N) D, int32(N) I) -> (B, E, S) {{ {} }}"
    text = text.format("B(i) = A(i) + A(i)\n E +=! D(i)\n S +=! I(i)")
    bounds = relative_bounds(program(text), {"N": 64})
    assert bounds["B"] == pytest.approx(2.0**-10, rel=0.01)
    assert bounds["E"] == pytest.approx(64 * 2.0**-52)
    assert bounds["S"] == 0


def test_response_to_noise_where_digits_cancel() -> None:
    """The tolerance of the values themselves would be 1e-6; the computation has lost 1e-4."""
    cancelling = program("def f(float(N) A) -> (D) { D(i) = (A(i) + 1000.0) - 1000.0 }")
    arrays = {"A": np.linspace(0.1, 1, 50, dtype=np.float32)}
    bounds = relative_bounds(cancelling, {"N": 50})
    response = noise_response(cancelling, arrays, {"N": 50}, bounds, seed=0)["D"]
    assert 1e-5 < response.spread.min() < response.spread.max() < 1e-2
    assert not response.unsure.any()


def test_response_where_a_rounding_decides() -> None:
    near = program("""def f(float(N) A) -> (int32(N) I, R) {
        I(i) = int32(A(i) * 3.0)
        R(i) = sqrt(A(i) * 3.0 - 1.0)
    }""")
    third = np.array([np.float32(1 / 3), 0.5], np.float32)
    bounds = relative_bounds(near, {"N": 2})
    response = noise_response(near, {"A": third}, {"N": 2}, bounds, seed=0)
    np.testing.assert_array_equal(response["I"].spread, [1, 0])
    np.testing.assert_array_equal(response["R"].unsure, [True, False])


def test_response_where_a_rounding_decides_which_infinity() -> None:
    near = program("def f(float(N) A, float B) -> (O) { O(i) = (A(i) * 3.0 - 1.0) * B }")
    arrays = {"A": np.array([1 / 3, 0.5], np.float32), "B": np.array(np.inf, np.float32)}
    response = noise_response(near, arrays, {"N": 2}, relative_bounds(near, {"N": 2}), seed=0)
    np.testing.assert_array_equal(response["O"].unsure, [True, False])


def test_no_response_without_a_meaning() -> None:
    gather = program("def f(float(E) T, int32(N) I) -> (O) { O(i) = T(I(i)) }")
    arrays = {"T": np.ones(3, np.float32), "I": np.array([7], np.int32)}
    bounds = relative_bounds(gather, {"E": 3, "N": 1})
    assert noise_response(gather, arrays, {"E": 3, "N": 1}, bounds, seed=0) == {}
