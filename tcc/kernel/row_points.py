"""Positions of a row over the threads that share it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcc.affine import Affine, ceil_div, const, var
from tcc.kernel import ir
from tcc.kernel.prove import Scope
from tcc.kernel.state import State
from tcc.scalar import ScalarType
from tcc.sched.nest import Dim
from tcc.sched.plan import RowPlan


@dataclass(frozen=True)
class Positions:
    """The walk of one thread along its row.

    `start` is the linear position of lane 0; `values` gives the loop variables at `lane`; `lets`
    must precede their use. `whole` is true when every thread has a full walk.
    """

    outer: str
    lane: str
    trips: Affine
    start: Affine
    length: Affine
    values: Mapping[str, Affine]
    lets: tuple[ir.Let, ...]
    scopes: tuple[Scope, ...]
    whole: bool


def positions(state: State, loops: tuple[Dim, ...], plan: RowPlan, thread: str) -> Positions:
    """Lay the loops of a row over `plan.threads` threads, the last loop fastest.

    Requires: the extent of the last loop is a multiple of `plan.vector`.
    """
    names = state.names
    outer, lane = names.fresh("o"), names.fresh("v")
    extents = [state.context.size(d.extent) for d in loops]
    length = const(1)
    for extent in extents:
        length = length * extent
    step = plan.threads * plan.vector
    trips = ceil_div(length, step)
    start = (var(outer) * plan.threads + var(thread)) * plan.vector
    lets: list[ir.Let] = []
    scopes = [Scope(outer, const(0), trips), Scope(lane, const(0), const(plan.vector))]
    values: dict[str, Affine] = {}
    left = start
    for number, (dim, extent) in enumerate(reversed(list(zip(loops, extents, strict=True)))):
        outermost = number == len(loops) - 1
        if outermost:
            digit = left
        elif extent.is_constant:
            digit, left = left % extent.value, left // extent.value
        else:
            digit, left = _divide(state, left, extent, dim, lets, scopes)
        if number == 0:
            digit = digit + var(lane)
        values[dim.name] = state.context.size(dim.low) + digit
    whole = length.is_constant and length.value % step == 0
    return Positions(outer, lane, trips, start, length, values, tuple(lets), tuple(scopes), whole)


def _divide(
    state: State,
    left: Affine,
    extent: Affine,
    dim: Dim,
    lets: list[ir.Let],
    scopes: list[Scope],
) -> tuple[Affine, Affine]:
    """Remainder and quotient by an open size, each under its own name."""
    found: list[Affine] = []
    for operator, suffix in (("%", "r"), ("/", "q")):
        name = state.names.fresh(f"{dim.name}_{suffix}")
        value = ir.Binary(operator, ir.Int(left), ir.Int(extent), ScalarType.INT32)
        lets.append(ir.Let(name, value))
        high = extent if operator == "%" else const(2**31 - 1)
        scopes.append(Scope(name, const(0), high))
        found.append(var(name))
    return found[0], found[1]
