"""Trees of correct programs; the place and the code of errors in others; recovery."""

import sys

import pytest

from tcc.diagnostics import Report
from tcc.frontend.ast import Assign, CallStatement
from tcc.frontend.depth import MAX_DEPTH, MAX_NESTING
from tcc.frontend.parser import parse
from tcc.frontend.sexpr import sexpr
from tcc.source import Source


def parsed(text):
    report = Report()
    module = parse(Source("t.tc", text), report)
    assert report.items == ()
    return module


def errors(text):
    report = Report()
    parse(Source("t.tc", text), report)
    return [(d.code, d.line, d.column) for d in report.items]


def first_message(text):
    report = Report()
    parse(Source("t.tc", text), report)
    return report.items[0].message


def statement(text):
    """The only statement of a def."""
    (definition,) = parsed(f"def f(float(N) A) -> (B) {{ {text} }}").definitions
    (found,) = definition.statements
    return found


def tree(text):
    """The tree of an expression."""
    return sexpr(statement(f"B = {text}").value)


# -- trees -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-3%2+4*5+7-a", "(- (+ (+ (% (- 3) 2) (* 4 5)) 7) a)"),
        ("foo(3,4,5+6,a)", "(foo 3 4 (+ 5 6) a)"),
        ("a ? 3 : b ? 3 : 4", "(? a 3 (? b 3 4))"),
        ("a ? b ? 1 : 2 : 3", "(? a (? b 1 2) 3)"),
        ("a+b+c", "(+ (+ a b) c)"),
        ("a-(b-c)", "(- a (- b c))"),
        ("a || b && c == d + e * -f", "(|| a (&& b (== c (+ d (* e (- f))))))"),
        ("a * b + c < d && e || f ? g : h", "(? (|| (&& (< (+ (* a b) c) d) e) f) g h)"),
        ("(a < b) == (c < d)", "(== (< a b) (< c d))"),
        ("!a == b", "(== (! a) b)"),
        ("- - !a", "(- (- (! a)))"),
        ("-a*b", "(* (- a) b)"),
        ("a<-b", "(< a (- b))"),
        ("min(a, max(b, c))", "(min a (max b c))"),
        ("float(a) + int32(b + c)", "(+ (float32 a) (int32 (+ b c)))"),
        ("half(a) + byte(b)", "(+ (float16 a) (uint8 b))"),
        ("T.1 * T .0 + U.007", "(+ (* T.1 T.0) U.7)"),
        ("A()", "(A)"),
        ("A", "A"),
        ("((A))", "A"),
        ("log(tanh(I(i)))", "(log (tanh (I i)))"),
        ("A(int32(B(i)), j)", "(A (int32 (B i)) j)"),
        (".5 + 3. + 3E-2 + 007", "(+ (+ (+ .5 3.) 3E-2) 007)"),
        ("info + nan", "(+ info nan)"),
    ],
)
def test_expressions(text, expected):
    assert tree(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("R(i,j) +=! A(i,j)*B(j,k)", "(+=! (R i j) (* (A i j) (B j k)))"),
        ("O +=! I(i)", "(+=! O (I i))"),
        ("O() = I", "(= (O) I)"),
        ("O max=! A(int32(B(i)))", "(max=! O (A (int32 (B i))))"),
        ("O *= 2 O min= 3", None),
        (
            "O(i,j)+=! A(i,k)*B(k,j) <=> matmul(A(i,k),B(k,j))",
            "(+=! (O i j) (* (A i k) (B k j)) (<=> (matmul (A i k) (B k j))))",
        ),
        (
            "O(i) = A(i) where i in 0:N, x = 2*y, exists A(i+1)",
            "(= (O i) (A i) (in i 0 N) (let x (* 2 y)) (exists (A (+ i 1))))",
        ),
        ("O(i) = A(i) where i in a ? 0 : 1:N", "(= (O i) (A i) (in i (? a 0 1) N))"),
        ("O = !a", "(= O (! a))"),
        ("O =!a", "(= O (! a))"),
        ("P, Q = f(A, B)", "(call (P Q) (f A B))"),
        ("P, Q, R = f()", "(call (P Q R) (f))"),
        ("P = f(A, B)", "(= P (f A B))"),
    ],
)
def test_statements(text, expected):
    definition = parsed(f"def f(float A) -> (B) {{ {text} }}").definitions[0]
    found = [sexpr(s) for s in definition.statements]
    assert found == ([expected] if expected else ["(*= O 2)", "(min= O 3)"])


