"""Calls between defs: what a call may look like, and what is put in for it."""

from __future__ import annotations

import pytest

from tcc.affine import const
from tcc.diagnostics import Report
from tcc.errors import CompileError
from tcc.frontend import tir
from tcc.frontend.ast import Module
from tcc.frontend.elaborate import elaborate
from tcc.scalar import ScalarType
from tcc.source import Source
from tests.frontend.elaborated import attempt, places, program

MATMUL = "def matmul(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }\n"
SHIFT = "def shift(float(N) A) -> (B) { B(i) = A(i + 1) }\n"
SOFTMAX = """
def softmax(float(N, D) I) -> (O) {
    Top(n) max=! I(n, d)
    Sum(n) +=! exp(I(n, d) - Top(n))
    O(n, d) = exp(I(n, d) - Top(n)) / Sum(n)
}
"""


def reads(statement: tir.Statement) -> set[str]:
    return {n.tensor for n in tir.walk(statement.value) if isinstance(n, tir.Read)}


def test_statements_take_the_names_of_the_caller():
    found = program(
        MATMUL
        + "def two(float(M, K) X, float(K, L) Y, float(L, P) Z) -> (Out) {\n"
        + "    T = matmul(X, Y)\n    Out = matmul(T, Z)\n}"
    )
    assert found.name == "two"
    first, second = found.statements
    assert (first.name, second.name) == ("S0", "S1")
    assert (first.target, reads(first)) == ("T", {"X", "Y"})
    assert (second.target, reads(second)) == ("Out", {"T", "Z"})
    assert found.temporaries == ("T",)
    assert [str(e) for e in found.tensors["Out"].shape] == ["M", "P"]
    assert str(second.ranges["k"].high) == "L"


def test_the_only_def_that_no_other_calls_is_the_entry():
    assert program(MATMUL + "def f(float(N, N) X) -> (Y) { Y = matmul(X, X) }").name == "f"


def test_several_outputs():
    text = "def g(float(N) X) -> (S, P) { S +=! X(i) P *=! X(i) }\n"
    found = program(text + "def f(float(K) X) -> (A, B) { A, B = g(X) }")
    assert [s.target for s in found.statements] == ["A", "B"]


def test_temporaries_of_the_callee_get_fresh_names():
    found = program(SOFTMAX + "def f(float(B, B) X) -> (Y) {\n T = softmax(X)\n Y = softmax(T)\n }")
    assert found.temporaries == (
        "T",
        "softmax_Top",
        "softmax_Sum",
        "softmax_Top_1",
        "softmax_Sum_1",
    )


def test_index_variables_that_clash_are_renamed():
    found = program(
        "def g(float(N) X) -> (Y) { Y(M) = X(M) }\ndef f(float(M) i) -> (Y) { Y = g(i) }"
    )
    (statement,) = found.statements
    assert statement.indices == ("M_1",)
    assert str(statement.ranges["M_1"].high) == "M"
    (read,) = (n for n in tir.walk(statement.value) if isinstance(n, tir.Read))
    assert read.subscripts == (tir.Index("M_1"),)


def test_an_argument_that_starts_above_zero_is_counted_from_zero():
    found = program(SHIFT + "def f(float(N) X) -> (Y) { T(i) = X(i - 3) Y = shift(T) }", entry="f")
    (read,) = (n for n in tir.walk(found.statements[1].value) if isinstance(n, tir.Read))
    assert read.subscripts[0] == tir.Binary(
        "+",
        tir.Binary("+", tir.Index("i"), tir.Literal(1, ScalarType.INT32), ScalarType.INT32),
        tir.Literal(3, ScalarType.INT32),
        ScalarType.INT32,
    )
    assert found.tensors["Y"].origin == (const(-1),)


def test_preconditions_of_the_callee_are_decided_for_the_caller():
    conv = "def conv(float(N) X, float(K) W) -> (Y) { Y(i) +=! X(i + k) * W(k) }\n"
    text = conv + "def f(float(A) X, float(B) W) -> (Y) { Y = conv(X, W) }"
    (condition,) = program(text).preconditions
    assert str(condition.expression) == "A - B"
    assert program(text, A=5, B=3).preconditions == ()
    assert places(text, A=2, B=3) == ["E0309 2:44"]
    fixed = conv + "def f(float(2) X, float(3) W) -> (Y) { Y = conv(X, W) }"
    assert places(fixed) == ["E0309 2:44"]


