"""The canonical text: blind to names and layout, and to nothing else."""

import pytest

from tcc.diagnostics import Report
from tcc.frontend.canonical import canonical
from tcc.frontend.parser import parse
from tcc.source import Source


def text(program, entry=None):
    report = Report()
    module = parse(Source("t.tc", program), report)
    assert report.items == ()
    return canonical(module, entry)


MATMUL = "def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"


@pytest.mark.parametrize(
    "other",
    [
        "def g(float(Z, X) Q, float(X, Y) R) -> (S) { S(i, ii) +=! Q(i, j) * R(j, ii) }",
        "# note\ndef mm(float32(M,K) A,\n float(K, N) B)->(C) {\n C(m,n) +=! (A(m,k))*B(k,n) }",
        "def A(float(M, K) m, float(K, N) n) -> (k) { k(C, B) +=! m(C, x) * n(x, B) }",
    ],
)
def test_equal_programs(other):
    assert text(other) == text(MATMUL)


@pytest.mark.parametrize(
    "other",
    [
        MATMUL.replace("+=!", "+="),
        MATMUL.replace("float(K, N)", "double(K, N)"),
        MATMUL.replace("B(k, n)", "B(n, k)"),
        MATMUL.replace("A(m, k) * B(k, n)", "B(k, n) * A(m, k)"),
        MATMUL.replace("float(M, K)", "float(M, N)"),
        MATMUL.replace("float(M, K)", "float(3, K)"),
        MATMUL.replace(" }", " where k in 0:K }"),
        MATMUL.replace("-> (C)", "-> (float C)"),
        MATMUL.replace("*", "+"),
    ],
)
def test_different_programs(other):
    assert text(other) != text(MATMUL)


def one(value):
    return text(f"def f(float(N) A) -> (B) {{ B = {value} }}")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("007", "7"),
        ("1.0", "1."),
        ("1.0", "1e0"),
        ("1.0", "10e-1"),
        ("0.5", ".5"),
        ("0.5", "005E-01"),
        ("1200.", "1.2e3"),
        ("0.0", "0e7"),
        ("0.", ".000"),
        ("B()", "B"),
        ("float(x)", "float32(y)"),
    ],
)
def test_equal_values(a, b):
    assert one(a) == one(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1", "1.0"),
        ("0.1", "0.01"),
        ("1e10", "1e1"),
        ("exp(x)", "log(x)"),
        ("min(x, y)", "max(x, y)"),
        ("exp(x)", "foo(x)"),
        ("A(x)", "C(x)"),
        ("A.0", "A.1"),
        ("float(x)", "double(x)"),
        ("-x", "!x"),
        ("x - y - z", "x - (y - z)"),
    ],
)
def test_different_values(a, b):
    assert one(a) != one(b)


DEFS = """
def scale(float(N) A) -> (B) { B(i) = 2.0 * A(i) }
def shift(float(N) A) -> (B) { B(i) = A(i) + 1.0 }
def both(float(N) X) -> (Y, Z) { Y(i) = X(i) Z(i) = X(i) }
def main(float(N) X) -> (Y) { T = scale(X) P, Q = both(T) Y(i) = P(i) + Q(i) }
"""


def test_an_entry_brings_what_it_calls():
    assert text(DEFS, "main").count("(def ") == 3
    assert text(DEFS, "scale").count("(def ") == 1
    assert text(DEFS).count("(def ") == 4
    assert text(DEFS, "main") != text(DEFS.replace("scale(X)", "shift(X)"), "main")
    assert text(DEFS, "main") == text(DEFS.replace("A(i) + 1.0", "A(i)"), "main")
    assert text(DEFS, "main") != text(DEFS.replace("2.0", "3.0"), "main")


def test_callees_may_move_and_be_renamed():
    lines = DEFS.strip().split("\n")
    moved = "\n".join([lines[3], lines[2], lines[0]])
    renamed = moved.replace("scale", "s").replace("both", "b").replace("main", "m")
    assert text(renamed, "m") == text(DEFS, "main")


def test_a_tensor_hides_a_def_and_no_def_is_a_builtin_by_accident():
    program = "def f(float(N) A) -> (B) { B(i) = A(i) } def A(float(N) X) -> (Y) { Y(i) = X(i) }"
    assert text(program, "f").count("(def ") == 1


def test_recursive_calls_end():
    program = "def f(float A) -> (B) { B = g(A) } def g(float A) -> (B) { B = f(A) }"
    assert text(program, "f").count("(def ") == 2


def test_a_definition_alone():
    report = Report()
    module = parse(Source("t.tc", MATMUL), report)
    assert canonical(module.definitions[0]) == canonical(module)
    assert canonical(module, "mm") == canonical(module)
    with pytest.raises(KeyError):
        canonical(module, "nn")
