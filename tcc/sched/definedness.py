"""Every element that is read has a value: from the caller, or from an earlier statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from tcc.diagnostics import Label, Report
from tcc.frontend import tir
from tcc.frontend.resolve import not_written
from tcc.sched.scop import Access, Scop, ScopStatement
from tcc.sched.witness import (
    allowed,
    element,
    is_reported,
    iteration,
    relevant_sizes,
    smallest,
    values_at,
)

_OURS = (tir.Role.OUTPUT, tir.Role.TEMPORARY)


def check_definedness(scop: Scop, sizes: Mapping[str, int], report: Report) -> None:
    """Report reads of elements of an output or temporary that no earlier statement has written.

    A read that depends on data, in its position or whether it happens, is reported only when all
    it could read is unwritten. Elements outside of the tensor are left to the bounds check. That
    an output is complete needs no check: the first statement that writes it gives its shape.

    Requires: causality and bounds are checked; a place with an error is passed over.
    """
    given = allowed(scop, sizes)
    written: dict[str, isl.Set] = {}  # { A[a] } by tensor
    complete: set[str] = set()
    for source in scop.program.statements:
        parts = [s for s in scop.statements if s.source is source]
        for statement in parts:
            for access in statement.reads:
                if source.initialise and access.accumulates:
                    continue
                role = scop.program.tensors[access.tensor].role
                if role not in _OURS or access.tensor in complete:
                    continue
                unwritten = _unwritten(scop, access, written.get(access.tensor))
                if unwritten.intersect_params(given).is_empty():
                    continue
                if not is_reported(report, access.span):
                    _report(scop, statement, access, unwritten, sizes, report)
        image = parts[0].write.relation.range()
        before = written.get(source.target)
        written[source.target] = image if before is None else before.union(image)
        if scop.tensor_box(source.target).intersect_params(given).is_subset(image):
            complete.add(source.target)


def _unwritten(scop: Scop, access: Access, written: isl.Set | None) -> isl.Map:
    """{ S[i] -> A[a] } of reads that certainly find no value."""
    reads = access.guarded.intersect_range(scop.tensor_box(access.tensor))
    if written is None:
        return reads
    if access.exact and access.guard_exact:
        return reads.subtract_range(written)
    if reads.range().is_disjoint(written):
        return reads
    return reads.subtract(reads)


def _report(
    scop: Scop,
    statement: ScopStatement,
    access: Access,
    unwritten: isl.Map,
    sizes: Mapping[str, int],
    report: Report,
) -> None:
    name = access.tensor
    later = [s for s in scop.program.statements if s.target == name]
    place = next(k for k, s in enumerate(scop.program.statements) if s is statement.source)
    first = scop.program.statements.index(later[0]) if later else place
    secondary: tuple[Label, ...] = ()
    helps = (f"write every element of `{name}` that is read in a statement above",)
    label = f"no earlier statement writes this element of `{name}`"
    if first >= place:
        label = f"no earlier statement writes `{name}`"
    if first > place:
        secondary = (Label(later[0].target_span, "written only here"),)
        helps = (f"move the statement that writes `{name}` before this one",)
    note = _note(scop, statement, access, unwritten, sizes)
    found = not_written(name, access.span)
    primary = replace(found.primary, text=label)
    report.add(replace(found, primary=primary, secondary=secondary, notes=note, help=helps))


def _note(
    scop: Scop,
    statement: ScopStatement,
    access: Access,
    unwritten: isl.Map,
    sizes: Mapping[str, int],
) -> tuple[str, ...]:
    found = smallest(scop, sizes, unwritten.domain())
    if found is None or not access.exact or not access.guard_exact:
        return ()
    subscripts = values_at(statement, access, found, found.point)
    forms = [s for s in access.subscripts if s is not None]
    at = found.at(relevant_sizes(statement, *forms))
    who = iteration(statement, found.point)
    return (f"smallest case{at}: {who} reads {element(access.tensor, subscripts)}",)
