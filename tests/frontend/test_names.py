"""Names: what they may be, and where a wrong one is reported."""

from __future__ import annotations

import pytest

from tests.frontend.elaborated import attempt, places, program

# What is wrong, the program, and the findings.
REJECTED = {
    # signatures
    "duplicate input": ("def f(float(N) X, float(N) X) -> (Y) { Y(i) = X(i) }", "E0202 1:28"),
    "input named like a size": ("def f(float(N) N) -> (Y) { Y(i) = N(i) }", "E0202 1:16"),
    "size named like an input": ("def f(float N, float(N) X) -> (Y) { Y(i) = X(i) }", "E0202 1:22"),
    "input and output": ("def f(float(N) X) -> (X) { X(i) = 1.0 where i in 0:N }", "E0202 1:23"),
    "output named like a size": ("def f(float(N) X) -> (N) { N +=! X(i) }", "E0202 1:23"),
    "duplicate output": ("def f(float(N) X) -> (Y, Y) { Y(i) = X(i) }", "E0202 1:26"),
    "builtin as input": ("def f(float(N) exp) -> (Y) { Y(i) = exp(i) }", "E0203 1:16"),
    "builtin as output": ("def f(float(N) X) -> (relu) { relu(i) = X(i) }", "E0203 1:23"),
    "builtin as size": ("def f(float(y0) X) -> (Y) { Y(i) = X(i) }", "E0203 1:13"),
    "unknown size of an output": (
        "def f(float(N) X) -> (float(M) Y) { Y(i) = X(i) }",
        "E0201 1:29",
    ),
    "dimension of zero": ("def f(float(0) X) -> (Y) { Y(i) = X(i) }", "E0308 1:13"),
    "dimension beyond int32": ("def f(float(2147483648) X) -> (Y) { Y(i) = X(i) }", "E0308 1:13"),
    # targets
    "input written": ("def f(float(N) X) -> (Y) { X(i) = 1.0 where i in 0:N }", "E0204 1:28"),
    "size written": ("def f(float(N) X) -> (Y) { N +=! X(i) }", "E0203 1:28"),
    "builtin written": ("def f(float(N) X) -> (Y) { exp(i) = X(i) }", "E0203 1:28"),
    "output never assigned": ("def f(float(N) X) -> (Y, Z) { Y(i) = X(i) }", "E0205 1:26"),
    "output assigned by no statement": ("def f(float(N) X) -> (Y) { }", "E0205 1:23"),
    "target nobody reads": ("def f(float(N) X) -> (Y) { Z(i) = X(i) }", "E0207 1:28"),
    "temporary nobody reads": (
        "def f(float(N) X) -> (Y) { T(i) = X(i) Y(i) = X(i) }",
        "E0207 1:28",
    ),
    "temporary updated before it is set": (
        "def f(float(N) X) -> (Y) { T(i) += X(i) Y(i) = T(i) }",
        "E0220 1:28",
    ),
    "another rank than before": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) Y(i, j) = X(i) where j in 0:2 }",
        "E0225 1:40",
    ),
    "another rank than declared": (
        "def f(float(N) X) -> (float Y) { Y(i) = X(i) }",
        "E0225 1:34",
    ),
    # left-hand indices
    "index twice": ("def f(float(N) X) -> (Y) { Y(i, i) = X(i) }", "E0202 1:33"),
    "index named like a size": ("def f(float(N) X) -> (Y) { Y(N) = X(N) }", "E0203 1:30"),
    "index named like an input": ("def f(float(N) X) -> (Y) { Y(X) = X(X) }", "E0203 1:30"),
    "index named like an output": (
        "def f(float(N) X) -> (Y, Z) { Y(Z) = X(Z) Z(i) = X(i) }",
        "E0203 1:33",
    ),
    "index named like its target": ("def f(float(N) X) -> (Y) { Y(Y) = X(Y) }", "E0203 1:30"),
    "index named like a builtin": ("def f(float(N) X) -> (Y) { Y(j0) = X(j0) }", "E0203 1:30"),
    "index named like a temporary": (
        "def f(float(N) X) -> (Y) { T(i) = X(i) Y(T) = X(T) }",
        "E0203 1:42",
    ),
    "target named like an index": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) i = 3 Y(j) = Y(j) + i }",
        "E0203 1:40",
    ),
    # the right side
    "unknown tensor": ("def f(float(N) X) -> (Y) { Y(i) = XX(i) }", "E0201 1:35"),
    "unknown scalar": ("def f(float(N) X) -> (Y) { Y(i) = X(i) * alpha }", "E0201 1:42"),
    "unknown scalar in a reduction": (
        "def f(float(N, M) X) -> (Y) { Y(i) +=! X(i, k) * alpha }",
        "E0201 1:50",
    ),
    "unknown name twice is one error": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) * a + a }",
        "E0201 1:42",
    ),
    "read before it is written": ("def f(float(N) X) -> (Y) { Y(i) = Y(i) + X(i) }", "E0220 1:35"),
    "temporary read before it is written": (
        "def f(float(N) X) -> (Y) { Y(i) = T(i) T(i) = X(i) }",
        "E0220 1:35",
    ),
    "target as an index on the right": (
        "def f(float(N, N) X) -> (Y) { T(n) max=! X(n, T) Y(n) = T(n) }",
        "E0220 1:47",
    ),
    "scalar temporary read before it is written": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) / T T +=! X(i) }",
        "E0220 1:42",
    ),
    "index called": ("def f(float(N) X) -> (Y) { Y(i) = i(0) + X(i) }", "E0209 1:35"),
    "size called": ("def f(float(N) X) -> (Y) { Y(i) = N(i) + X(i) }", "E0209 1:35"),
    "where name called": (
        "def f(float(N) X) -> (Y) { Y(i) = a(i) + X(i) where a = 2.0 }",
        "E0209 1:35",
    ),
    "bare builtin": ("def f(float(N) X) -> (Y) { Y(i) = X(i) + exp }", "E0216 1:42"),
    "bare tensor": ("def f(float(N) X) -> (Y) { Y(i) = X + X(i) }", "E0208 1:35"),
    "scalar with subscript": (
        "def f(float a, float(N) X) -> (Y) { Y(i) = X(i) * a(i) }",
        "E0208 1:51",
    ),
    "too few subscripts": ("def f(float(N, M) X) -> (Y) { Y(i) = X(i) }", "E0208 1:38"),
    "too many subscripts": ("def f(float(N) X) -> (Y) { Y(i) = X(i, 0) }", "E0208 1:35"),
    "no such dimension": ("def f(float(N) X) -> (Y) { Y(i) = X(i) / X.1 }", "E0221 1:44"),
    "extent of a size": ("def f(float(N) X) -> (Y) { Y(i) = X(i) / N.0 }", "E0209 1:42"),
    "extent of an unknown tensor": ("def f(float(N) X) -> (Y) { Y(i) = X(i) / Z.0 }", "E0201 1:42"),
    "extent of what is not yet written": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) / Y.0 }",
        "E0220 1:42",
    ),
    "wrong arity": ("def f(float(N) X) -> (Y) { Y(i) = pow(X(i)) }", "E0216 1:35"),
    "reduction without an operator": (
        "def f(float(N, M) X) -> (Y) { Y(i) = X(i, k) }",
        "E0215 1:31",
    ),
    # where
    "range twice": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) where i in 0:2, i in 0:3 }",
        "E0202 1:56",
    ),
    "range of a size": ("def f(float(N) X) -> (Y) { Y(i) = X(i) where N in 0:2 }", "E0203 1:46"),
    "range of a tensor": ("def f(float(N) X) -> (Y) { Y(i) = X(i) where X in 0:2 }", "E0203 1:46"),
    "range of a where name": (
        "def f(float(N) X) -> (Y) { Y(i) = a where a = X(i), a in 0:2 }",
        "E0203 1:53",
    ),
    "range of nothing": ("def f(float(N) X) -> (Y) { Y(i) = X(i) where k in 0:2 }", "E0219 1:46"),
    "range for an unused where name": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) where a = X(k), k in 0:2 }",
        "E0219 1:56",
    ),
    "where name twice": (
        "def f(float(N) X) -> (Y) { Y(i) = a where a = X(i), a = 2.0 }",
        "E0202 1:53",
    ),
    "where name is a size": ("def f(float(N) X) -> (Y) { Y(i) = X(i) where N = 3 }", "E0203 1:46"),
    "where name is a tensor": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) where X = 3 }",
        "E0203 1:46",
    ),
    "where name is an index": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) where i = 3 }",
        "E0203 1:46",
    ),
    "where name is a builtin": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) where exp = 3 }",
        "E0203 1:46",
    ),
    "where name used too early": (
        "def f(float(N) X) -> (Y) { Y(i) = b where b = a, a = X(i) }",
        "E0201 1:47",
    ),
    "where name in itself": (
        "def f(float(N) X) -> (Y) { Y(i) = a where a = a + X(i) }",
        "E0201 1:47",
    ),
    "unknown name in a bound": (
        "def f(float(N) X) -> (Y) { Y(i) +=! X(k) where i in 0:2, k in 0:K }",
        "E0201 1:65",
    ),
    "errors in the equivalent": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) <=> copy(Z(i)) }",
        "E0201 1:49",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_rejected(name):
    text, expected = REJECTED[name]
    assert " ".join(places(text)) == expected