def test_definitions():
    text = """
def one(float(N, 3) A, uint8 b, double() c) -> (float16(N) S, bfloat16 T, U) { }
def main() -> (B) { B = 1 }
"""
    assert sexpr(parsed(text)) == (
        "(def one\n  (inputs (A (float32 N 3)) (b (uint8)) (c (float64)))\n"
        "  (outputs (S (float16 N)) (T (bfloat16)) U))\n"
        "(def main\n  (inputs)\n  (outputs B)\n  (= B 1))"
    )


def test_newlines_between_all_tokens():
    text = "def f ( float ( N ) A ) -> ( B ) { B ( i ) min= A ( i ) where i in 0 : N }"
    assert sexpr(parsed(text.replace(" ", "\n"))) == sexpr(parsed(text))
    assert sexpr(parsed(text.replace(" ", " # note\r\n"))) == sexpr(parsed(text))


def test_spans():
    text = (
        "def f(float(N) A, half b) -> (float(N) C, D) {\n  C(i) = (A(i) + 1) * -b where i in 0:N\n}"
    )
    module = parsed(text)
    (definition,) = module.definitions
    (found,) = definition.statements
    assert definition.span.text == text
    assert [p.type.span.text for p in definition.parameters] == ["float(N)", "half"]
    assert definition.outputs[0].type.span.text == "float(N)"
    assert isinstance(found, Assign)
    assert found.span.text == "C(i) = (A(i) + 1) * -b where i in 0:N"
    assert found.operator_span.text == "="
    product = found.value
    assert product.span.text == "(A(i) + 1) * -b"
    assert product.operator_span.text == "*"
    assert product.left.span.text == "A(i) + 1"
    assert product.left.left.span.text == "A(i)"
    assert product.right.span.text == "-b"
    assert found.clauses[0].span.text == "i in 0:N"


def test_spans_of_the_rest():
    found = statement("B = float(x) ? T.1 : max(a, b) <=> g(x) where y = (1), exists (A(y))")
    value = found.value
    assert value.span.text == "float(x) ? T.1 : max(a, b)"
    assert value.condition.span.text == "float(x)"
    assert value.condition.type_span.text == "float"
    assert value.then.span.text == "T.1"
    assert value.then.dimension_span.text == "1"
    assert value.otherwise.span.text == "max(a, b)"
    assert found.equivalent.span.text == "g(x)"
    assert [c.span.text for c in found.clauses] == ["y = (1)", "exists (A(y))"]
    call = statement("P, Q = f(A)")
    assert isinstance(call, CallStatement)
    assert call.span.text == "P, Q = f(A)"


# -- errors: where the first one is ---------------------------------------------------------------

