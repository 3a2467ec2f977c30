"""Random trees: their text parses back to them, with comments anywhere, under any names."""

import dataclasses
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tcc.diagnostics import Report
from tcc.frontend import ast
from tcc.frontend.builtins import BUILTINS
from tcc.frontend.canonical import canonical
from tcc.frontend.lexer import comments, tokenize
from tcc.frontend.parser import parse
from tcc.frontend.tokens import ASSIGNMENTS, KEYWORDS, PRECEDENCE
from tcc.frontend.unparse import format_source, unparse
from tcc.scalar import SPELLINGS, ScalarType
from tcc.source import Source, Span

NOWHERE = Source("nowhere", "")
SPAN = Span(NOWHERE, 0, 0)
RESERVED = {*KEYWORDS, *SPELLINGS}

words = st.one_of(
    st.sampled_from(
        ["A", "B", "i", "j", "N", "x1", "_", "inf", "nan", "info", "e3", "where_", "Min"]
    ),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True),
).filter(lambda w: w not in RESERVED and w not in BUILTINS)
names = words.map(lambda w: ast.Name(w, SPAN))
integers = st.from_regex(r"[0-9]{1,4}", fullmatch=True).map(lambda t: ast.Number(t, SPAN))
floats = st.from_regex(
    r"([0-9]{1,3}\.[0-9]{0,3}|\.[0-9]{1,3})([eE][+-]?[0-9]{1,2})?|[0-9]{1,3}[eE][+-]?[0-9]{1,2}",
    fullmatch=True,
).map(lambda t: ast.Number(t, SPAN))
leaves = st.one_of(
    names.map(ast.Variable),
    integers,
    floats,
    st.builds(ast.Extent, names, st.integers(0, 12), st.just(SPAN), st.just(SPAN)),
)


def few(strategy, low=0):
    return st.lists(strategy, min_size=low, max_size=3).map(tuple)


def inner(below):
    callee = st.one_of(names, st.sampled_from(sorted(BUILTINS)).map(lambda b: ast.Name(b, SPAN)))
    extremum = st.sampled_from(["min", "max"]).map(lambda m: ast.Name(m, SPAN))
    return st.one_of(
        st.builds(
            ast.Binary,
            st.sampled_from(sorted(PRECEDENCE)),
            below,
            below,
            st.just(SPAN),
            st.just(SPAN),
        ),
        st.builds(ast.Unary, st.sampled_from("-!"), below, st.just(SPAN), st.just(SPAN)),
        st.builds(ast.Conditional, below, below, below, st.just(SPAN)),
        st.builds(ast.Apply, callee, few(below), st.just(SPAN)),
        st.builds(ast.Apply, extremum, st.tuples(below, below), st.just(SPAN)),
        st.builds(ast.Cast, st.sampled_from(ScalarType), st.just(SPAN), below, st.just(SPAN)),
    )


expressions = st.recursive(leaves, inner, max_leaves=12)
clauses = st.one_of(
    st.builds(ast.RangeClause, names, expressions, expressions, st.just(SPAN)),
    st.builds(ast.LetClause, names, expressions, st.just(SPAN)),
    st.builds(ast.ExistsClause, expressions, st.just(SPAN)),
)
statements = st.one_of(
    st.builds(
        ast.Assign,
        names,
        st.none() | few(names),
        st.sampled_from(sorted(ASSIGNMENTS)),
        st.just(SPAN),
        expressions,
        st.none() | st.builds(ast.Apply, names, few(expressions), st.just(SPAN)),
        few(clauses),
        st.just(SPAN),
    ),
    st.builds(ast.CallStatement, st.tuples(names, names), names, few(names), st.just(SPAN)),
)
types = st.builds(ast.TensorType, st.sampled_from(ScalarType), few(names | integers), st.just(SPAN))
definitions = st.builds(
    ast.Definition,
    names,
    few(st.builds(ast.Parameter, types, names)),
    few(st.builds(ast.Output, st.none() | types, names), 1),
    few(statements),
    st.just(SPAN),
)
modules = st.builds(
    ast.Module, st.just(NOWHERE), st.lists(definitions, min_size=1, max_size=2).map(tuple)
)


def bare(value):
    """A tree as nested tuples, without spans and sources."""
    if isinstance(value, tuple):
        return tuple(bare(v) for v in value)
    if isinstance(value, Span | Source):
        return None
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return (type(value).__name__, *(bare(getattr(value, f.name)) for f in fields))
    return value


def renamed(value, mapping):
    """The tree with every name replaced, builtin functions excepted."""
    if isinstance(value, tuple):
        return tuple(renamed(v, mapping) for v in value)
    if isinstance(value, ast.Name):
        kept = value.text in BUILTINS or value.text in RESERVED
        return value if kept else ast.Name(mapping(value.text), value.span)
    if dataclasses.is_dataclass(value) and not isinstance(value, Span | Source):
        changed = {
            f.name: renamed(getattr(value, f.name), mapping) for f in dataclasses.fields(value)
        }
        return type(value)(**changed)
    return value


def parsed(text):
    report = Report()
    module = parse(Source("t.tc", text), report)
    assert report.items == (), text
    return module


@given(expressions)
def test_expressions(expression):
    (definition,) = parsed(f"def f() -> (B) {{ B = {unparse(expression)} }}").definitions
    assert bare(definition.statements[0].value) == bare(expression)


@given(modules)
def test_modules(module):
    again = parsed(unparse(module))
    assert bare(again) == bare(module)
    assert unparse(again) == unparse(module)


@given(modules, st.data())
@settings(max_examples=60)
def test_comments_survive_formatting(module, data):
    text = unparse(module)
    tokens = tokenize(Source("t.tc", text), Report())
    places = data.draw(st.lists(st.sampled_from([t.span.start for t in tokens]), max_size=4))
    for number, place in enumerate(sorted(places, reverse=True)):
        before = data.draw(st.sampled_from(["", "\n", "\n\n"]))
        text = f"{text[:place]}{before} # note {number}\n{text[place:]}"
    source = Source("t.tc", text)
    once = format_source(source, Report())
    assert once is not None
    assert bare(parsed(once)) == bare(module)
    result = Source("u.tc", once)
    assert format_source(result, Report()) == once
    kept = Counter(s.text for s in comments(result))
    assert kept == Counter(s.text for s in comments(source))


@given(modules)
@settings(max_examples=60)
def test_canonical_text_ignores_names(module):
    assert canonical(renamed(module, lambda text: f"other_{text}")) == canonical(module)
    assert canonical(parsed(unparse(module))) == canonical(module)
