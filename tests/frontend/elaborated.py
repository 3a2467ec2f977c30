"""Elaborates program text for the tests of the front end."""

from __future__ import annotations

from tcc.diagnostics import Diagnostic, Report
from tcc.errors import CompileError
from tcc.frontend import tir
from tcc.frontend.elaborate import elaborate
from tcc.frontend.parser import parse
from tcc.source import Source


def attempt(
    text: str, entry: str | None = None, **sizes: int
) -> tuple[tir.Program | None, tuple[Diagnostic, ...]]:
    """The program, if any, and all findings."""
    report = Report()
    module = parse(Source("test.tc", text), report)
    if report.errors:
        raise CompileError(report.items)
    return elaborate(module, entry, sizes, report), report.items


def program(text: str, entry: str | None = None, **sizes: int) -> tir.Program:
    """The program of a text without errors."""
    found, diagnostics = attempt(text, entry, **sizes)
    if found is None or any(d.is_error for d in diagnostics):
        raise CompileError(diagnostics)
    return found


def places(text: str, entry: str | None = None, **sizes: int) -> list[str]:
    """`CODE line:column` of every finding, by position."""
    found, diagnostics = attempt(text, entry, **sizes)
    assert (found is None) == any(d.is_error for d in diagnostics)
    marks = sorted((d.line, d.column, d.code) for d in diagnostics)
    return [f"{code} {line}:{column}" for line, column, code in marks]


def value(text: str, signature: str = "float(N) X", index: str = "i") -> tir.Expression:
    """The typed right side of `Y(index) = text`."""
    source = f"def f({signature}) -> (Y) {{\n    Y({index}) = {text}\n}}\n"
    return program(source).statements[0].value


def output(text: str, **sizes: int) -> tir.Tensor:
    """The first output of a program."""
    found = program(text, **sizes)
    return found.tensors[found.outputs[0]]