HEADER = "def f(float(N) A) -> (B) {\n"


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("", "E0109", 1, 1),
        ("\n\n# nothing\n", "E0109", 1, 1),
        ("x", "E0103", 1, 1),
        ("\n  B(i) = A(i)", "E0103", 2, 3),
        ("def", "E0103", 1, 4),
        ("def f{} {}", "E0103", 1, 6),
        ("def (float A) -> (B) { B = A }", "E0103", 1, 5),
        ("def 3(float A) -> (B) { B = A }", "E0103", 1, 5),
        ("def min(float A) -> (B) { B = A }", "E0110", 1, 5),
        ("def float(float A) -> (B) { B = A }", "E0110", 1, 5),
        ("def f float A) -> (B) { B = A }", "E0103", 1, 7),
        ("def f(A) -> (B) { B = A }", "E0111", 1, 7),
        ("def f(float A, C) -> (B) { B = A }", "E0111", 1, 16),
        ("def f(flaot A) -> (B) { B = A }", "E0111", 1, 7),
        ("def f(tensor(N) A) -> (B) { B = A }", "E0111", 1, 7),
        ("def f(float in) -> (B) { B = 1 }", "E0110", 1, 13),
        ("def f(float) -> (B) { B = 1 }", "E0103", 1, 12),
        ("def f(float(N)) -> (B) { B = 1 }", "E0103", 1, 15),
        ("def f(float(N) float(M) A) -> (B) { B = 1 }", "E0103", 1, 16),
        ("def f(float A, ) -> (B) { B = A }", "E0103", 1, 16),
        ("def f(, float A) -> (B) { B = A }", "E0103", 1, 7),
        ("def f(float A float C) -> (B) { B = A }", "E0103", 1, 15),
        ("def f(float A; float C) -> (B) { B = A }", "E0113", 1, 14),
        ("def f(float A(N)) -> (B) { B = A }", "E0103", 1, 14),
        ("def f(float(N+1) A) -> (B) { B = A }", "E0103", 1, 14),
        ("def f(float(2*N) A) -> (B) { B = A }", "E0103", 1, 14),
        ("def f(float(1.5) A) -> (B) { B = A }", "E0103", 1, 13),
        ("def f(float(N,) A) -> (B) { B = A }", "E0103", 1, 15),
        ("def f(float(N A) -> (B) { B = A }", "E0103", 1, 15),
        ("def f(float[N] A) -> (B) { B = A }", "E0112", 1, 12),
        ("def f(float(max) A) -> (B) { B = A }", "E0110", 1, 13),
        ("def f(float A) (B) { B = A }", "E0103", 1, 16),
        ("def f(float A -> (B) { B = A }", "E0103", 1, 15),
        ("def f(float A) - > (B) { B = A }", "E0103", 1, 16),
        ("def f(float A) -> B { B = A }", "E0103", 1, 19),
        ("def f(float A) -> () { }", "E0103", 1, 20),
        ("def f(float A) -> (B,) { B = A }", "E0103", 1, 22),
        ("def f(float A) -> (B C) { B = A }", "E0103", 1, 22),
        ("def f(float A) -> (B(N)) { B = A }", "E0103", 1, 21),
        ("def f(float A) -> (float) { B = A }", "E0103", 1, 25),
        ("def f(float A) -> (where) { B = A }", "E0110", 1, 20),
        ("def f(float A) -> (B) B = A }", "E0103", 1, 23),
        ("def f(float A) -> (B)\n", "E0103", 2, 1),
        ("def f(float A) -> (B) { B = A", "E0103", 1, 30),
        ("def f(float A) -> (B) {\n B = A\n", "E0103", 3, 1),
        ("def f(float A) -> (B) {\n B = A\ndef g() -> (C) { C = 1 }", "E0103", 3, 1),
        ("def f(float A) -> (B) { B = A } }", "E0103", 1, 33),
        ("def f(float A) -> (B) { B = A }\nB = 2", "E0103", 2, 1),
        ("def f(float A) -> (B) { B = A };", "E0113", 1, 32),
    ],
)
def test_errors_of_definitions(text, code, line, column):
    assert errors(text)[0] == (code, line, column)
    assert len(errors(text)) == 1


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        # the left side
        ("  B(i - 1) = A(i)\n}", "E0106", 2, 5),
        ("  B(0) = A(i)\n}", "E0106", 2, 5),
        ("  B(i, 2*j) = A(i)\n}", "E0106", 2, 8),
        ("  B(A(i)) = A(i)\n}", "E0106", 2, 5),
        ("  B((i)) = A(i)\n}", "E0106", 2, 5),
        ("  B(i, ) = A(i)\n}", "E0103", 2, 8),
        ("  B(i = A(i)\n}", "E0103", 2, 7),
        ("  B[i] = A(i)\n}", "E0112", 2, 4),
        ("  B i = A(i)\n}", "E0103", 2, 5),
        ("  B.0 = A(i)\n}", "E0103", 2, 4),
        ("  min(i) = A(i)\n}", "E0103", 2, 3),
        ("  float(N) B = A(i)\n}", "E0103", 2, 3),
        ("  3 = A(i)\n}", "E0103", 2, 3),
        ("  (B) = A(i)\n}", "E0103", 2, 3),
        # the operator
        ("  B(i) -= A(i)\n}", "E0105", 2, 8),
        ("  B(i) /= A(i)\n}", "E0105", 2, 8),
        ("  B(i) -=! A(i)\n}", "E0105", 2, 8),
        ("  B(i) min = A(i)\n}", "E0105", 2, 8),
        ("  B(i) max =! A(i)\n}", "E0105", 2, 8),
        ("  B(i) + = A(i)\n}", "E0105", 2, 8),
        ("  B(i) == A(i)\n}", "E0105", 2, 8),
        ("  B(i) := A(i)\n}", "E0105", 2, 8),
        ("  B(i) <- A(i)\n}", "E0103", 2, 8),
        ("  B(i) && A(i)\n}", "E0103", 2, 8),
        ("  B(i) =+ A(i)\n}", "E0103", 2, 9),
        ("  B(i)\n}", "E0103", 3, 1),
        ("  P(i), Q = f(A)\n}", "E0103", 2, 7),
        ("  P, Q += f(A)\n}", "E0103", 2, 8),
        ("  P, Q = A\n}", "E0103", 3, 1),
        ("  P, Q = f(A(i))\n}", "E0103", 2, 13),
        ("  P, Q = f(A) where i in 0:3\n}", "E0103", 2, 15),
        ("  P, = f(A)\n}", "E0103", 2, 6),
        # the right side
        ("  B(i) =\n}", "E0103", 3, 1),
        ("  B(i) = (A(i) + A(i)\n}", "E0103", 3, 1),
        ("  B(i) = A(i\n}", "E0103", 3, 1),
        ("  B(i) = A(i) + \n}", "E0103", 3, 1),
        ("  B(i) = A(i))\n}", "E0103", 2, 14),
        ("  B(i) = A(i,)\n}", "E0103", 2, 14),
        ("  B(i) = A(, i)\n}", "E0103", 2, 12),
        ("  B(i) = A(i j)\n}", "E0103", 2, 14),
        ("  B(i) = A[i]\n}", "E0112", 2, 11),
        ("  B(i) = A(i)[0]\n}", "E0112", 2, 14),
        ("  B(i) = A(i) A(i)\n}", "E0103", 3, 1),
        ("  B(i) = 2 A(i)\n}", "E0103", 3, 1),
        ("  B(i) = 2A(i)\n}", "E0102", 2, 10),
        ("  B(i) = A(i) = 2\n}", "E0103", 2, 15),
        ("  B(i) = A(i) ** 2\n}", "E0103", 2, 16),
        ("  B(i) = A(i) ++ 2\n}", "E0103", 2, 16),
        ("  B(i) = * A(i)\n}", "E0103", 2, 10),
        ("  B(i) = a < b < c\n}", "E0104", 2, 16),
        ("  B(i) = a == b != c\n}", "E0104", 2, 17),
        ("  B(i) = x && a < b <= c\n}", "E0104", 2, 21),
        ("  B(i) = a => b\n}", "E0103", 2, 12),
        ("  B(i) = a <> b\n}", "E0103", 2, 13),
        ("  B(i) = a === b\n}", "E0103", 2, 14),
        ("  B(i) = a ? b\n}", "E0103", 3, 1),
        ("  B(i) = a ? : b\n}", "E0103", 2, 14),
        ("  B(i) = a & b\n}", "E0101", 2, 12),
        ("  B(i) = min(a)\n}", "E0103", 2, 15),
        ("  B(i) = min(a, b, c)\n}", "E0103", 2, 18),
        ("  B(i) = max\n}", "E0103", 3, 1),
        ("  B(i) = float\n}", "E0103", 3, 1),
        ("  B(i) = float()\n}", "E0103", 2, 16),
        ("  B(i) = float(a, b)\n}", "E0103", 2, 17),
        ("  B(i) = A.n\n}", "E0103", 2, 12),
        ("  B(i) = A.1.5\n}", "E0103", 2, 13),
        ("  B(i) = A.-1\n}", "E0103", 2, 12),
        ("  B(i) = A(i) where\n}", "E0103", 3, 1),
        ("  B(i) = A(i); B(i) = 2\n}", "E0113", 2, 14),
        ("  B(i) = A(i)  // sum\n}", "E0107", 2, 16),
        ("  // sum\n  B(i) = A(i)\n}", "E0107", 2, 3),
        ('  B(i) = "x"\n}', "E0101", 2, 10),
        ("  return B\n}", "E0103", 2, 10),
        # clauses
        ("  B(i) = A(i) where i\n}", "E0103", 3, 1),
        ("  B(i) = A(i) where i in\n}", "E0103", 3, 1),
        ("  B(i) = A(i) where i in 0\n}", "E0103", 3, 1),
        ("  B(i) = A(i) where i in 0, N\n}", "E0103", 2, 27),
        ("  B(i) = A(i) where i in 0 N\n}", "E0103", 2, 28),
        ("  B(i) = A(i) where i in 0:\n}", "E0103", 3, 1),
        ("  B(i) = A(i) where i in 0:N:2\n}", "E0103", 2, 29),
        ("  B(i) = A(i) where i in 0..2\n}", "E0103", 2, 28),
        ("  B(i) = A(i) where i in 0..N\n}", "E0103", 2, 28),
        ("  B(i) = A(i) where i in lo..N\n}", "E0103", 2, 29),
        ("  B(i) = A(i) where i = 0:N\n}", "E0103", 2, 26),
        ("  B(i) = A(i) where i in 0:N,\n}", "E0103", 3, 1),
        ("  B(i) = A(i) where 0 <= i\n}", "E0103", 2, 21),
        ("  B(i) = A(i) where exists\n}", "E0103", 3, 1),
        ("  B(i) = A(i) where i in 0:N where j in 0:N\n}", "E0103", 2, 30),
        ("  B(i) = A(i) where i in 0:N <=> g(i)\n}", "E0103", 2, 30),
        ("  B(i) = A(i) <=> 3\n}", "E0103", 2, 19),
        ("  B(i) = A(i) <=> g\n}", "E0103", 3, 1),
    ],
)
def test_errors_of_statements(text, code, line, column):
    found = errors(HEADER + text)
    assert found[0] == (code, line, column)
    assert len(found) == 1


