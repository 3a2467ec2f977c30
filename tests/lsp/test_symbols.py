"""What names stand for, in sound and in broken texts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcc.lsp.analysis import analyse
from tcc.lsp.symbols import meaning
from tcc.source import Source

SPECS = sorted((Path(__file__).parents[2] / "specs").glob("*.tc"))
PROGRAM = """\
def shift(float(N) A) -> (T) { T(i) = A(i) where i in 1:N }
def conv(float(C, H, W) I, float(C, KH, KW) F, double S) -> (O, R) {
    O(h, w) +=! I(c, h + x, w + y) * F(c, kh, kw) where x = kh, y = kw
    R(h, w) max=! exp(O(h, w)) * float(S) where kk in 0:2, exists I(0, h + kk, w)
    Z = shift(R2)
}
"""
SOUND = """\
def twice(float(N) A) -> (T) { T(i) = 2 * A(i) where i in 1:N }
def conv(float(C, H, W) I, float(C, KH, KW) F) -> (O, R) {
    O(h, w) +=! I(c, h + x, w + y) * F(c, kh, kw) where x = kh, y = kw
    R(h) max=! exp(O(h, w))
}
def both(float(N) A) -> (B, A2) {
    U = twice(A)
    B(i) = U(i)
    A2(i) += A(i)
}
"""


def at(text: str, marked: str):
    """The meaning at the `|` in a part of a text."""
    plain = marked.replace("|", "")
    offset = text.index(plain) + marked.index("|")
    return meaning(analyse(Source("a.tc", text)), offset)


@pytest.mark.parametrize(
    ("place", "text", "defined"),
    [
        ("|I(c, h", "input `I`: `float32(C, H, W)`", "I, float(C, KH"),
        ("I|(c, h", "input `I`: `float32(C, H, W)`", "I, float(C, KH"),
        ("|O(h, w) +=!", "output `O`: `float32(H - KH + 1, W - KW + 1)`", "O, R"),
        ("O(|h, w) +=!", "index `h` in `0:H - KH + 1`", "h, w) +=!"),
        ("I(|c, h", "reduction index `c` in `0:C`", "c, h + x"),
        ("|T(i) = 2", "output `T`: `float32(1:N)`", "T) {"),
        ("(|i) where", "index `i` in `1:N`", "i) = 2"),
        ("exp(O(h, |w))", "reduction index `w` in `0:W - KW + 1`", "w))"),
        ("h + |x,", "where `x = kh`", "x = kh"),
        ("|exp(O", "builtin function `exp` of 1 argument", None),
        ("def |twice", "```tc\ndef twice(float(N) A) -> (T)\n```\n\noutput `T`: `float32(1:N)`", "twice("),
        ("U = |twice", "```tc\ndef twice(float(N) A) -> (T)\n```\n\noutput `T`: `float32(1:N)`", "twice("),
        ("|U(i)", "temporary `U`: `float32(1:N)`", "U = "),
        ("|A2(i)", "in/out tensor `A2`: `float32(N)`", "A2) {"),
        ("|float(C, H", "type `float32`, 4 bytes", None),
    ],
)  # fmt: skip
def test_meanings(place, text, defined):
    found = at(SOUND, place)
    assert found.text == text
    if defined is None:
        assert found.place is None
    else:
        assert found.place.start == SOUND.index(defined)
        assert SOUND[found.place.start : found.place.end] == found.span.text


def test_a_size_with_what_it_must_fulfil():
    found = at(SOUND, "|KH, KW")
    first, *demands = found.text.split("\n\n")
    assert first == "size `KH`, dimension 1 of `F`"
    assert any("H >= KH" in d for d in demands)


@pytest.mark.parametrize("place", ["|+=!", "A) -|> ", "= |2 *", "|-> (O"])
def test_what_stands_for_nothing(place):
    assert at(SOUND, place) is None


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("|I(c, h", "input `I`: `float(C, H, W)`"),
        ("|O(h, w) +=!", "tensor `O`"),
        ("O(|h, w) +=!", "index `h`"),
        ("float(|S)", "input `S`: `double`"),
        ("h + |x,", "where `x = kh`"),
        ("|kk in", "index `kk`"),
        ("= |shift", "```tc\ndef shift(float(N) A) -> (T)\n```\n\noutput `T`: `float32(1:N)`"),
    ],
)
def test_a_def_with_errors_has_what_is_written(place, text):
    assert at(PROGRAM, place).text == text


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_every_name_of_the_specs_stands_for_something(path):
    source = Source(path.name, path.read_text("utf-8"))
    analysis = analyse(source)
    code = re.sub(r"#.*", lambda m: " " * len(m[0]), source.text)
    for word in re.finditer(r"\b[A-Za-z_]\w*", code):
        if word[0] not in ("def", "where", "in", "exists", "min", "max"):
            found = meaning(analysis, word.start())
            assert found is not None, word
            assert found.span.text == word[0]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SOUND)), st.integers(0, 40), st.integers(0, len(SOUND)))
def test_any_cut_of_a_program_is_answered(start, length, place):
    text = SOUND[:start] + SOUND[start + length :]
    found = meaning(analyse(Source("a.tc", text)), place)
    assert found is None or text[found.span.start : found.span.end] == found.span.text
