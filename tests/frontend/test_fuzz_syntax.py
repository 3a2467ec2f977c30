"""Ten thousand damaged programs: a tree or diagnostics inside the file, never a crash."""

import random
import re
import time

import pytest

from tcc.diagnostics import Report
from tcc.frontend.canonical import canonical
from tcc.frontend.parser import parse
from tcc.frontend.sexpr import sexpr
from tcc.frontend.tokens import KEYWORDS, SYMBOLS
from tcc.frontend.unparse import format_source, unparse
from tcc.render import render_json, render_short, render_text
from tcc.source import Source

BATCHES, BATCH = 20, 500
LONGEST_SECONDS = 2.0

PROGRAMS = [
    """\
# matrix product
def matmul(float(M, K) A, float(K, N) B) -> (C) {
    C(m, n) +=! A(m, r_k) * B(r_k, n)  # one term
}
""",
    """\
def pool(float(C, N) X, double s) -> (float(C, N) Y, half Z) {
    Y(c, n) max=! -X(c, 2 * n + k) / (s + 1e-3) where k in 0:2, x = k % 3, exists X(c, n)
    Z = Y(0, X.1 - 1) > 0.5 && !(s <= 3.) ? min(s, .25) : float(int32(s))
}
def use(float(C, N) X) -> (P) {
    P, Q = pool(X, X)
    P(c, n) = P(c, n) + Q <=> add(P(c, n), Q)
}
""",
    "def f(bool(3) A) -> (B) { B(i) min= A(i) ? 1 : A(i) == A(i) || A(i) ? 2 : 3 }",
    "def g() -> (S) { S = 1 }",
]
ODD = [
    *"@$;[]{}().,:?#\"'\\|&^~`",
    "\0",
    "\r",
    "\n",
    "\t",
    "\ufeff",
    "é",
    "\N{MINUS SIGN}",
    "\ud800",
    "٣",
    "\u200b",
]
WORDS = [
    *SYMBOLS,
    *KEYWORDS,
    "float",
    "int8",
    "x",
    "A",
    "0",
    "1.5",
    "7e",
    "0x3",
    "//",
    "/*",
    "..",
    "-=",
]
PIECES = re.compile(r"\w+|\s+|[^\w\s]+")


def damaged(rng):
    """A program after one to six random edits of characters or of words."""
    text = rng.choice(PROGRAMS)
    for _ in range(rng.randint(1, 6)):
        text = edit_words(text, rng) if rng.random() < 0.5 else edit_characters(text, rng)
    return text


def edit_characters(text, rng):
    at, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
    near = min(end, at + 8)
    match rng.randint(0, 5):
        case 0:
            return text[:at] + text[near:]
        case 1:
            return text[:at] + rng.choice(ODD) + text[at:]
        case 2:
            return text[:at] + text[at:end] * 2 + text[end:] if len(text) < 2000 else text
        case 3:
            return text[:at]
        case 4:
            return text[at:]
        case _:
            return text[:at] + rng.choice("()-!") * rng.randint(1, 300) + text[at:]


def edit_words(text, rng):
    words = PIECES.findall(text)
    if not words:
        return rng.choice(WORDS)
    at, other = rng.randrange(len(words)), rng.randrange(len(words))
    match rng.randint(0, 3):
        case 0:
            del words[at]
        case 1:
            words[at] = rng.choice(WORDS)
        case 2:
            words.insert(at, rng.choice(WORDS))
        case _:
            words[at], words[other] = words[other], words[at]
    return "".join(words)


def check(text):
    source, report = Source("t.tc", text), Report()
    module = parse(source, report)
    assert module.definitions or report.errors
    starts = [d.primary.span.start for d in report.items]
    assert starts == sorted(starts)
    for diagnostic in report.items:
        for label in (diagnostic.primary, *diagnostic.secondary):
            assert label.span.source is source
            assert 0 <= label.span.start <= label.span.end <= len(text)
            assert 1 <= label.span.line <= text.count("\n") + 1
    again = "".join(unparse(d) + "\n" for d in module.definitions)
    if again:
        assert sexpr(parse(Source("u.tc", again), Report())) == sexpr(module)
        canonical(module)
    return source, report


@pytest.mark.parametrize("seed", range(BATCHES))
def test_damaged_programs(seed):
    rng = random.Random(seed)
    for _ in range(BATCH):
        text = damaged(rng)
        begin = time.process_time()
        source, report = check(text)
        assert time.process_time() - begin < LONGEST_SECONDS, text
        if rng.random() < 0.05:
            assert render_text(report.items) or not report.items
            assert render_short(report.items).count("\n") == len(report.items)
            assert render_json(report.items).isascii()
            result = format_source(source, Report())
            assert (result is None) == bool(report.errors)
            assert result is None or format_source(Source("u.tc", result), Report()) == result


@pytest.mark.parametrize(
    "text",
    [
        "def f() -> (B) { " + "B = A( " * 20_000,
        "def f() -> (B) { " + "B(i) = 1; " * 3_000,
        "def " * 20_000,
        "{" * 50_000,
        ")" * 50_000,
        "def f(" + "float A, " * 5_000,
        "def f(" + "float(N " * 5_000,
        "def f() -> (B) { B = " + "a ? " * 20_000,
        "def f() -> (B) { B = " + "a < " * 20_000 + "b }",
        "def f() -> (B) { B = a where " + "i in 0:3, " * 10_000,
        "@ " * 10_000,
        "\n" * 100_000,
        "/*" * 20_000,
        "9" * 200_000,
        "x" * 200_000,
        "a." * 20_000,
    ],
    ids=range(16),
)
def test_large_nonsense(text):
    begin = time.process_time()
    check(text)
    assert time.process_time() - begin < 10