# -- errors: the words -------------------------------------------------------------------------


def test_unclosed_parenthesis():
    report = Report()
    parse(Source("t.tc", HEADER + "  B(i) = (A(i)\n}"), report)
    (found,) = report.items
    assert found.message == "expected `)`, found `}`"
    assert [(s.span.text, s.span.column, s.text) for s in found.secondary] == [
        ("(", 10, "opened here")
    ]


@pytest.mark.parametrize(
    ("text", "message", "advice"),
    [
        ("B min = 2", "`min=` has a blank inside", "write `min=`"),
        ("B -= 2", "`-=` is not an assignment operator", "use `+=` and negate the right side"),
        ("B = a // 2", "`//` does not start a comment", "comments start with `#`"),
        ("B = a ** 2", "expected an expression, found `*`", "pow(a, b)"),
        ("B = a where i in 0..2", "expected `:` between the bounds, found `.2`", "low:high"),
        ("B = a < b < c", "comparisons do not chain", "write `a < b && b < c`"),
        ("B = (a+b) < c*d == e", "comparisons do not chain", "a + b < c * d && c * d == e"),
        ("B = 2x", "`2x` is not a number", "write `2 * x`"),
        ("B = 0x1F", "`0x1F` is not a number", "decimal"),
        ("B = A(i,)", "expected an expression, found `)`", "remove the `,` before it"),
        ("B =\n C = 2", "expected an operator or the next statement, found `=`", "line above"),
    ],
)
def test_messages(text, message, advice):
    report = Report()
    parse(Source("t.tc", f"def f() -> (B) {{ {text} }}"), report)
    assert message in report.items[0].message
    assert any(advice in h for h in report.items[0].help)