ACCEPTED = {
    "def named like its output": "def Y(float(N) X) -> (Y) { Y(i) = X(i) }",
    "def named like a builtin": "def relu(float(N) X) -> (Y) { Y(i) = relu(X(i)) }",
    "index named like a def": "def i(float(N) X) -> (Y) { Y(i) = X(i) }",
    "index as a value": "def f(float(N) X) -> (Y) { Y(i) = X(i) + i }",
    "index with a range only": "def f(float(N) X) -> (Y) { Y(i) +=! X(i) * k where k in 0:3 }",
    "index in another range only": (
        "def f(float(N) X) -> (Y) { Y(i) +=! X(i) where k in 0:r, r in 0:3, exists X(k) }"
    ),
    "index under exists only": "def f(float(N) X) -> (Y) { Y = 1.0 where exists X(i) }",
    "temporary": "def f(float(N) X) -> (Y) { T(i) = X(i) Y(i) = T(i) }",
    "temporary of rank 0": "def f(float(N) X) -> (Y) { T +=! X(i) Y(i) = X(i) / T }",
    "rank 0 with parentheses": "def f(float a) -> (b) { b() = a() + a }",
    "unused where name": "def f(float(N) X) -> (Y) { Y(i) = X(i) where a = 3 }",
    "where names in a row": (
        "def f(float(N) X) -> (Y) { Y(i) = c where a = X(i), b = a * a, c = a + b }"
    ),
    "where name in a bound": "def f(float(N) X) -> (Y) { Y(i) = X(i) where m = N - 1, i in 0:m }",
    "where name in a subscript": "def f(float(N) X) -> (Y) { Y(i) = X(k) where k = N - 1 - i }",
    "equivalent with whole tensors": "def f(float(N) X) -> (Y) { Y(i) = X(i) <=> copy(X, X(i)) }",
    "no inputs": "def f() -> (b) { b(i) = 4 where i in 0:10 }",
    "statements disagree on index names": (
        "def f(float(N) X) -> (Y) { Y(i) = X(i) Y(j) = Y(j) + 1.0 }"
    ),
    "same index name in two statements": (
        "def f(float(N) X, float(M) Z) -> (A, B) { A(i) = X(i) B(i) = Z(i) }"
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name):
    assert places(ACCEPTED[name]) == []


def test_an_index_in_a_bound_of_a_loop_is_a_loop():
    text = "def f(float(N) X) -> (Y) { Y(i) +=! X(i) * k where r in 0:3, k in 0:r + 1 }"
    statement = program(text).statements[0]
    assert statement.reductions == ("r", "k")


def test_an_index_under_exists_is_no_loop():
    text = "def f(float(N) X) -> (Y) { Y(i) = 1.0 where exists X(i + k), k in 0:3 }"
    statement = program(text).statements[0]
    assert statement.reductions == ()
    assert str(statement.ranges["i"].high) == "N - 2"
    assert list(statement.ranges) == ["i"]


@pytest.mark.parametrize(
    ("right", "meant"),
    [
        ("Wieght(i)", "Weight"),
        ("weight(i)", "Weight"),
        ("Weight(i) * Bach", "Batch"),
        ("sqr(Weight(i))", "sqrt"),
        ("Weight(i) * scal where scale = 2.0", "scale"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(right, meant):
    text = f"def f(float(Batch) Weight) -> (Y) {{ Y(i) = {right} }}"
    _, (finding,) = attempt(text)
    assert finding.code == "E0201"
    assert finding.help == (f"did you mean `{meant}`?",)


def test_a_lost_result_suggests_the_output_that_nothing_writes():
    _, (finding,) = attempt("def f(float(N) X) -> (Y, Sum) { Y(i) = X(i) Smu +=! X(i) }")
    assert (finding.code, finding.help) == ("E0207", ("did you mean `Sum`?",))


def test_an_update_before_the_first_write_is_in_out():
    found, (finding,) = attempt("def f(float(N) X) -> (Y) { Y(i) += X(i) }")
    assert found is not None
    assert found.inouts == ("Y",)
    assert (finding.code, finding.line, finding.column) == ("W0210", 1, 33)
    assert "`+=!`" in finding.help[0]


@pytest.mark.parametrize(
    "statements",
    [
        "Y(i) +=! X(i)",
        "Y(i) = X(i) Y(i) *= X(i)",
        "Y(i) max=! X(i) Y(i) min= X(i)",
    ],
)
def test_no_warning_where_the_start_value_is_set(statements):
    assert places(f"def f(float(N) X) -> (Y) {{ {statements} }}") == []


@pytest.mark.parametrize("operator", ["+=", "*=", "min=", "max="])
def test_a_warning_names_the_initialising_operator(operator):
    _, (finding,) = attempt(f"def f(float(N) X) -> (Y) {{ Y(i) {operator} X(i) }}")
    assert finding.code == "W0210"
    assert f"`{operator}!`" in finding.help[0]


def test_independent_errors_are_all_reported():
    text = """
def f(float(N) X, float(N) Z) -> (Y, W) {
    Y(i) = X(i) + A(i) * B(i)
    W(i) = Y(i) + Z(i, i)
    V(i) = W(i)
}
"""
    assert places(text) == ["E0201 3:19", "E0201 3:26", "E0208 4:19", "E0207 5:5"]


def test_consequences_of_an_error_are_not_reported():
    text = """
def f(float(N) X) -> (Y, W) {
    Y(i) = A(i)
    W(i) = Y(i) + X(i)
    W(i) = W(i) + Y(i + 1)
}
"""
    assert places(text) == ["E0201 3:12"]
