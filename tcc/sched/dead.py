"""Drops branches of `?:`, `&&` and `||` that no instance comes to.

Dependences leave their reads out, so that a kernel may run before their tensors have values; a
copy to shared memory would read them all the same.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from tcc.frontend import tir
from tcc.frontend.rewrite import with_operands
from tcc.sched.guards import guard_of
from tcc.sched.islx import Space
from tcc.sched.scop import Scop


def without_dead_branches(model: Scop) -> tir.Program:
    """The program of a model with the same values; the same object where all branches are alive."""
    values: dict[str, tir.Expression] = {}
    for statement in model.statements:
        if any(access.guard is not None for access in statement.reads):
            instances = statement.domain.intersect_params(model.context)
            source = statement.source
            values[source.name] = _live(source.value, statement.space, instances)
    program = model.program
    if all(values.get(s.name, s.value) == s.value for s in program.statements):
        return program
    statements = (replace(s, value=values.get(s.name, s.value)) for s in program.statements)
    return replace(program, statements=tuple(statements))


def _live(expression: tir.Expression, space: Space, instances: isl.Set) -> tir.Expression:
    match expression:
        case tir.Select(condition, then, otherwise, _):
            first = _where(condition, space, instances, True)
            second = _where(condition, space, instances, False)
            if first.is_empty():
                return _live(otherwise, space, instances)
            if second.is_empty():
                return _live(then, space, instances)
            return replace(
                expression,
                condition=_live(condition, space, instances),
                then=_live(then, space, first),
                otherwise=_live(otherwise, space, second),
            )
        case tir.Binary("&&" | "||" as operator, left, right, _):
            further = _where(left, space, instances, operator == "&&")
            if further.is_empty():
                return _live(left, space, instances)
            return replace(
                expression, left=_live(left, space, instances), right=_live(right, space, further)
            )
        case _:
            return with_operands(expression, lambda e: _live(e, space, instances))


def _where(condition: tir.Expression, space: Space, instances: isl.Set, outcome: bool) -> isl.Set:
    """The instances for which a condition may have an outcome."""
    return instances.intersect(guard_of(condition, space, outcome).instances)
