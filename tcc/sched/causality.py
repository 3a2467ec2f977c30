"""A statement may read its target only at the element it writes, or where it writes nothing."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from tcc.affine import var
from tcc.diagnostics import Label, Report, error
from tcc.frontend import tir
from tcc.sched.scop import Access, Part, Scop, ScopStatement
from tcc.sched.witness import (
    allowed,
    element,
    iteration,
    relevant_sizes,
    smallest,
    values_at,
)


def check_causality(scop: Scop, sizes: Mapping[str, int], report: Report) -> None:
    """Report every read of a statement's own target that another of its iterations writes.

    Reads below a condition on data, and data-dependent positions, count as if they happened.
    Requires: `scop` is the program's model; `sizes` are the sizes known at compile time.
    """
    given = allowed(scop, sizes)
    for statement in scop.statements:
        for access in statement.reads:
            if access.tensor != statement.write.tensor or access.accumulates:
                continue
            conflicts = _conflicts(statement, access)
            if not conflicts.intersect_params(given).is_empty():
                _report(scop, statement, access, conflicts, sizes, report)


def _conflicts(statement: ScopStatement, access: Access) -> isl.Map:
    """{ S[i] -> S[j] } where i reads what j, another instance, writes."""
    touching = access.guarded.apply_range(statement.write.relation.reverse())
    identity = statement.space.identity()
    return touching.subtract(identity.apply_range(identity.reverse()))


def _report(
    scop: Scop,
    statement: ScopStatement,
    access: Access,
    conflicts: isl.Map,
    sizes: Mapping[str, int],
    report: Report,
) -> None:
    target = statement.write.tensor
    own = access.subscripts == tuple(var(i) for i in statement.parallel)
    if own:
        over = ", ".join(f"`{i}`" for i in statement.source.reductions)
        code, message = "E0402", f"the reduction into `{target}` reads `{target}` as it changes"
        label, there = "changes in every step of the reduction", f"accumulates over {over}"
    else:
        code = "E0401"
        message = f"in-place update of `{target}` reads elements that it also overwrites"
        label, there = _read_label(statement, access), f"{_plain(statement)} writes this"
    notes = _notes(scop, statement, access, conflicts, sizes)
    helps = _help(scop.program, statement)
    span = access.span
    secondary = (Label(statement.source.target_span, there),)
    report.add(error(code, message, span, label, secondary=secondary, notes=notes, help=helps))


def _plain(statement: ScopStatement) -> str:
    return f"iteration ({', '.join(statement.parallel)})" if statement.parallel else "the statement"


def _read_label(statement: ScopStatement, access: Access) -> str:
    if access.exact and statement.parallel:
        return f"reads what iteration ({', '.join(str(s) for s in access.subscripts)}) writes"
    return "may read what any iteration writes"


def _notes(
    scop: Scop,
    statement: ScopStatement,
    access: Access,
    conflicts: isl.Map,
    sizes: Mapping[str, int],
) -> tuple[str, ...]:
    found = smallest(scop, sizes, conflicts.wrap())
    if found is None:
        return ()
    count = len(statement.iterators)
    reader, writer = found.point[:count], found.point[count:]
    at = found.at(relevant_sizes(statement, *(var(i) for i in statement.iterators)))
    subscripts = values_at(statement, access, found, reader)
    who, other = iteration(statement, reader), iteration(statement, writer)
    if None in subscripts:
        return (
            f"the position in `{access.tensor}` depends on data",
            f"smallest conflict{at}: {who} may read what {other} writes",
        )
    what = element(access.tensor, subscripts)
    return (f"smallest conflict{at}: {who} reads {what}, which {other} writes",)


def _help(program: tir.Program, statement: ScopStatement) -> tuple[str, ...]:
    source = statement.source
    fresh = _fresh_name(program)
    if statement.part is Part.UPDATE:
        indices = f"({', '.join(source.indices)})" if source.indices else ""
        copy = f"{fresh}{indices} = {source.target}{indices}"
        return (f"copy `{source.target}` first, `{copy}`, and read `{fresh}` here",)
    if not source.text.startswith(source.target):
        return (f"let another tensor than `{source.target}` hold the result",)
    return (f"write to a new tensor: `{fresh}{source.text[len(source.target) :]}`",)


def _fresh_name(program: tir.Program) -> str:
    taken = {*program.sizes, *program.tensors}
    taken.update(i for s in program.statements for i in s.ranges)
    return next(n for n in ("T", *(f"T{k}" for k in range(1, len(taken) + 2))) if n not in taken)
