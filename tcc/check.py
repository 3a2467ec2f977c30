"""`tcc check`: every def of a file, without compiling any."""

from __future__ import annotations

from dataclasses import replace

from tcc.diagnostics import Diagnostic, Report
from tcc.frontend import tir
from tcc.frontend.describe import describe
from tcc.frontend.elaborate import elaborate_all
from tcc.frontend.parser import parse
from tcc.sched.check import check_program
from tcc.sched.scop import build_scop
from tcc.source import Source


def check_source(source: Source) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Types, ranges and shapes of every def, as text; with all findings, errors included."""
    report = Report()
    module = parse(source, report)
    if report.errors:
        return (), report.items
    programs = elaborate_all(module, report)
    if not report.errors:
        programs = tuple(_checked(program, report) for program in programs)
    return tuple(describe(p) for p in programs), report.items


def _checked(program: tir.Program, report: Report) -> tir.Program:
    """The program with everything it demands of its sizes."""
    opened = check_program(build_scop(program), {}, report)
    return replace(program, preconditions=(*program.preconditions, *opened))
