"""Every mutant of a valid program is analysed or rejected; nothing crashes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tcc.diagnostics import Report
from tcc.frontend.describe import describe
from tcc.frontend.elaborate import elaborate, elaborate_all
from tcc.frontend.lexer import tokenize
from tcc.frontend.parser import parse
from tcc.frontend.specialise import specialise
from tcc.frontend.tokens import Token, TokenKind
from tcc.source import Source
from tests.frontend.well_formed import check

SPECS = Path(__file__).parents[2] / "specs"
PROGRAMS = {path.stem: path.read_text("utf-8") for path in sorted(SPECS.glob("*.tc"))}
PROGRAMS |= {
    "calls": """
def mean(float(N, D) X) -> (M) { M(n) +=! X(n, d)  M(n) = M(n) / D }
def shift(float(N) X) -> (float(N) Y) { Y(i) = 2.0 * X(i + 1) }
def both(float(A, B) X) -> (M, S) { M = mean(X)  S = shift(M) }
""",
    "where": """
def f(half(N, N) X, uint8(N) K, bool(N) B, double s) -> (Y, Z, float64 W) {
    Y(i) +=! a * X(i, r) where r in 0:i + 1, a = 0.5, exists X(i, N - 1)
    Z(i) = B(i) && i % 3 != 0 ? X(int32(K(i)), X.1 - 1 - i) : half(-1e-3) <=> g(X(i, i))
    W max=! s / double(1 + 2 * i) where i in 0:N / 2
    Y(j) = Y(j) * max(1, N - j)
}
""",
}
WORDS = (
    "i", "N", "X", "Y", "0", "1", "2147483648", "0.5", "1e39", "=", "+=", "+=!", "min=!", "(", ")",
    ",", "where", "in", ":", "exists", "?", "+", "-", "*", "/", "%", "<", "==", "&&", "!", "float",
    "int64", "bool", "half", "exp", "min", ".", "<=>", "def", "->", "{", "}",
)  # fmt: skip


def tokens(text: str) -> list[Token]:
    found = tokenize(Source("seed.tc", text), Report())
    return [t for t in found if t.kind not in (TokenKind.COMMENT, TokenKind.END)]


def mutant(words: list[Token], rng: random.Random) -> str:
    """One or two words dropped, doubled, swapped, or replaced, mostly by one of their kind."""
    texts = [w.text for w in words]
    for _ in range(rng.choice((1, 1, 1, 2))):
        at = rng.randrange(len(words))
        match rng.randrange(12):
            case 0:
                texts[at] = ""
            case 1:
                texts[at] += f" {texts[at]}"
            case 2:
                other = rng.randrange(len(words))
                texts[at], texts[other] = texts[other], texts[at]
            case 3:
                texts[at] = rng.choice(WORDS)
            case _:
                texts[at] = rng.choice([w.text for w in words if w.kind is words[at].kind])
    return " ".join(texts)


def analyse(text: str, rng: random.Random) -> None:
    source = Source("mutant.tc", text)
    report = Report()
    module = parse(source, report)
    syntax = len(report.errors)
    for program in elaborate_all(module, report):
        check(program)
        assert describe(program).endswith("\n")
    if syntax or not module.definitions:
        return
    definition = rng.choice(module.definitions)
    names = [d.text for p in definition.parameters for d in p.type.dimensions]
    sizes = {n: rng.randint(1, 9) for n in names if not n.isdigit() and rng.random() < 0.8}
    found = Report()
    program = elaborate(module, definition.name.text, sizes, found)
    assert (program is None) == bool(found.errors)
    if program is not None:
        check(program)
        check(specialise(program, sizes))
    for diagnostic in (*report.items, *found.items):
        for label in (diagnostic.primary, *diagnostic.secondary):
            assert 0 <= label.span.start <= label.span.end <= len(text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_are_valid(name):
    report = Report()
    programs = elaborate_all(parse(Source(name, PROGRAMS[name]), report), report)
    assert not report.items
    assert programs


@pytest.mark.parametrize("name", PROGRAMS)
def test_mutants(name):
    rng = random.Random(name)
    words = tokens(PROGRAMS[name])
    for _ in range(40):
        text = mutant(words, rng)
        try:
            analyse(text, rng)
        except Exception as fault:
            raise AssertionError(text) from fault