def test_sizes_of_arguments_that_disagree():
    text = MATMUL + "def f(float(A, B) X, float(C, D) Y) -> (Z) {\n    Z = matmul(X, Y)\n}"
    found = program(text)
    assert {str(p.expression) for p in found.preconditions} == {"B - C", "C - B"}
    assert places(text, B=3, C=4) == ["E0309 3:19"]
    assert places(text, B=4, C=4) == []


def test_constant_dimensions_are_checked():
    text = "def g(float(3) X) -> (Y) { Y(i) = X(i) }\ndef f(float(N) X) -> (Y) {\n    Y = g(X)\n}"
    assert len(program(text).preconditions) == 2
    assert places(text, N=4) == ["E0309 3:11"]


def test_in_out_tensors_of_the_callee():
    add = "def add(float(N) X) -> (Y) { Y(i) += X(i) }\n"
    text = add + "def f(float(N) A, float(N) B) -> (Y) { Y(i) = A(i) Y = add(B) }"
    assert program(text, entry="f").inouts == ()
    found, diagnostics = attempt(add + "def f(float(N) A) -> (Y) { Y = add(A) }", entry="f")
    assert found is not None
    assert found.inouts == ("Y",)
    assert {d.code for d in diagnostics} == {"W0210"}
    text = add + "def f(float(N) A) -> (Z) { T = add(A) Z(i) = T(i) }"
    assert "E0220 2:28" in places(text, entry="f")


def test_known_sizes_reach_the_callee():
    text = "def g(float(L) X, float(H, W) T) -> (Y) { Y(c, d) = X(c * T.1 + d) where d in 0:W }\n"
    text += "def f(float(L) X, float(H, V) T) -> (Y) { Y = g(X, T) }"
    assert places(text) == ["E0301 1:43"]
    assert program(text, V=5).statements[0].indices == ("c", "d")


def test_calls_of_calls():
    text = "def a(float(N) X) -> (Y) { Y(i) = X(i) }\n"
    text += "def b(float(N) X) -> (Y) { T = a(X) Y = a(T) }\n"
    text += "def c(float(N) X) -> (Y) { T = b(X) Y = b(T) }"
    found = program(text)
    assert len(found.statements) == 4
    assert found.temporaries == ("T", "b_T", "b_T_1")


