"""The oracle: what each construct of the typed IR means, and what has no meaning."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tcc.api import request_of
from tcc.diagnostics import Report
from tcc.driver import compile_program
from tcc.frontend import tir
from tcc.frontend.elaborate import elaborate
from tcc.frontend.parser import parse
from tcc.inputs import options_of_data
from tcc.run.host import HostDevice
from tcc.run.numbers import Numbers, storage_dtype
from tcc.run.reference import OracleError, interpret
from tcc.scalar import ScalarType
from tcc.source import Source
from tests import definition


def program(text: str, **sizes: int) -> tir.Program:
    report = Report()
    result = elaborate(parse(Source("test.tc", text), report), None, sizes, report)
    assert report.errors == ()
    assert result is not None
    return result


def run(text: str, arrays: dict[str, object], precision: str = "native", **sizes: int):
    analysed = program(text, **sizes)
    data = {n: np.asarray(a) for n, a in arrays.items()}
    return interpret(analysed, data, sizes, precision)


def f32(*values: float) -> np.ndarray:
    return np.asarray(values, np.float32)


def i32(*values: int) -> np.ndarray:
    return np.asarray(values, np.int32)


def test_statements_read_what_was_there_before() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = A(i) B(i) = B(0) + A(i) where i in 1:N }"
    assert run(text, {"A": f32(1, 2, 3)}, N=3)["B"].tolist() == [1, 3, 4]


def test_inputs_are_not_changed() -> None:
    start = f32(1, 2)
    out = run("def f(float(N) A) -> (B) { B(i) += A(i) }", {"A": f32(3, 4), "B": start}, N=2)
    assert out["B"].tolist() == [4, 6]
    assert start.tolist() == [1, 2]


def test_sums_go_in_loop_order_in_float32() -> None:
    data = f32(2.0**24, 1, 1, -(2.0**24))
    text = "def f(float(N) A) -> (S) { S +=! A(i) }"
    assert run(text, {"A": data}, N=4)["S"] == 0
    assert run(text, {"A": data}, precision="exact", N=4)["S"] == 2


def test_blocks_do_not_change_a_sum() -> None:
    data = np.random.default_rng(0).standard_normal((37, 29)).astype(np.float32)
    analysed = program("def f(float(N, M) A) -> (S) { S(j) +=! A(i, j) }", N=37, M=29)
    results = [
        interpret(analysed, {"A": data}, {"N": 37, "M": 29}, block_points=n)["S"].tobytes()
        for n in (1, 7, 100, 1 << 20)
    ]
    assert len(set(results)) == 1


def test_half_sums_round_once() -> None:
    text = "def f(float16(N) A, bfloat16(N) B) -> (S, P) { S +=! A(i) P +=! B(i) }"
    half = np.asarray([2048, 1, 1, 1], np.float16)
    brain = np.asarray([256, 1, 1, 1], ml_dtypes.bfloat16)
    out = run(text, {"A": half, "B": brain}, N=4)
    assert (out["S"], out["S"].dtype) == (2052, np.float16)
    assert (out["P"], out["P"].dtype) == (260, ml_dtypes.bfloat16)


def test_declared_double_accumulates_in_double() -> None:
    text = "def f(float(N) A) -> (float64 S) { S +=! A(i) }"
    assert run(text, {"A": f32(2.0**24, 1, 1)}, N=3)["S"] == 2.0**24 + 2


def test_integers_wrap_in_their_width() -> None:
    text = "def f(uint8(N) A, int32(N) B) -> (C, D) { C(i) = A(i) + A(i) D(i) = B(i) * B(i) }"
    out = run(text, {"A": np.asarray([200], np.uint8), "B": i32(65537)}, N=1)
    assert out["C"].tolist() == [144]
    assert out["D"].tolist() == [131073]


def test_division_and_modulus_floor() -> None:
    text = "def f(int32(N) A) -> (Q, R) { Q(i) = A(i) / 3 R(i) = A(i) % 3 }"
    out = run(text, {"A": i32(-4, -3, -1, 0, 4)}, N=5)
    assert out["Q"].tolist() == [-2, -1, -1, 0, 1]
    assert out["R"].tolist() == [2, 0, 2, 0, 1]


def test_division_by_a_zero_in_the_data() -> None:
    text = "def f(int32(N) A) -> (Q) { Q(i) = 7 / A(i) }"
    with pytest.raises(OracleError, match=r"division by zero in .* at i = 1"):
        run(text, {"A": i32(1, 0)}, N=2)


def test_the_branch_not_taken_reads_nothing() -> None:
    text = """def f(int32(N) I, float(M) A) -> (B, C) {
        B(i) = I(i) >= 0 && I(i) < M ? A(I(i)) : 0.0
        C(i) = I(i) != 0 && 6 / I(i) > 2 || I(i) == 0
    }"""
    out = run(text, {"I": i32(-1, 0, 1, 5), "A": f32(3, 4)}, N=4, M=2)
    assert out["B"].tolist() == [0, 3, 4, 0]
    assert out["C"].tolist() == [False, True, True, False]


def test_a_gather_outside_names_place_and_element() -> None:
    text = "def f(int32(N) I, float(M, K) A) -> (B) { B(i, k) = A(I(i), k) }"
    with pytest.raises(OracleError, match=r"`A` has no element \(7, 0\).* at i = 1, k = 0"):
        run(text, {"I": i32(1, 7), "A": np.zeros((2, 3), np.float32)}, N=2, M=2, K=3)


def test_origins() -> None:
    text = "def f(float(N) A) -> (B, C) { B(i) = A(i - 2) C(i) = B(i + 2) * 2.0 }"
    out = run(text, {"A": f32(1, 2, 3)}, N=3)
    assert (out["B"].tolist(), out["C"].tolist()) == ([1, 2, 3], [2, 4, 6])


def test_triangular_ranges() -> None:
    text = (
        "def f(float(N) A) -> (B, C) {"
        + """
        B(i) +=! A(j) where i in 0:N, j in 0:i + 1
        C max=! A(i) * A(j) where j in i + 1:N
    }"""
    )
    out = run(text, {"A": f32(1, -2, 3, 5)}, N=4)
    assert out["B"].tolist() == [1, -1, 2, 7]
    assert out["C"] == 15


def test_an_empty_reduction_leaves_the_identity() -> None:
    text = """def f(float(N) A, int32(N) I) -> (S, P, L, H) {
        S(i) +=! A(j) where i in 0:2, j in 0:i
        P(i) *=! A(j) where i in 0:2, j in 0:i
        L(i) min=! A(j) where i in 0:2, j in 0:i
        H(i) max=! I(j) where i in 0:2, j in 0:i
    }"""
    out = run(text, {"A": f32(7), "I": i32(7)}, N=1)
    assert [out[n][0].item() for n in "SPLH"] == [0, 1, np.inf, -(2**31)]


def test_reinitialisation_covers_the_left_hand_box() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = A(i) B(i) +=! A(j) where i in 0:2, j in 0:N }"
    assert run(text, {"A": f32(1, 2, 3)}, N=3)["B"].tolist() == [6, 6, 3]


def test_bool_reductions() -> None:
    text = "def f(bool(N) A) -> (E, S) { E min=! A(i) S max=! A(i) }"
    out = run(text, {"A": np.asarray([True, False])}, N=2)
    assert (out["E"].item(), out["S"].item()) == (False, True)


@pytest.mark.parametrize("operator", ["min", "max"])
@pytest.mark.parametrize("kind", ["float", "double", "half"])
def test_points_outside_of_a_triangle_change_no_nan(kind: str, operator: str) -> None:
    """The box around the ranges has points that do not exist: no value there takes part."""
    text = f"def f({kind}(N) A) -> (B) {{ B(i) {operator}= A(j) where i in 0:N, j in i:N }}"
    dtype = storage_dtype(program(text, N=3).tensors["A"].type)
    arrays = {"A": np.asarray([1, 2, np.nan], dtype), "B": np.asarray([np.nan] * 3, dtype)}
    out = run(text, arrays, N=3)["B"].astype(np.float64)
    np.testing.assert_array_equal(out, [1 if operator == "min" else 2, 2, np.nan])
    want = definition.run(program(text, N=3), arrays, {"N": 3})["B"].astype(np.float64)
    np.testing.assert_array_equal(out, want)


def test_min_and_max_drop_a_nan() -> None:
    text = "def f(float(N) A) -> (L, H) { L min=! A(i) H = max(A(0), A(1)) }"
    out = run(text, {"A": f32(np.nan, 2)}, N=2)
    assert (out["L"], out["H"]) == (2, 2)


def test_casts_of_floats_to_integers_saturate() -> None:
    text = "def f(float(N) A) -> (B, C) { B(i) = int8(A(i)) C(i) = uint64(A(i)) }"
    out = run(text, {"A": f32(-1.9, 300, -300, np.inf, 1e30)}, N=5)
    assert out["B"].tolist() == [-1, 127, -128, 127, 127]
    assert out["C"].tolist() == [0, 300, 0, 2**64 - 1, 2**64 - 1]


INTEGERS = [t for t in ScalarType if t.is_integer]


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_casts_of_nan_are_those_of_kernels(source: str) -> None:
    """The language leaves them open; what is emitted is compared with this interpreter."""
    names = [f"T{k}" for k in range(len(INTEGERS))]
    lines = "".join(f" {n}(i) = {t.value}(A(i))" for n, t in zip(names, INTEGERS, strict=True))
    text = f"def f({source}(N) A) -> ({', '.join(names)}) {{{lines} }}"
    array = np.asarray([1.5, np.nan, np.inf, -np.inf]).astype(storage_dtype(ScalarType(source)))
    want = run(text, {"A": array}, N=4)
    asked = request_of(Source("f.tc", text), None, {"N": 4}, options_of_data("<options>", {}), None)
    kernel = compile_program(asked).reference
    assert kernel is not None
    got = HostDevice().run(kernel, {"A": array}, {})
    for name in names:
        assert got[name].tolist() == want[name].tolist()


def test_literals_round_once() -> None:
    between = 1 + Fraction(1, 2**24) + Fraction(1, 2**60)  # in double this is a tie in float32
    rounded = Numbers(exact=False).literal(between, ScalarType.FLOAT32)
    assert rounded == np.float32(1 + 2.0**-23)


def test_missing_and_wrong_arrays() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = A(i) }"
    with pytest.raises(OracleError, match="no array for `A`"):
        run(text, {}, N=2)
    with pytest.raises(OracleError, match=r"`A` has shape \(3,\), expected \(2,\)"):
        run(text, {"A": f32(1, 2, 3)}, N=2)
    analysed = program(text)
    with pytest.raises(OracleError, match="no value for size `N`"):
        interpret(analysed, {"A": f32(1)}, {})


def test_the_definition_on_a_program_with_everything() -> None:
    text = """def f(float16(N, M) A, int32(N) I, uint8(M) U, bool(M) F) -> (B, C, D) {
        T(i, k) = F(k) ? A(i, k) * 2.0 : float(U(k)) - I(i)
        B(k) +=! T(I(r), k) * T(r, k)
        C(k) max=! A(j, k) where j in 0:N, k in 2:M
        D(i) *=! T(i, k % 2) + 1 where k in 0:i + 1
        D(i) = -D(i) / 4 + abs(I(i) - 2) + (I(i) - 2) % 2
    }"""
    rng = np.random.default_rng(3)
    sizes = {"N": 5, "M": 7}
    data = {
        "A": rng.integers(-3, 4, (5, 7)).astype(np.float16),
        "I": rng.integers(0, 5, 5).astype(np.int32),
        "U": rng.integers(0, 9, 7).astype(np.uint8),
        "F": rng.integers(0, 2, 7).astype(np.bool_),
    }
    analysed = program(text, **sizes)
    want = definition.run(analysed, data, sizes)
    got = interpret(analysed, data, sizes)
    for name, values in want.items():
        np.testing.assert_array_equal(got[name], values)
