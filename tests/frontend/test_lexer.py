"""Tokens: kinds, places, strict numbers, and what is no token."""

import pytest

from tcc.diagnostics import Report
from tcc.frontend.lexer import comments, tokenize
from tcc.frontend.tokens import SYMBOLS, TokenKind
from tcc.source import Source


def lex(text):
    report = Report()
    return tokenize(Source("t.tc", text), report), report.items


def words(text):
    tokens, found = lex(text)
    assert not found
    assert tokens[-1].kind is TokenKind.END
    return [t.text for t in tokens[:-1]]


def kinds(text):
    return [t.kind.name for t in lex(text)[0][:-1]]


def problems(text):
    return [(d.code, d.line, d.column) for d in lex(text)[1]]


def test_the_words_of_the_original():
    text = "min min+max 1.4 .3 3 3. 3e-3 .5e-7 3E-5 foobar"
    assert words(text) == [
        *("min", "min", "+", "max", "1.4", ".3", "3", "3.", "3e-3", ".5e-7", "3E-5", "foobar"),
    ]
    assert kinds(text) == [
        *("KEYWORD", "KEYWORD", "SYMBOL", "KEYWORD", *["NUMBER"] * 7, "NAME"),
    ]


def test_places_over_lines():
    tokens, _ = lex("min\n4.63")
    assert [(t.text, t.span.line, t.span.column) for t in tokens[:2]] == [
        ("min", 1, 1),
        ("4.63", 2, 1),
    ]
    assert [(t.span.start, t.span.end) for t in tokens] == [(0, 3), (4, 8), (8, 8)]


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_every_symbol_is_one_token(symbol):
    assert words(symbol) == [symbol]
    assert words(f"x {symbol}y") == ["x", symbol, "y"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<=>b", ["a", "<=>", "b"]),
        ("a<=b", ["a", "<=", "b"]),
        ("C+=!A", ["C", "+=!", "A"]),
        ("C=!A", ["C", "=", "!", "A"]),
        ("amin=3", ["amin", "=", "3"]),
        ("C min=!A", ["C", "min=!", "A"]),
        ("a--b", ["a", "-", "-", "b"]),
        ("a<-b", ["a", "<", "-", "b"]),
        ("A.1", ["A", ".", "1"]),
        ("A .1", ["A", ".", "1"]),
        ("A. 1", ["A", ".", "1"]),
        ("A.1*2", ["A", ".", "1", "*", "2"]),
        ("A(.5)", ["A", "(", ".5", ")"]),
        ("T.0.5", ["T", ".", "0", ".5"]),
        ("2.*x", ["2.", "*", "x"]),
        ("0:2.", ["0", ":", "2."]),
        ("0..2", ["0.", ".2"]),
        ("0..N", ["0.", ".", "N"]),
        ("lo..hi", ["lo", ".", ".", "hi"]),
        ("1.2.3", ["1.2", ".3"]),
        ("1e3", ["1e3"]),
        ("1.e3", ["1.e3"]),
        ("007", ["007"]),
        ("1E+2-3", ["1E+2", "-", "3"]),
        ("info nan inf infinity nano", ["info", "nan", "inf", "infinity", "nano"]),
        ("e3 _1", ["e3", "_1"]),
    ],
)
def test_splitting(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize("word", ["def", "where", "in", "exists", "min", "max"])
def test_keywords(word):
    assert kinds(f"{word} {word}x X{word}") == ["KEYWORD", "NAME", "NAME"]


@pytest.mark.parametrize("word", ["bool", "uint8", "int64", "bfloat16", "half", "byte", "int"])
def test_types(word):
    assert kinds(f"{word} {word}_t") == ["TYPE", "NAME"]


@pytest.mark.parametrize(
    ("text", "column"),
    [("0x10", 1), ("x + 1e", 5), ("1e+", 1), ("2x", 1), ("3.5f", 1), ("1_000", 1), ("A.1x", 3)],
)
def test_malformed_numbers(text, column):
    assert problems(text) == [("E0102", 1, column)]


@pytest.mark.parametrize("text", ["1" * 401, "1e5001", "1e-99999999999999999999", "0." + "0" * 500])
def test_numbers_that_no_type_can_hold(text):
    assert problems(text) == [("E0102", 1, 1)]


def test_the_longest_number():
    assert words("9" * 400 + " 1e5000") == ["9" * 400, "1e5000"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a @ b", [("E0101", 1, 3)]),
        ('"a" + "b\n', [("E0101", 1, 1), ("E0101", 1, 7)]),
        ("a\n  $", [("E0101", 2, 3)]),
        ("@@@ @", [("E0101", 1, 1), ("E0101", 1, 5)]),
        ("a & b | c", [("E0101", 1, 3), ("E0101", 1, 7)]),
        ("\0", [("E0101", 1, 1)]),
        ("x\u00a0= 1", [("E0101", 1, 2)]),
        ("x\u200b", [("E0101", 1, 2)]),
        ("naïve", [("E0101", 1, 3)]),
        ("größe + λ", [("E0101", 1, 3), ("E0101", 1, 9)]),
        ("a \N{MINUS SIGN} b", [("E0101", 1, 3)]),
        ("\ud800", [("E0101", 1, 1)]),
        ("٣", [("E0101", 1, 1)]),
        ("a\ufeff", [("E0101", 1, 2)]),
    ],
)
def test_foreign_characters(text, expected):
    assert problems(text) == expected


def test_what_looks_like_an_operator_is_taken_for_it():
    tokens, found = lex("a \N{MINUS SIGN} b ≤ c \N{MULTIPLICATION SIGN} d")
    assert [t.text for t in tokens[:-1]] == ["a", "-", "b", "<=", "c", "*", "d"]
    assert [d.help for d in found] == [("write `-`",), ("write `<=`",), ("write `*`",)]


def test_bad_utf8_says_so():
    assert "UTF-8" in lex("\ufffd")[1][0].message


def test_a_character_without_a_glyph_is_named_by_its_code_point():
    assert lex("\x07")[1][0].message == "unexpected character U+0007"


@pytest.mark.parametrize("text", ["// sum", "/* sum */", "/* sum", "/* a\n * b */"])
def test_comments_of_other_languages(text):
    tokens, found = lex(f"x {text}")
    assert [(d.code, d.line, d.column) for d in found] == [("E0107", 1, 3)]
    assert [t.kind.name for t in tokens] == ["NAME", "INVALID", "END"]


def test_white_space_of_every_kind():
    assert words("\ufeffa\tb\r\nc\x0b\x0cd\re") == ["a", "b", "c", "d", "e"]
    assert [t.span.column for t in lex("\ta\r\n\tb")[0]] == [2, 2, 3]


def test_comments_reach_to_the_end_of_the_line():
    source = Source("t.tc", "# one \t\r\nx # two # three\n#\n  # last")
    assert [s.text for s in comments(source)] == ["# one", "# two # three", "#", "# last"]
    assert [t.text for t in tokenize(source, Report())] == ["x", ""]
