"""What is known of a text, broken or not: its tree, its typed programs, its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tcc.diagnostics import Report
from tcc.frontend import ast, tir
from tcc.frontend.elaborate import elaborate_all
from tcc.frontend.lexer import tokenize
from tcc.frontend.parser import parse
from tcc.frontend.tokens import Token
from tcc.source import Source, Span


@dataclass(frozen=True)
class Analysis:
    """One text. `programs` has the defs without errors."""

    module: ast.Module
    programs: Mapping[str, tir.Program]
    tokens: tuple[Token, ...]

    def token_at(self, offset: int) -> Token | None:
        """The word at an offset, or the one that ends there."""
        found = [t for t in self.tokens if t.span.start <= offset <= t.span.end and t.span.text]
        return max(found, key=lambda t: t.text.isidentifier(), default=None)

    def definition_at(self, offset: int) -> ast.Definition | None:
        """The def around an offset."""
        return next((d for d in self.module.definitions if _holds(d.span, offset)), None)

    def statement_at(self, offset: int) -> ast.Statement | None:
        """The statement around an offset."""
        definition = self.definition_at(offset)
        statements = definition.statements if definition else ()
        return next((s for s in statements if _holds(s.span, offset)), None)


@lru_cache(maxsize=16)
def analyse(source: Source) -> Analysis:
    """The analysis of a text; its errors are of no interest here."""
    module = parse(source, Report())
    programs = {p.name: p for p in elaborate_all(module, Report())}
    return Analysis(module, programs, tokenize(source, Report()))


def _holds(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end