def test_the_end_is_named():
    assert first_message("def f") == "expected `(`, found the end of the file"


def test_long_words_are_cut_in_messages():
    assert len(first_message("x" * 5000)) < 100


# -- recovery --------------------------------------------------------------------------------------


def test_every_statement_is_reported():
    text = """def f(float(N) A, float A(N)) -> (B, C(N)) {
    B(i) -= A(i
    B[i] = A[i]
    C(i + 1) = A(i);
    D(i) = (A(i)
    E(i) = A(i) @ 2
    F(i) = A(i) ** 2 + A(i
    G(i) = A(i) where i in 0..N
    H(i) = A(i)
    I(i) = 0x1 + a < b < c
}
def g() -> B { B = 1 }
def h() -> (B) { B = + }
"""
    assert errors(text) == [
        ("E0103", 1, 26),
        ("E0103", 1, 39),
        ("E0105", 2, 10),
        ("E0103", 3, 5),
        ("E0112", 3, 6),
        ("E0112", 3, 13),
        ("E0106", 4, 7),
        ("E0113", 4, 20),
        ("E0103", 6, 5),
        ("E0101", 6, 17),
        ("E0103", 7, 18),
        ("E0103", 8, 30),
        ("E0102", 10, 12),
        ("E0104", 10, 24),
        ("E0103", 12, 12),
        ("E0103", 13, 22),
    ]


