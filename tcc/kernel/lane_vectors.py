"""Rows that data picks, outside of tiled reductions: a thread reads vectors for its lanes.

The lanes of a thread are its neighbouring points, the inner digit of the last dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tcc.affine import Affine, const, var
from tcc.frontend import tir
from tcc.frontend.lazy import unconditional_reads
from tcc.frontend.subscripts import affine_form
from tcc.kernel import ir
from tcc.kernel.digits import Digits
from tcc.kernel.points import Make
from tcc.kernel.state import State
from tcc.kernel.values import Values
from tcc.kernel.vector import divides
from tcc.sched.nest import Instance
from tcc.sched.scop import Part


@dataclass(frozen=True)
class _Picked:
    """A read of which the lanes want neighbours, `width` at a time; where these are kept."""

    read: tir.Read
    register: ir.Buffer
    width: int


class LaneVectors:
    """The gathers of one kernel whose last subscript the lanes of a thread walk."""

    def __init__(self, state: State) -> None:
        self._state = state
        last = state.frame.digits[-1] if state.frame.digits else None
        self._lanes: Digits | None = last if state.plan.row is None else None
        self._loaded: Mapping[tir.Read, ir.Expression] = {}

    def load(self, read: tir.Read) -> ir.Expression | None:
        """The element of a read at the current lane; None where it is not in a vector."""
        return self._loaded.get(read)

    def at_points(
        self, instance: Instance, values: Callable[[], Values], make: Make
    ) -> list[ir.Statement] | None:
        """What `make` builds at every register point of an instance, vectors loaded before.

        None where there are none, or some lanes may be outside while others are not.
        """
        lanes, points = self._lanes, self._state.points
        if lanes is None or lanes.inner is None or points.is_one:
            return None
        picked = tuple(self._picked(instance, lanes))
        conditions = [*points.tile_guards(), *points.guards(instance, instance.iterators)]
        if not picked or any(lanes.inner in c.variables for c in conditions):
            return None
        lowered = values()
        loads = [s for p in picked for s in self._loads(p, lowered, lanes.inner)]
        lane = (var(lanes.inner),)
        self._loaded = {p.read: ir.Load(p.register, lane) for p in picked}
        found = points.in_lanes(conditions, loads, make)
        self._loaded = {}
        return found

    def _picked(self, instance: Instance, lanes: Digits) -> Iterator[_Picked]:
        """The reads that happen whatever the data is."""
        state = self._state
        lowered = state.context.statements[instance.statement]
        if lowered.part is Part.INIT:
            return
        for read in dict.fromkeys(unconditional_reads(lowered.statement.value)):
            width = 1 if state.is_written(read.tensor) else self._width(read, instance, lanes)
            if width > 1:
                name = state.names.fresh(f"row_{read.tensor}")
                type = state.buffer(read.tensor).type
                shape = (const(lanes.plan.inner),)
                yield _Picked(read, ir.Buffer(name, ir.Space.PRIVATE, type, shape), width)

    def _width(self, read: tir.Read, instance: Instance, lanes: Digits) -> int:
        """Elements of one access: the lanes move the last subscript alone, by one."""
        state = self._state
        forms = [affine_form(s) for s in read.subscripts]
        last = forms[-1] if forms else None
        if last is None or None not in forms or lanes.inner is None:
            return 1
        outer = (e for s in read.subscripts[:-1] for e in tir.walk(s))
        names = {e.name for e in outer if isinstance(e, tir.Index)}
        dim = lanes.dim.name
        if any(dim in instance.iterators[n].variables for n in names):
            return 1
        origin = state.context.tensor(read.tensor).origin[-1]
        place = state.points.at(last.substitute(instance.iterators) - origin)
        rest = place.without((lanes.inner,))
        if place.coefficient(lanes.inner) != 1 or lanes.inner in rest.variables:
            return 1
        buffer = state.buffer(read.tensor)
        for width in state.widths(buffer.type):
            even = lanes.plan.inner % width == 0 and divides(width, buffer.shape[-1])
            if even and divides(width, rest):
                return width
        return 1

    def _loads(self, picked: _Picked, values: Values, lane: str) -> Iterator[ir.Statement]:
        yield ir.Declare(picked.register)
        source = self._state.buffer(picked.read.tensor)
        index = [values.subscript(picked.read, k) for k in range(len(picked.read.subscripts))]
        for first in range(0, picked.register.shape[0].value, picked.width):
            at = [i.substitute({lane: const(first)}) if isinstance(i, Affine) else i for i in index]
            place = (const(first),)
            yield ir.VectorMove(picked.register, place, source, tuple(at), picked.width)
