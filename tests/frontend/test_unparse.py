"""Text of trees: parsing it gives the tree back; formatting keeps comments and is idempotent."""

from pathlib import Path

import pytest

from tcc.diagnostics import Report
from tcc.frontend.parser import parse
from tcc.frontend.sexpr import sexpr
from tcc.frontend.unparse import format_source, unparse
from tcc.source import Source

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted([*(ROOT / "specs").rglob("*.tc"), *(ROOT / "tests").rglob("*.tc")])


def parsed(text):
    report = Report()
    module = parse(Source("t.tc", text), report)
    assert report.items == ()
    return module


def formatted(text):
    report = Report()
    result = format_source(Source("t.tc", text), report)
    assert result is not None, report.items
    assert report.items == ()
    return result


def value(text):
    return parsed(f"def f() -> (B) {{ B = {text} }}").definitions[0].statements[0].value


# -- one line ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "a - (b - c)",
        "a - b - c",
        "a - b + c",
        "a * (b / c) % d",
        "(a + b) * c",
        "-(a + b) * -c",
        "--a - -b",
        "!(a < b) || !c",
        "(a < b) == (c != d)",
        "(a ? b : c) ? d : e",
        "a ? b : c ? d : e",
        "a ? b ? c : d : e",
        "(a ? b : c) + 1",
        "a || b && c",
        "(a || b) && c",
        "min(a + 1, max(b, c ? d : e))",
        "float(a) + int32(b) + half(c) + float16(d)",
        "T.0 * T.12 + A(i, T.1)",
        "A() + B",
        "007 + 3. + .5e-7 + 3E+2",
    ],
)
def test_expressions_come_back_as_written(text):
    assert unparse(value(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((a))", "a"),
        ("(a*b)+(c)", "a * b + c"),
        ("(a+b)+c", "a + b + c"),
        ("a?(b):(c?d:e)", "a ? b : c ? d : e"),
        ("- (- a)", "--a"),
        ("f( (x) )", "f(x)"),
    ],
)
def test_needless_parentheses_and_blanks_go(text, expected):
    assert unparse(value(text)) == expected


def test_the_format_of_the_original():
    text = "def fun2(float(N, N) X, Y) -> (Q) {"
    text = "def fun2(float X, int Y) -> (Q) {\n    Q += exp(X) * int(Y) * 2.5 + 3\n}\n"
    assert unparse(parsed(text)) == text


def test_every_construct():
    text = """\
def one(float(N, 3) A, byte b, double c) -> (float16(N) S, half T, U) {
    S(i) = A(i, 0) where i in 0:N, x = 2 * b, exists A(i + 1, j)
    T +=! U.0 <=> g(A, c)
    B() min= c where i in (a ? b : c):N - 1
    P, Q = two(S, T)
}

def two() -> (B) {
}
"""
    module = parsed(text)
    assert unparse(module) == text
    assert formatted(text) == text


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_programs(path):
    text = path.read_text("utf-8")
    report = Report()
    module = parse(Source("t.tc", text), report)
    if report.errors:
        assert format_source(Source("t.tc", text), Report()) is None
        return
    result = formatted(text)
    assert formatted(result) == result
    assert sexpr(parsed(result)) == sexpr(module)
    assert sexpr(parsed(unparse(module))) == sexpr(module)
    assert sorted(comment_words(result)) == sorted(comment_words(text))


def comment_words(text):
    return [line.partition("#")[2].strip() for line in text.split("\n") if "#" in line]


def test_parts():
    module = parsed("def f(float (N)  A) -> (half  B, C) { B(i)=A(i) where i in 0 : N }")
    (definition,) = module.definitions
    (statement,) = definition.statements
    (parameter,) = definition.parameters
    assert unparse(parameter) == "float(N) A"
    assert unparse(parameter.type) == "float(N)"
    assert [unparse(o) for o in definition.outputs] == ["half B", "C"]
    assert unparse(statement) == "B(i) = A(i) where i in 0:N"
    assert unparse(statement.clauses[0]) == "i in 0:N"


# -- layout ------------------------------------------------------------------------------------


def test_a_program_on_one_line():
    assert formatted("def f(float(N) A)->(B){B(i)=A(i) C(i)=A(i)}def g()->(C){C=1}") == (
        "def f(float(N) A) -> (B) {\n    B(i) = A(i)\n    C(i) = A(i)\n}\n\n"
        "def g() -> (C) {\n    C = 1\n}\n"
    )