def test_a_foreign_block_is_one_error():
    text = HEADER + "  for (i = 0; i < 3) { B(i) = A(i) }\n  C(i) = A(i)\n}\ndef g() -> (B) { B = }"
    assert errors(text) == [("E0103", 2, 10), ("E0103", 5, 22)]


def test_recovery_before_a_call_and_a_long_left_side():
    text = HEADER + "  B = +\n  P, Q = f(A\n  B = +\n  P, Q = f(A)\n  B = +\n"
    long = ", ".join(f"i{k}" for k in range(50))
    assert errors(text + f"  B({long}) = +\n  C = +\n}}") == [
        ("E0103", 2, 7),
        ("E0103", 4, 3),
        ("E0103", 4, 7),
        ("E0103", 6, 7),
        ("E0103", 8, 7),
    ]


def test_recovery_does_not_start_inside_clauses():
    text = HEADER + "  B = + where x = 1,\n y = 2,\n z = where\n w = 3\n  C = +\n}"
    assert errors(text) == [("E0103", 2, 7), ("E0103", 6, 7)]


def test_the_help_for_a_long_chain_repeats_nothing_of_it():
    report = Report()
    parse(Source("t.tc", f"def f() -> (B) {{ B = {'a + ' * 30}b < c < d }}"), report)
    assert [(d.code, d.help) for d in report.items] == [
        ("E0104", ("join two comparisons by `&&`",))
    ]


