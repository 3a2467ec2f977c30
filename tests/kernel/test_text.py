"""Printed expressions mean in C++ what they mean in the kernel IR."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tcc.affine import Affine, const, minimum, var
from tcc.kernel import ir
from tcc.kernel.helpers import helper_texts
from tcc.kernel.prove import Scope
from tcc.kernel.spelling import C_TYPES
from tcc.kernel.text import Printer
from tcc.scalar import ScalarType as T
from tests.kernel.random_ir import FLOATS, INTEGERS, POINTS, Meaning, RandomIr, buffer, contents

TYPES = (*INTEGERS, *FLOATS, T.BOOL)
CXX = shutil.which("g++") or shutil.which("clang++")
COUNT = 400
FLAGS = (
    "-std=c++17",
    "-w",
    "-O1",
    "-ffp-contract=off",
    "-fsanitize=undefined",
    "-fsanitize-undefined-trap-on-error",
)
"""Undefined behaviour ends the program: signed overflow must not be in the text."""


def printer() -> Printer:
    result = Printer({}, set())
    result.scopes += [Scope("i", const(0), const(3)), Scope("j", const(-3), const(4))]
    return result


def text(expression: ir.Expression) -> str:
    return printer().value(expression)


def defined(expressions: list[ir.Expression]) -> list[tuple[ir.Expression, list[object]]]:
    """Those that never divide by zero, with their values at all points."""
    arrays = {buffer(t).name: contents(t) for t in TYPES}
    found = []
    for expression in expressions:
        try:
            with np.errstate(all="ignore"):
                values = [Meaning({"i": i, "j": j}, arrays).of(expression) for i, j in POINTS]
        except ZeroDivisionError:
            continue
        found.append((expression, values))
    return found


def program(expressions: list[ir.Expression]) -> str:
    """Prints the value of every expression at every point, one a line."""
    shared = printer()
    bodies = [shared.value(e) for e in expressions]
    lines = ["#include <math.h>", "#include <stdio.h>"]
    lines += ["#define __host__", "#define __device__", "#define __forceinline__ inline"]
    lines += helper_texts(shared.helpers)
    for type in TYPES:
        values = ", ".join(_element(v, type) for v in contents(type).flat)
        lines.append(f"const {C_TYPES[type]} {buffer(type).name}[] = {{{values}}};")
    for number, (expression, body) in enumerate(zip(expressions, bodies, strict=True)):
        type = C_TYPES[expression.type]
        lines.append(f"static {type} e{number}(int i, int j) {{ return {body}; }}")
    lines.append("int main() {")
    for number, expression in enumerate(expressions):
        form, to = ("%a", "double") if expression.type.is_float else ("%llu", "unsigned long long")
        call = f'printf("{form}\\n", ({to})e{number}(i, j));'
        lines.append(f"  for (int i = 0; i < 3; ++i) for (int j = -3; j < 4; ++j) {call}")
    return "\n".join([*lines, "}", ""])


def _element(value: object, type: T) -> str:
    if type is T.BOOL:
        return "true" if value else "false"
    if type.is_float:
        return repr(float(value))
    low = type.integer_range[0]
    return (
        f"({C_TYPES[type]}){value}{'ULL' if type is T.UINT64 else 'LL'}"
        if value != low
        else (f"({C_TYPES[type]})({int(value) + 1}LL - 1)" if low else "0")
    )


def shown(value: object, type: T) -> str:
    if type.is_float:
        return float(value).hex()
    return str(int(value) % 2**64)


@pytest.mark.skipif(CXX is None, reason="needs g++ or clang++")
def test_expressions_mean_in_cpp_what_they_mean_here(tmp_path: Path) -> None:
    made = RandomIr(1)
    random = made.random
    wanted = [made.value(random.choice(TYPES), random.randint(1, 4)) for _ in range(COUNT)]
    cases = defined(wanted)
    assert len(cases) > COUNT // 2
    (tmp_path / "all.cpp").write_text(program([e for e, _ in cases]), encoding="utf-8")
    subprocess.run([str(CXX), *FLAGS, "-o", "all", "all.cpp"], cwd=tmp_path, check=True)
    ran = subprocess.run([str(tmp_path / "all")], check=True, capture_output=True, text=True)
    lines = iter(ran.stdout.splitlines())
    for expression, values in cases:
        type = expression.type
        got = [next(lines) for _ in values]
        if type.is_float:
            got = [float.fromhex(g).hex() for g in got]
        assert got == [shown(v, type) for v in values], text(expression)


A, B, F = (ir.Load(buffer(t), (var("i"), var("j"))) for t in (T.INT32, T.INT8, T.FLOAT32))
I32, U16, I64 = T.INT32, T.UINT16, T.INT64


def sum_(left: ir.Expression, right: ir.Expression) -> ir.Binary:
    return ir.Binary("+", left, right, left.type)


def test_sums_that_may_overflow_are_computed_in_unsigned_arithmetic() -> None:
    one = ir.Const(1, I32)
    a = text(A)
    assert text(sum_(A, one)) == f"(int)((unsigned int){a} + 1)"
    assert text(sum_(sum_(A, one), A)) == f"(int)((unsigned int){a} + 1 + {a})"
    product = ir.Binary("*", A, A, I32)
    assert text(sum_(A, product)) == f"(int)((unsigned int){a} + (unsigned int){a} * {a})"
    assert text(ir.Unary("-", A, I32)) == f"(int)(0u - {a})"


def test_sums_that_cannot_overflow_are_plain() -> None:
    small = ir.Cast(B, I32)
    assert text(sum_(small, small)) == f"(int){text(B)} + (int){text(B)}"
    assert text(sum_(B, B)) == f"(signed char)({text(B)} + {text(B)})"
    assert text(sum_(F, F)) == f"{text(F)} + {text(F)}"


def test_products_of_shorts_would_overflow_int() -> None:
    load = ir.Load(buffer(U16), (var("i"), var("j")))
    product = ir.Binary("*", load, load, U16)
    assert text(product) == f"(unsigned short)((unsigned int){text(load)} * {text(load)})"


def test_subscripts_do_not_wrap() -> None:
    gather = sum_(A, ir.Int(var("i")))
    load = ir.Load(buffer(T.FLOAT32), (gather, var("j")))
    assert text(load) == f"in_float32[({text(A)} + i) * 8 + j]"


def test_conditions_read_as_comparisons() -> None:
    zero = ir.Const(0, I32)

    def least(form: Affine) -> str:
        return text(ir.Binary(">=", ir.Int(form), zero, T.BOOL))

    assert least(var("i") - 3) == "i >= 3"
    assert least(var("N") - 1 - var("i")) == "i < N"
    assert least(-var("i")) == "i < 1"
    assert printer().conjunction((var("i") - 3, ir.Const(True, T.BOOL))) == "i >= 3 && true"


def test_or_inside_and() -> None:
    yes, no = (ir.Const(v, T.BOOL) for v in (True, False))
    either = ir.Binary("||", yes, no, T.BOOL)
    assert text(ir.Binary("&&", either, no, T.BOOL)) == "(true || false) && false"
    assert text(ir.Binary("||", ir.Binary("&&", yes, no, T.BOOL), yes, T.BOOL)) == (
        "(true && false) || true"
    )


def test_casts_of_products() -> None:
    """`(unsigned char)-4 * i` would convert the 4 alone."""
    assert text(ir.Cast(ir.Int(var("i") * -4), T.UINT8)) == "(unsigned char)(-4 * i)"


def test_offsets() -> None:
    shape = (var("M"), var("N"), const(4))

    def offset(*index: Affine, wide: bool = False) -> str:
        return printer().offset(ir.Buffer("a", ir.Space.GLOBAL, I32, shape, wide=wide), index)

    i, j, k = var("i"), var("j"), var("k")
    assert offset(i, j, k) == "(i * N + j) * 4 + k"
    assert offset(const(0), j, k) == "j * 4 + k"
    assert offset(const(0), const(0), k + 1) == "k + 1"
    assert offset(const(2), j, const(0)) == "(2 * N + j) * 4"
    assert offset(const(2), j, k, wide=True) == "((long long)2 * N + j) * 4 + k"
    assert offset(i, j, k, wide=True) == "((long long)i * N + j) * 4 + k"
    assert offset(const(0), j, k, wide=True) == "(long long)j * 4 + k"


def test_the_start_of_a_row_is_one_product_of_unsigned_numbers() -> None:
    """Where row and length are seen not to be negative; what follows is in 64 bits, too."""
    helpers: set[str] = set()
    known = Printer({"M": (1, None), "N": (1, None)}, helpers)
    known.scopes.append(Scope("i", const(0), var("M")))
    array = ir.Buffer("a", ir.Space.GLOBAL, I32, (var("M"), var("N"), const(4)), wide=True)
    assert known.offset(array, (var("i"), var("j"), var("k"))) == ("(row_start(i, N) + j) * 4 + k")
    clamped = minimum(var("i") + 8, var("M") - 1)
    assert known.offset(array, (clamped, const(0), const(0))).startswith("row_start(minimum(")
    assert helpers == {"row_start", "minimum"}
    below = known.offset(array, (var("i") - 1, var("j"), const(0)))
    assert below == "((long long)(i - 1) * N + j) * 4"


def test_unsigned_subscripts_are_widened() -> None:
    load = ir.Load(buffer(T.UINT32), (var("i"), var("j")))
    array = ir.Buffer("a", ir.Space.GLOBAL, I32, (const(3), var("N")))
    assert printer().offset(array, (load, var("j"))) == f"(long long){text(load)} * N + j"


def test_an_int_stays_one() -> None:
    """Forms that may leave int on the way are computed in long long, and helpers are templates."""
    known = Printer({"N": (1, None)}, set(), largest_size=2**31 - 1)
    known.scopes.append(Scope("i", const(0), var("N")))
    sum = ir.Int(var("i") + var("N"))
    least = ir.Binary("min", sum, ir.Const(3, T.INT32), T.INT32)
    assert known.value(least) == "minimum((int)((long long)N + (long long)i), 3)"
    whole = ir.Buffer("A", ir.Space.GLOBAL, T.FLOAT32, (var("N"),))
    assert known.element(whole, (sum,)) == "A[(long long)N + (long long)i]"


def test_a_long_variable_makes_long_operands() -> None:
    """A loop variable that a step takes beyond the largest int, while its values are ints."""
    known = printer()
    known.long_variables |= {"i", "j"}
    assert known.value(ir.Int(var("i"))) == "(int)i"
    assert known.affine(var("j") % 7) == "(int)floor_mod((long long)j, 7LL)"
    assert known.affine((var("j") - 2) // 4) == "(int)floor_div((long long)j + 2LL, 4LL) - 1"
    assert known.affine(minimum(var("i"), 2)) == "(int)minimum((long long)i, 2LL)"
