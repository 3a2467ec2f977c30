"""Types: promotion, conversion, literals, and what each operator refuses."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tcc.affine import var
from tcc.frontend import tir
from tcc.frontend.promote import match
from tcc.scalar import ScalarType as T
from tests.frontend.elaborated import attempt, output, places, program, value

ALL = (
    "bool(N) B, uint8(N) U8, uint16(N) U16, uint32(N) U32, uint64(N) U64, int8(N) I8, int16(N) I16,"
    " int32(N) I32, int64(N) I64, half(N) F16, bfloat16(N) BF, float(N) F32, double(N) F64"
)


def inferred(right: str) -> T:
    """The type of an output that is not declared."""
    return output(f"def f({ALL}) -> (Y) {{ Y(i) = {right} where exists F32(i) }}").type


def typed(right: str) -> tir.Expression:
    return value(right, ALL)


PROMOTIONS = {
    "U8(i) + U8(i)": T.UINT8,
    "I8(i) + I8(i)": T.INT8,
    "U8(i) + U16(i)": T.UINT16,
    "U8(i) + I8(i)": T.INT8,
    "U32(i) + I32(i)": T.INT32,
    "U64(i) + I8(i)": T.INT64,
    "U8(i) + 1": T.INT32,
    "I64(i) + 1": T.INT64,
    "I32(i) + i": T.INT32,
    "I64(i) + N": T.INT64,
    "I64(i) + F32(i)": T.FLOAT32,
    "I64(i) + F16(i)": T.FLOAT16,
    "F32(i) + F64(i)": T.FLOAT64,
    "F16(i) + F16(i)": T.FLOAT16,
    "BF(i) * BF(i)": T.BFLOAT16,
    "F16(i) + BF(i)": T.FLOAT32,
    "F16(i) + F32(i)": T.FLOAT32,
    "BF(i) + F64(i)": T.FLOAT64,
    "0.5 * F16(i)": T.FLOAT16,
    "0.5 * F64(i)": T.FLOAT64,
    "0.5 * F32(i)": T.FLOAT32,
    "0.5 * I32(i)": T.FLOAT32,
    "0.5 * I64(i)": T.FLOAT32,
    "F16(i) / N": T.FLOAT16,
    "1.0 / N * F64(i)": T.FLOAT64,
    "1.0 / N * F16(i)": T.FLOAT16,
    "float(1.0) * F16(i)": T.FLOAT32,
    "I32(i) / I32(i)": T.INT32,
    "I32(i) % 3": T.INT32,
    "exp(F16(i))": T.FLOAT32,
    "exp(I8(i))": T.FLOAT32,
    "exp(F64(i))": T.FLOAT64,
    "exp(1.0) * F64(i)": T.FLOAT64,
    "exp(1.0) * F16(i)": T.FLOAT32,
    "pow(F32(i), F64(i))": T.FLOAT64,
    "abs(I32(i))": T.FLOAT32,
    "relu(F16(i))": T.FLOAT32,
    "min(I8(i), I16(i))": T.INT16,
    "max(F32(i), 0)": T.FLOAT32,
    "B(i) ? I8(i) : I64(i)": T.INT64,
    "B(i) ? 1 : F16(i)": T.FLOAT16,
    "B(i) ? B(i) : !B(i)": T.BOOL,
    "F32(i) > 0": T.BOOL,
    "B(i) == B(i)": T.BOOL,
    "B(i) && I32(i) != 0": T.BOOL,
    "-U8(i)": T.UINT8,
    "-F16(i)": T.FLOAT16,
    "i": T.INT32,
    "N": T.INT32,
    "F32.0": T.INT32,
    "1": T.INT32,
    "1.5": T.FLOAT32,
    "uint8(F64(i))": T.UINT8,
    "half(F64(i))": T.FLOAT16,
    "bool(I32(i))": T.BOOL,
    "int(B(i))": T.INT32,
}


@pytest.mark.parametrize("right", PROMOTIONS)
def test_inferred_type(right):
    assert inferred(right) is PROMOTIONS[right]


@pytest.mark.parametrize("a", T)
@pytest.mark.parametrize("b", T)
def test_match_is_symmetric_and_holds_both(a, b):
    met = match(a, b)
    assert met is match(b, a)
    assert (met is None) == ((a is T.BOOL) != (b is T.BOOL))
    if met is not None and a.is_float == b.is_float == met.is_float:
        assert met.bits >= max(a.bits, b.bits)


@pytest.mark.parametrize("right", PROMOTIONS)
def test_operands_have_one_type(right):
    for node in tir.walk(typed(f"{right} where exists F32(i)")):
        match node:
            case tir.Binary(operator, left, right_, type):
                assert left.type is right_.type
                assert type is (left.type if operator in "+-*/%minmax" else T.BOOL)
            case tir.Select(condition, then, otherwise, type):
                assert condition.type is T.BOOL
                assert then.type is otherwise.type is type
            case tir.Call(_, arguments, type):
                assert {a.type for a in arguments} == {type}
                assert type in (T.FLOAT32, T.FLOAT64)
            case tir.Unary(_, operand, type):
                assert operand.type is type
            case _:
                assert isinstance(node, (tir.Read, tir.Cast)) or not node.type.is_half


def test_half_is_read_and_widened_at_once():
    read = typed("F16(i)")
    assert isinstance(read, tir.Cast)
    assert isinstance(read.operand, tir.Read)
    assert (read.type, read.operand.type) == (T.FLOAT32, T.FLOAT16)


def test_a_half_cast_rounds():
    cast = typed("half(F32(i))")
    assert isinstance(cast, tir.Cast)
    assert isinstance(cast.operand, tir.Cast)
    assert (cast.type, cast.operand.type) == (T.FLOAT32, T.FLOAT16)


@pytest.mark.parametrize(
    ("right", "literal"),
    [
        ("0.1 * F64(i)", tir.Literal(Fraction(1, 10), T.FLOAT64)),
        ("0.1 * F32(i)", tir.Literal(Fraction(1, 10), T.FLOAT32)),
        ("0.1 * F16(i)", tir.Literal(Fraction(1, 10), T.FLOAT32)),
        ("3 * F64(i)", tir.Literal(Fraction(3), T.FLOAT64)),
        ("3 * I64(i)", tir.Literal(3, T.INT64)),
        ("-3 * I64(i)", tir.Literal(-3, T.INT64)),
        ("-1e-12 * F64(i)", tir.Literal(Fraction(-1, 10**12), T.FLOAT64)),
        ("3E-2 * F32(i)", tir.Literal(Fraction(3, 100), T.FLOAT32)),
        (".5 * F32(i)", tir.Literal(Fraction(1, 2), T.FLOAT32)),
        ("3. * F32(i)", tir.Literal(Fraction(3), T.FLOAT32)),
        ("007 * I32(i)", tir.Literal(7, T.INT32)),
        ("a * F64(i) where a = 0.1", tir.Literal(Fraction(1, 10), T.FLOAT64)),
        ("double(0.1) * F32(i)", tir.Literal(Fraction(1, 10), T.FLOAT64)),
    ],
)
def test_literals_are_exact_in_the_type_of_their_context(right, literal):
    found = typed(right)
    assert isinstance(found, tir.Binary)
    assert found.left == literal


def test_literal_arithmetic_takes_the_type_of_its_context():
    found = typed("(1.0 / 3.0 + i) * F64(i)")
    assert isinstance(found, tir.Binary)
    assert {n.type for n in tir.walk(found.left) if not isinstance(n, tir.Index)} == {T.FLOAT64}


@pytest.mark.parametrize(
    "free", ["-sqrt(2.0 * i)", "i > 1 ? 0.1 : 3", "fmax(0.1, N)", "min(0.1, i)", "-(i + 0.1)"]
)
def test_what_holds_no_tensor_takes_the_type_of_its_context(free):
    found = typed(f"({free}) * F64(i)")
    assert isinstance(found, tir.Binary)
    types = {n.type for n in tir.walk(found.left) if n.type.is_float}
    assert types == {T.FLOAT64}


def test_an_integer_cast_of_a_free_float_computes_in_float32():
    found = typed("int32(0.5 + i) + I32(i)")
    assert isinstance(found, tir.Binary)
    assert {n.type for n in tir.walk(found.left) if n.type.is_float} == {T.FLOAT32}


def test_a_cast_literal_keeps_the_type_of_its_cast():
    found = typed("float(0.1) * F64(i)")
    assert isinstance(found, tir.Binary)
    assert found.left == tir.Cast(tir.Literal(Fraction(1, 10), T.FLOAT32), T.FLOAT64)


def test_the_sign_of_zero_is_kept():
    found = typed("-0.0 * F32(i)")
    assert isinstance(found, tir.Binary)
    assert found.left == tir.Unary("-", tir.Literal(Fraction(), T.FLOAT32), T.FLOAT32)


def test_sizes_and_extents_are_sizes():
    for right in ("I32(i) + F32.0", "I32(i) + N"):
        found = typed(right)
        assert isinstance(found, tir.Binary)
        assert found.right == tir.Size(var("N"))


INTEGERS = {
    "2147483647": "",
    "2147483648": "E0217 1:38",
    "-2147483648": "",
    "-2147483649": "E0217 1:39",
    "int64(2147483648)": "",
    "int64(-9223372036854775808)": "",
    "int64(9223372036854775807)": "",
    "uint64(18446744073709551615)": "",
    "uint64(18446744073709551616)": "E0217 1:45",
    "double(3000000000)": "",
    "uint32(3000000000)": "E0217 1:45",
    "int64(3000000000 + 1)": "E0217 1:44",
    "9" * 30: "E0217 1:38",
    "1e39": "E0217 1:38",
    "double(1e39)": "",
    "1e309": "E0217 1:38",
    "1e4000": "E0217 1:38",
    "1e-4000": "",
    "1e-46": "",
    "0e5": "",
    "0." + "1" * 300: "",
    "int64(1e39)": "E0217 1:44",
    "int64(9223372036854775808)": "E0217 1:44",
    "uint64(-3000000000)": "",
}


@pytest.mark.parametrize("literal", INTEGERS, ids=lambda t: t[:30])
def test_limits_of_literals(literal):
    text = f"def f(float(N) X) -> (Y) {{    Y(i) = {literal} where exists X(i) }}"
    assert " ".join(places(text)) == INTEGERS[literal]


def test_a_literal_too_large_for_float32_is_fine_beside_a_double():
    assert places("def f(double(N) X) -> (Y) { Y(i) = 1e39 * X(i) }") == []
    assert places("def f(float(N) X) -> (Y) { Y(i) = 1e39 * X(i) }") == ["E0217 1:35"]


# right side of `Y(i) = ...` at column 5 of line 2, and the findings
REFUSED = {
    "I32(i) ? 1.0 : 2.0": "E0211 2:12",
    "F32(i) && B(i)": "E0211 2:12",
    "B(i) || 1": "E0211 2:20",
    "!I32(i)": "E0211 2:13",
    "B(i) + 1": "E0212 2:12",
    "1 + B(i)": "E0212 2:16",
    "B(i) * B(i)": "E0212 2:12 E0212 2:19",
    "B(i) < B(i)": "E0212 2:12 E0212 2:19",
    "B(i) == 1": "E0212 2:12",
    "-B(i)": "E0212 2:13",
    "exp(B(i))": "E0212 2:16",
    "max(B(i), B(i))": "E0212 2:16 E0212 2:22",
    "B(i) ? B(i) : 1.0": "E0212 2:19",
    "B(i) ? 1.0 : B(i)": "E0212 2:25",
    "F32(i) % 2.0": "E0213 2:12",
    "F32(i) % 2": "E0213 2:12",
    "2 % F16(i)": "E0213 2:12",
    "I32(i) / 0": "E0218 2:21",
    "I32(i) % 0": "E0218 2:21",
    "F32(i) / 0": "E0218 2:21",
    "I32(i) / (N - N)": "E0218 2:22",
    "F32(F32(i))": "E0210 2:16",
    "F32(0.0)": "E0210 2:16",
    "F32(i / 2.0)": "E0210 2:16",
    "F32(B(i))": "E0210 2:16",
    "F32(exp(i))": "E0210 2:16",
    "F32(i) + (B(i) + 1) + UNKNOWN": "E0212 2:22 E0201 2:34",
    "UNKNOWN + B(i)": "E0201 2:12 E0212 2:22",
    "UNKNOWN || I32(i)": "E0201 2:12 E0211 2:23",
    "UNKNOWN == I32(i)": "E0201 2:12",
    "I32(i) ? UNKNOWN : 1": "E0211 2:12 E0201 2:21",
    "F32(i) / 0.0": "",
    "I32(i) / N": "",
    "B(i) != B(i) ? 1 : 2": "",
}


@pytest.mark.parametrize("right", REFUSED)
def test_refused_operands(right):
    text = f"def f({ALL}) -> (Y) {{\n    Y(i) = {right}\n    where exists F32(i) }}"
    assert " ".join(places(text)) == REFUSED[right]


# declared or earlier type, right side, findings
ASSIGNED = [
    ("double", "F32(i)", ""),
    ("double", "I64(i)", ""),
    ("float", "F64(i)", "E0214 2:12"),
    ("float", "I64(i)", ""),
    ("float", "F16(i)", ""),
    ("half", "F16(i) * 0.5", ""),
    ("half", "0.5", ""),
    ("half", "F32(i)", "E0214 2:12"),
    ("half", "sqrt(0.5)", "E0214 2:12"),
    ("half", "BF(i)", "E0214 2:12"),
    ("half", "half(F32(i))", ""),
    ("int32", "F32(i)", "E0214 2:12"),
    ("int32", "0.0", "E0214 2:12"),
    ("int32", "I64(i)", "E0214 2:12"),
    ("int32", "U32(i)", ""),
    ("uint32", "I32(i)", "E0214 2:12"),
    ("uint8", "0", "E0214 2:12"),
    ("int64", "0", ""),
    ("bool", "I32(i)", "E0212 2:12"),
    ("bool", "B(i)", ""),
    ("float", "B(i)", "E0212 2:12"),
    ("int32", "F32(i) > 0.0", "E0212 2:12"),
]


@pytest.mark.parametrize(("kind", "right", "expected"), ASSIGNED)
def test_assignment_to_a_declared_type(kind, right, expected):
    text = f"def f({ALL}) -> ({kind}(N) Y) {{\n    Y(i) = {right} where exists F32(i)\n}}"
    assert " ".join(places(text)) == expected


@pytest.mark.parametrize(("kind", "right", "expected"), ASSIGNED)
def test_the_first_statement_fixes_the_type(kind, right, expected):
    text = f"def f({ALL}, {kind}(N) First) -> (Y) {{ Y(i) = First(i)\n    Y(i) = {right}"
    assert " ".join(places(text + " where exists F32(i)\n}")) == expected


def test_values_have_the_compute_type_of_the_target():
    text = f"def f({ALL}) -> (half(N) H, double(N) D, float(N) G) {{"
    text += " H(i) = F16(i) D(i) = F32(i) G(i) = F16(i) }"
    assert [s.value.type for s in program(text).statements] == [T.FLOAT32, T.FLOAT64, T.FLOAT32]


def test_a_declared_type_is_the_accumulation_type():
    found = program("def f(float(N) X) -> (double S) { S +=! X(i) }")
    assert found.tensors["S"].type is T.FLOAT64
    assert found.statements[0].value.type is T.FLOAT64


@pytest.mark.parametrize("operator", ["min=!", "max=!"])
def test_bool_reduces_with_all_and_any(operator):
    assert output(f"def f(float(N) X) -> (S) {{ S {operator} X(i) > 0.0 }}").type is T.BOOL


@pytest.mark.parametrize("operator", ["+=!", "*=!"])
def test_bool_has_no_sum_and_no_product(operator):
    assert places(f"def f(float(N) X) -> (S) {{ S {operator} X(i) > 0.0 }}") == ["E0212 1:34"]


@pytest.mark.parametrize(
    ("right", "sizes", "expected"),
    [
        ("X(i) + 1 / 2", {}, ["W0211 1:42"]),
        ("X(i) + 1 / N", {}, ["W0211 1:42"]),
        ("X(i) + 1 / (N * N)", {}, ["W0211 1:42"]),
        ("X(i) + 1 / N", {"N": 1}, []),
        ("X(i) + 3 / N", {"N": 4}, ["W0211 1:42"]),
        ("X(i) + 3 / N", {}, []),
        ("X(i) + 0 / N", {}, []),
        ("X(i) + 1.0 / N", {}, []),
        ("X(i / 2)", {}, []),
        ("X(i) + N / 2", {}, []),
    ],
)
def test_divisions_that_give_zero(right, sizes, expected):
    assert places(f"def f(float(N) X) -> (Y) {{ Y(i) = {right} }}", **sizes) == expected


def test_the_help_names_fmod():
    _, (finding,) = attempt("def f(float(N) X) -> (Y) { Y(i) = X(i) % 2.5 }")
    assert finding.help == ("use `fmod(X(i), 2.5)`",)


def test_conditions_suggest_a_comparison():
    _, (finding,) = attempt("def f(int(N) M, float(N) X) -> (Y) { Y(i) = M(i) ? X(i) : 0.0 }")
    assert finding.help == ("compare it: `M(i) != 0`",)


def test_large_where_expansions_are_refused():
    lets = ", ".join(f"a{k + 1} = a{k} + a{k}" for k in range(40))
    text = f"def f(float(N) X) -> (Y) {{ Y(i) = a40 where a0 = X(i), {lets} }}"
    assert places(text) == ["E0901 1:35"]


def test_long_where_chains_are_fine():
    lets = ", ".join(f"a{k + 1} = a{k} + X(i)" for k in range(100))
    assert places(f"def f(float(N) X) -> (Y) {{ Y(i) = a100 where a0 = X(i), {lets} }}") == []


def test_deep_where_chains_are_refused():
    lets = ", ".join(f"a{k + 1} = a{k} + X(i)" for k in range(1000))
    text = f"def f(float(N) X) -> (Y) {{ Y(i) = a1000 where a0 = X(i), {lets} }}"
    assert places(text) == ["E0901 1:35"]
