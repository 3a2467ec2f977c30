"""Explicit ranges: which bounds are allowed, what is wrong with others, what to write instead."""

from __future__ import annotations

import re

import pytest

from tests.frontend.elaborated import attempt, places, program

SIGNATURE = "float(N, M) X, float(N) V, int(N) K, int s"

# clauses of `Y(i) +=! X(i, k)` in line 2, and the findings
CLAUSES = {
    "k in 0:M": "",
    "k in 1:M - 1": "",
    "k in 0:N * M": "",
    "k in 0:min(M, N / 2)": "",
    "k in max(0, M - 3):M": "",
    "k in 0:X.1": "",
    "k in 0:int64(M)": "",
    "k in 0:i, i in 0:N": "",
    "k in i:M": "",
    "k in 0:s": "E0303 2:35",
    "k in s:M": "E0303 2:33",
    "k in 0:K(0)": "E0303 2:35",
    "k in 0:K(i)": "E0303 2:35",
    "a = M - 1, k in 0:a": "",
    "k in 0:M / N": "E0305 2:35",
    "k in 0:i * i": "E0305 2:35",
    "k in 0:(N > 2 ? 2 : 1)": "E0305 2:36",
    "k in 0:2.5": "E0210 2:35",
    "k in 0:M > 3": "E0210 2:35",
    "k in 0:exp(M)": "E0210 2:35",
    "k in 0:Q": "E0201 2:35",
    "i in 0:k": "E0304 2:35",
    "i in k:N": "E0304 2:33",
    "i in 0:i": "E0304 2:35",
    "k in 0:k": "E0304 2:28",
    "k in 3:3": "E0302 2:28",
    "k in 4:3": "E0302 2:28",
    "k in 0:M - M": "E0302 2:28",
    "k in M:M": "E0302 2:28",
    "k in i:0": "E0302 2:28",
    "k in 0:0 - N": "E0302 2:28",
    "k in 0:3, i in N:N": "E0302 2:38",
}


@pytest.mark.parametrize("clause", CLAUSES)
def test_bounds(clause):
    text = f"def f({SIGNATURE}) -> (Y) {{\n    Y(i) +=! X(i, k) where {clause}\n}}"
    assert " ".join(p for p in places(text) if p[0] == "E") == CLAUSES[clause]


def test_ranges_in_a_circle():
    text = "def f(float(N, M) X) -> (Y) { Y +=! X(i, k) where i in 0:k, k in 0:i }"
    assert places(text) == ["E0304 1:51", "E0304 1:61"]


def test_a_bound_may_become_affine_with_known_sizes():
    text = "def f(float(N) X, float(M) Z) -> (Y) { Y(i) = X(i) where i in 0:N / M }"
    assert places(text) == ["E0305 1:65"]
    assert str(program(text, M=2).statements[0].ranges["i"].high) == "N / 2"


def test_empty_by_the_given_sizes():
    text = "def f(float(N) X) -> (Y) { Y(i) = X(i) where i in 3:N - 1 }"
    assert places(text) == []
    assert places(text, N=5) == []
    assert places(text, N=4) == ["E0302 1:46"]
    _, (finding,) = attempt(text, N=4)
    assert finding.notes == ("with N = 4",)


def test_inferred_ranges_may_be_empty():
    text = "def f(float(N) X, float(K) W) -> (Y) {\n    Y(i) +=! X(i + k) * W(k)\n}"
    assert places(text, N=3, K=3) == []
    assert places(text, N=2, K=3) == ["E0302 2:5"]
    assert places("def f(float(3) X) -> (Y) { Y(i) = X(i) + X(i + 3) }") == ["E0302 1:28"]


def test_an_empty_range_hides_its_consequences():
    text = "def f(float(N) X) -> (Y, Z) { Y(i) = X(i) where i in 3:N Z(i) = Y(i) + Y(i + 1) }"
    assert places(text, N=2) == ["E0302 1:49"]


READS = {
    "X(i + 1) where i in 0:N": "E0307 1:35",
    "X(i - 1) where i in 0:N": "E0307 1:35",
    "X(N) where i in 0:N": "E0307 1:35",
    "X(-1) where i in 0:N": "E0307 1:35",
    "X(i + N) where i in 0:3": "E0307 1:35",
    "X(i) + X(i + 1) where i in 0:N": "E0307 1:42",
    "X(2 * i) where i in 0:N": "",
    "X(i / 2) where i in 0:2 * N": "",
    "X(i / 2) where i in 0:2 * N + 1": "E0307 1:35",
    "X(N - 1 - i) where i in 0:N": "",
    "X(N - i) where i in 0:N": "E0307 1:35",
    "X(min(i, N - 1)) where i in 0:2 * N": "",
    "i > 0 ? X(i - 1) : 0.0 where i in 0:N": "",
    "i > 0 && X(i - 1) > 0.0 ? 1 : 0 where i in 0:N": "",
    "X(i - 1) > 0.0 ? 1 : 0 where i in 0:N": "E0307 1:35",
    "1.0 where i in 0:N, exists X(i + 1)": "",
    "X(i % 3) where i in 0:10": "",
    "X(i % N) where i in 0:10": "",
}


