"""Fixes sizes of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tcc.affine import Affine, const
from tcc.frontend import tir
from tcc.frontend.prove import decide
from tcc.frontend.rewrite import substitute_sizes


def specialise(program: tir.Program, sizes: Mapping[str, int]) -> tir.Program:
    """The program with these sizes put in everywhere; sizes it does not have are ignored.

    Preconditions that now hold are dropped.
    """
    values = {name: const(sizes[name]) for name in program.sizes if name in sizes}
    if not values:
        return program
    conditions = (
        replace(p, expression=p.expression.substitute(values)) for p in program.preconditions
    )
    return replace(
        program,
        sizes=tuple(s for s in program.sizes if s not in values),
        tensors={n: _tensor(t, values) for n, t in program.tensors.items()},
        statements=tuple(_statement(s, values) for s in program.statements),
        preconditions=tuple(p for p in conditions if not decide(p.expression, {})),
    )


def _tensor(tensor: tir.Tensor, values: Mapping[str, Affine]) -> tir.Tensor:
    return replace(
        tensor,
        shape=tuple(e.substitute(values) for e in tensor.shape),
        origin=tuple(o.substitute(values) for o in tensor.origin),
    )


def _statement(statement: tir.Statement, values: Mapping[str, Affine]) -> tir.Statement:
    ranges = {
        name: tir.Range(r.low.substitute(values), r.high.substitute(values))
        for name, r in statement.ranges.items()
    }
    return replace(statement, ranges=ranges, value=substitute_sizes(statement.value, values))
