"""The Pygments lexer: found by name and file, its tokens are those of the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments import highlight, lex
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation

from tcc.highlight import TcLexer

SPECS = sorted((Path(__file__).parents[1] / "specs").glob("*.tc"))
PROGRAM = """\
# doubles
def twice(float(N) A, int32 K) -> (B) {
    B(i) = max(exp(A(i)), 2.5e1) where i in 0:N  # all of it
}
"""


def kinds(text):
    return [(kind, value) for kind, value in lex(text, TcLexer()) if value.strip()]


def test_pygments_finds_it():
    assert type(get_lexer_by_name("tc")) is TcLexer
    assert type(get_lexer_for_filename("gemm.tc")) is TcLexer
    html = highlight(PROGRAM, get_lexer_by_name("tc"), HtmlFormatter())
    assert '<span class="nf">twice</span>' in html


def test_kinds():
    found = kinds(PROGRAM)
    for expected in (
        (Comment.Single, "# doubles"),
        (Keyword, "def"),
        (Name.Function, "twice"),
        (Keyword.Type, "float"),
        (Keyword.Type, "int32"),
        (Name, "A"),
        (Operator, "->"),
        (Punctuation, "("),
        (Name.Builtin, "max"),
        (Name.Builtin, "exp"),
        (Number, "2.5e1"),
        (Keyword, "where"),
        (Keyword, "in"),
        (Comment.Single, "# all of it"),
    ):
        assert expected in found
    assert Error not in {kind for kind, _ in found}


def test_what_the_compiler_does_not_read_is_an_error():
    found = kinds('B(i) = "text" $ // comment\n')
    assert [value for kind, value in found if kind is Error] == ['"text"', "$", "// comment"]


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_programs(path):
    text = path.read_text("utf-8")
    tokens = [*TcLexer().get_tokens_unprocessed(text)]
    assert "".join(value for _, _, value in tokens) == text
    assert all(text[at : at + len(value)] == value for at, _, value in tokens)
    assert Error not in {kind for _, kind, _ in tokens}


@given(st.text(st.sampled_from('def A(i)=+!.1e#"/*\n\r\t<=>$\u2212\xa0\ufeff{}\x00'), max_size=40))
def test_nothing_is_lost(text):
    assert "".join(value for _, _, value in TcLexer().get_tokens_unprocessed(text)) == text