ERRORS = {
    "direct recursion": ("def f(float(N) X) -> (Y) {\n    Y = f(X)\n}", "E0224 2:9"),
    "circle": (
        "def f(float(N) X) -> (Y) { Y = g(X) }\ndef g(float(N) X) -> (Y) { Y = f(X) }",
        "E0224 2:32",
    ),
    "too few arguments": (
        MATMUL + "def f(float(N, N) X) -> (Y) {\n    Y = matmul(X)\n}",
        "E0223 3:9",
    ),
    "too few targets": (
        "def g(float(N) X) -> (S, P) { S +=! X(i) P *=! X(i) }\n"
        "def f(float(K) X) -> (A) { A = g(X) }",
        "E0223 2:28",
    ),
    "another type": (
        SHIFT + "def f(double(N) X) -> (Y) { Y = shift(X) }",
        "E0223 2:39",
    ),
    "another rank": (
        SHIFT + "def f(float(N, N) X) -> (Y) { Y = shift(X) }",
        "E0223 2:41",
    ),
    "another declared type": (
        SHIFT + "def f(float(N) X) -> (double(N) Y) { Y = shift(X) }",
        "E0223 2:38",
    ),
    "another declared rank": (
        SHIFT + "def f(float(N) X) -> (float Y) { Y = shift(X) }",
        "E0225 2:34",
    ),
    "unknown argument": (SHIFT + "def f(float(N) X) -> (Y) { Y = shift(Z) }", "E0201 2:38"),
    "size as an argument": (SHIFT + "def f(float(N) X) -> (Y) { Y = shift(N) }", "E0223 2:38"),
    "argument not yet written": (
        SHIFT + "def f(float(N) X) -> (Y, Z) { Y = shift(Z) Z(i) = X(i) }",
        "E0220 2:41",
    ),
    "argument is the target": (
        SHIFT + "def f(float(N) X) -> (Y) { Y(i) = X(i) Y = shift(Y) }",
        "E0223 2:40",
    ),
    "target is an input": (SHIFT + "def f(float(N) X) -> (Y) { X = shift(X) }", "E0204 2:28"),
    "target nobody reads": (
        SHIFT + "def f(float(N) X) -> (Y) { T = shift(X) Y(i) = X(i) }",
        "E0207 2:28",
    ),
    "target twice": (
        "def g(float(N) X) -> (S, P) { S +=! X(i) P *=! X(i) }\n"
        "def f(float(K) X) -> (A) { A, A = g(X) }",
        "E0202 2:31",
    ),
    "unknown def": ("def f(float(K) X) -> (A, B) { A, B = g(X) }", "E0201 1:38"),
    "builtin as a def": ("def f(float(K) X) -> (A, B) { A, B = exp(X) }", "E0201 1:38"),
    "call in an expression": (
        SHIFT + "def f(float(N) X) -> (Y) { Y(i) = shift(X) + 1.0 }",
        "E0222 2:35",
    ),
    "call with subscripts": (
        SHIFT + "def f(float(N) X) -> (Y) { Y(i) = shift(X(i)) }",
        "E0222 2:35",
    ),
    "indexed target": (SHIFT + "def f(float(N) X) -> (Y) { Y(i) = shift(X) }", "E0222 2:35"),
    "call with a where clause": (
        SHIFT + "def f(float(N) X) -> (Y) { Y = shift(X) where i in 0:3 }",
        "E0222 2:32 E0219 2:47",
    ),
    "reducing call": (SHIFT + "def f(float(N) X) -> (Y) { Y +=! shift(X) }", "E0222 2:34"),
    "error in the callee only": (
        "def g(float(N) X) -> (Y) { Y(i) = Z(i) }\n"
        "def f(float(N) X) -> (Y) { T = g(X) Y(i) = T(i) + X(i, i) }",
        "E0201 1:35 E0208 2:51",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_calls(name):
    text, expected = ERRORS[name]
    assert " ".join(places(text, entry="f")) == expected


def test_a_def_hides_a_builtin_of_its_name():
    text = "def relu(float(N) X) -> (Y) { Y(i) = relu(X(i)) }\n"
    found = program(text + "def f(float(N) A) -> (B) { B = relu(A) }", entry="f")
    assert found.statements[0].indices == ("i",)


def test_deeply_nested_calls_are_refused():
    defs = ["def f0(float(N) X) -> (Y) { Y(i) = X(i) }"]
    defs += [f"def f{k}(float(N) X) -> (Y) {{ Y = f{k - 1}(X) }}" for k in range(1, 100)]
    _, (finding,) = attempt("\n".join(defs))
    assert finding.code == "E0902"


def test_an_explosion_of_calls_is_refused():
    defs = ["def f0(float(N) X) -> (Y) { Y(i) = X(i) }"]
    defs += [
        f"def f{k}(float(N) X) -> (Y) {{ T = f{k - 1}(X) Y = f{k - 1}(T) }}" for k in range(1, 30)
    ]
    _, (finding,) = attempt("\n".join(defs))
    assert finding.code == "E0902"


def test_several_defs_need_an_entry():
    text = "def f(float(N) X) -> (Y) { Y(i) = X(i) }\ndef g(float(N) X) -> (Y) { Y(i) = X(i) }"
    assert places(text) == ["E0611 1:5"]
    assert program(text, entry="g").name == "g"
    assert places(text, entry="h") == ["E0612 1:5"]
    assert places(text, entry="g", M=4) == ["E0613 2:5"]


def test_a_file_without_defs():
    report = Report()
    assert elaborate(Module(Source("empty.tc", ""), ()), None, {}, report) is None
    assert [d.code for d in report.items] == ["E0612"]


def test_a_def_defined_twice():
    text = "def f(float(N) X) -> (Y) { Y(i) = X(i) }\n"
    assert places(text * 2, entry="f") == ["E0202 2:5"]


def test_errors_in_other_defs_are_not_those_of_the_entry():
    text = "def f(float(N) X) -> (Y) { Y(i) = Z(i) }\ndef g(float(N) X) -> (Y) { Y(i) = X(i) }"
    assert program(text, entry="g").name == "g"
    with pytest.raises(CompileError):
        program(text, entry="f")