def test_comments():
    text = """\


# license


# about f
# more
def f(float(N) A) # the header
   -> (B) {  # the body
  # first
  B(i) = A(i)   # beside
  C(i) = A(i) +  # left
      # between
      A(i)  # right


  # last

  # very last
}  # end of f
# about g
def g() -> (C) # result
{
  C = 1 }
   # the end
"""
    expected = """\
# license

# about f
# more
def f(
    float(N) A  # the header
) -> (B) {  # the body
    # first
    B(i) = A(i)  # beside
    # left
    # between
    C(i) = A(i) + A(i)  # right

    # last

    # very last
}  # end of f

# about g
def g() -> (C) {  # result
    C = 1
}
# the end
"""
    assert formatted(text) == expected
    assert formatted(expected) == expected


def test_comments_on_inputs_and_outputs():
    text = """\
def f(  # inputs
    float(M, K) A,  # left
    # the right one
    float(K,  # inner
          N) B
    # nothing more
) -> (
    C, # product
    D
    # done
) # go
{ # body
    # start
    C = A
}
"""
    expected = """\
def f(
    # inputs
    float(M, K) A,  # left
    # the right one
    # inner
    float(K, N) B
) -> (
    # nothing more
    C,  # product
    D
) {  # go
    # done
    # body
    # start
    C = A
}
"""
    assert formatted(text) == expected
    assert formatted(expected) == expected


def test_blank_lines_are_kept_singly():
    text = (
        "def f() -> (B) {\n\n  B = 1\n\n\n\n  C = 2\n  D = 3\n\n}\n\n\n\ndef g() -> (B) { B = 1 }"
    )
    assert formatted(text) == (
        "def f() -> (B) {\n    B = 1\n\n    C = 2\n    D = 3\n}\n\ndef g() -> (B) {\n    B = 1\n}\n"
    )


def test_line_ends_and_byte_order_mark():
    text = "\ufeff# note \t\r\ndef f() -> (B) {\r\n\tB = 1 # one\r\n\r\n\tC = 2\r\n}\r\n"
    expected = "# note\ndef f() -> (B) {\n    B = 1  # one\n\n    C = 2\n}\n"
    assert formatted(text) == expected


def test_long_lines_are_broken():
    terms = " + ".join(f"Tensor{k}(index, j{k})" for k in range(8))
    names = ", ".join(f"float(N, M{k}) Tensor{k}" for k in range(8))
    clauses = ", ".join(f"j{k} in 0:Size{k}" for k in range(9))
    text = f"def f({names}) -> (B) {{ B(index) +=! {terms} <=> g(index) where {clauses} }}"
    expected = """\
def f(
    float(N, M0) Tensor0,
    float(N, M1) Tensor1,
    float(N, M2) Tensor2,
    float(N, M3) Tensor3,
    float(N, M4) Tensor4,
    float(N, M5) Tensor5,
    float(N, M6) Tensor6,
    float(N, M7) Tensor7
) -> (B) {
    B(index) +=! Tensor0(index, j0) + Tensor1(index, j1) + Tensor2(index, j2) + Tensor3(index, j3)
        + Tensor4(index, j4) + Tensor5(index, j5) + Tensor6(index, j6) + Tensor7(index, j7)
        <=> g(index)
        where j0 in 0:Size0, j1 in 0:Size1, j2 in 0:Size2, j3 in 0:Size3, j4 in 0:Size4,
        j5 in 0:Size5, j6 in 0:Size6, j7 in 0:Size7, j8 in 0:Size8
}
"""
    assert formatted(text) == expected
    assert formatted(expected) == expected


def test_long_conditionals_and_products_are_broken():
    word = "x" * 30
    text = f"def f() -> (B) {{ B = {word} < 1 ? {word} * 2 : {word} > 2 ? {word} : {word} }}"
    assert formatted(text) == (
        f"def f() -> (B) {{\n    B = {word} < 1 ? {word} * 2\n"
        f"        : {word} > 2 ? {word}\n        : {word}\n}}\n"
    )
    text = f"def f() -> (B) {{ B = ({word} + 1) * ({word} - {word}) / {word} % {word} }}"
    assert formatted(text) == (
        f"def f() -> (B) {{\n    B = ({word} + 1)\n"
        f"        * ({word} - {word})\n        / {word} % {word}\n}}\n"
    )


def test_a_long_list_of_outputs_is_broken():
    names = [f"Output{k}" for k in range(16)]
    listed = "".join(f"    {n},\n" for n in names)[:-2]
    assert formatted(f"def f() -> ({', '.join(names)}) {{ }}") == (
        f"def f() -> (\n{listed}\n) {{\n}}\n"
    )


def test_nothing_is_written_for_a_file_with_errors():
    report = Report()
    assert format_source(Source("t.tc", "def f("), report) is None
    assert [d.code for d in report.items] == ["E0103"]


def test_a_deep_tree_has_a_text():
    text = f"def f() -> (B) {{\n    B = {'exp(' * 150}x{')' * 150}\n    C = x{' + x' * 300}\n}}\n"
    module = parsed(text)
    assert unparse(module) == text
    assert sexpr(parsed(formatted(text))) == sexpr(module)