def test_a_lost_parenthesis_is_one_error():
    assert errors("def f(float(A, B, C, D) X, floatN, M, K) Y) -> (Z) { }") == [("E0111", 1, 28)]
    assert errors("def f(A, B, float C, D) -> (Z) { }") == [
        ("E0111", 1, 7),
        ("E0111", 1, 10),
        ("E0111", 1, 22),
    ]
    assert errors(HEADER + "  B(i) = A A(i + 1) / 2\n}") == [("E0106", 2, 14)]


def test_a_reserved_word_does_not_hide_the_next_error():
    text = "def in(float(N) max, float where) -> (exists, B) { B = + }"
    assert errors(text) == [
        ("E0110", 1, 5),
        ("E0110", 1, 17),
        ("E0110", 1, 28),
        ("E0110", 1, 39),
        ("E0103", 1, 56),
    ]
    assert errors("def def f(float(N) in A) -> (B) { B = 1 }") == [
        ("E0110", 1, 5),
        ("E0110", 1, 20),
    ]


def test_definitions_without_errors_are_kept():
    report = Report()
    text = "def f() -> (B) { B = @ }\ndef g() -> (B) { B = 1 }\ndef h() -> (B) { B(0) = 1 }\ndef k("
    module = parse(Source("t.tc", text), report)
    assert [d.name.text for d in module.definitions] == ["g"]
    assert [d.code for d in report.items] == ["E0101", "E0106", "E0103"]


def test_a_missing_brace_does_not_swallow_the_next_def():
    report = Report()
    text = "def f() -> (B) { B = 1\ndef g() -> (B) { B = 1 }"
    module = parse(Source("t.tc", text), report)
    assert [d.name.text for d in module.definitions] == ["g"]


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("(", ")"), ("-", ""), ("!", ""), ("exp(", ")"), ("float(", ")"), ("min(a, ", ")")],
)
def test_nesting(opening, closing):
    def text(levels):
        return f"def f() -> (B) {{ B = {opening * levels}x{closing * levels} }}"

    assert errors(text(MAX_NESTING - 1)) == []
    assert [e[0] for e in errors(text(MAX_NESTING))] == ["E0108"]
    assert [e[0] for e in errors(text(5_000))] == ["E0108"]


def test_nested_conditionals():
    assert errors(f"def f() -> (B) {{ B = {'a ? b : ' * 150}c }}") == []
    assert errors(f"def f() -> (B) {{ B = {'a ? ' * 150}b{' : c' * 150} }}") == []
    assert errors(f"def f() -> (B) {{ B = {'a ? b : ' * 1000}c }}")[0][0] == "E0108"


def test_long_sums():
    def text(terms):
        return f"def f() -> (B) {{ B = a{' + a' * (terms - 1)} }}"

    assert errors(text(MAX_DEPTH)) == []
    assert errors(text(MAX_DEPTH + 1)) == [("E0108", 1, 22)]
    assert errors(text(10_000)) == [("E0108", 1, 22)]


def test_nested_sums_add_up():
    inner = "a" + " + a" * 200
    assert errors(f"def f() -> (B) {{ B = x where x = {inner} }}") == []
    assert errors(f"def f() -> (B) {{ B = exp({inner} + b) + c * ({inner}) }}") == []
    nested = f"({inner}){' + b' * 200}"
    for clause in (f"x = {nested}", f"exists {nested}", f"x in 0:{nested}", f"x in {nested}:1"):
        assert [e[0] for e in errors(f"def f() -> (B) {{ B = x where {clause} }}")] == ["E0108"]
    assert [e[0] for e in errors(f"def f() -> (B) {{ B = x <=> g({nested}) }}")] == ["E0108"]


def test_five_hundred_statements():
    lines = "\n".join(f"  T{k}(i) = A(i) + T{k - 1}(i)" for k in range(1, 500))
    module = parsed(f"def f(float(N) A) -> (B) {{\n  T0(i) = A(i)\n{lines}\n}}")
    assert len(module.definitions[0].statements) == 500


def test_the_package_makes_room_for_recursion():
    assert sys.getrecursionlimit() >= 2000