@pytest.mark.parametrize("right", READS)
def test_reads_against_explicit_ranges(right):
    """What is wrong for every size; the rest is a precondition or left to the exact check."""
    assert " ".join(places(f"def f(float(N) X) -> (Y) {{ Y(i) = {right} }}")) == READS[right]


MISSING = [
    ("float(N) X", "Y(n) +=! X(n + k)", "where k in 0:3"),
    ("float(N) X", "Y(n) = 1.0", "where n in 0:N"),
    ("float s", "Y(n) = s", "where n in 0:3"),
    ("float(H, W) X", "Y(h, w) +=! X(h + a, w + b)", "where a in 0:3, b in 0:3"),
    ("float(N, M) X", "Y(i, j) = X(10 + i - j, i + j)", "where i in 0:3"),
    ("float(N) X, int(N) K", "Y(n) = X(K(n) + m) where m in 0:2", None),
    ("float(N) X", "Y(n) = X(n % 2)", "where n in 0:3"),
    ("float(N) X", "Y(n, m) = X(n)", "where m in 0:N"),
]


@pytest.mark.parametrize(("inputs", "statement", "suggested"), MISSING)
def test_the_suggested_range_would_do(inputs, statement, suggested):
    text = f"def f({inputs}) -> (Y) {{\n    {statement}\n}}"
    if suggested is None:
        assert places(text) == ["E0215 2:5"]
        return
    _, (finding,) = attempt(text)
    assert (finding.code, finding.line, finding.column) == ("E0301", 2, 5)
    assert "`where`" in finding.message
    (advice,) = re.findall("`(where .*)`", finding.help[0])
    assert advice == suggested
    assert [p for p in places(text.replace("\n}", f" {advice}\n}}")) if "E0301" in p] == []


def test_a_later_statement_is_told_the_shape_of_its_target():
    text = "def f(float(N) X) -> (Y) { Y(i) = X(2 * i) Y(i) = 2.0 }"
    _, (finding,) = attempt(text)
    assert finding.help == ("for example: `where i in 0:(N + 1) / 2`",)


PARTIAL = {
    "k in 0:M - 1": "W0301 2:28",
    "k in 1:M": "W0301 2:28",
    "k in 0:M": "",
    "k in 0:2": "",
    "k in 0:i": "",
}


@pytest.mark.parametrize("clause", PARTIAL)
def test_reductions_over_a_part(clause):
    text = f"def f(float(N, M) X) -> (Y) {{\n    Y(i) +=! X(i, k) where {clause}\n}}"
    assert " ".join(places(text)) == PARTIAL[clause]


def test_reductions_over_a_part_by_the_given_sizes():
    text = "def f(float(N, M) X) -> (Y) { Y(i) +=! X(i, k) where k in 0:2 }"
    assert places(text, M=2) == []
    assert places(text, M=3) == ["W0301 1:54"]
    shifted = text.replace("X(i, k)", "X(i, k + 0 * i)")
    assert places(shifted, M=3) == []
    assert places(text.replace("Y(i) +=! X(i, k)", "Y(i, k) = X(i, k)"), M=3) == []


DECLARED = [
    ("float(N)", "X(i)", {}, []),
    ("float(M)", "X(i)", {}, []),
    ("float(M)", "X(i)", {"N": 3, "M": 4}, ["E0306 1:41"]),
    ("float(M)", "X(i)", {"N": 4, "M": 4}, []),
    ("float(3)", "X(i)", {"N": 4}, ["E0306 1:41"]),
    ("float(3)", "X(i)", {"N": 3}, []),
    ("float(N)", "X(i + 1)", {"N": 4}, []),
    ("float(N)", "X(i) where i in 1:N", {}, ["E0306 1:41"]),
]


@pytest.mark.parametrize(("declared", "right", "sizes", "expected"), DECLARED)
def test_declared_dimensions(declared, right, sizes, expected):
    text = f"def f(float(N) X, float(M) Z) -> ({declared} Y) {{ Y(i) = {right} }}"
    assert places(text, **sizes) == expected


def test_a_declared_dimension_is_a_precondition_while_sizes_are_open():
    found = program("def f(float(N) X, float(M) Z) -> (float(M) Y) { Y(i) = X(i) }")
    assert {str(p.expression) for p in found.preconditions} == {"M - N", "N - M"}
