"""The reduction loops of a chain cut into k-tiles, and where its forms are at a k-point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcc.affine import Affine, ceil_div, const, var
from tcc.kernel.prove import Scope
from tcc.kernel.state import State
from tcc.kernel.tile_box import Numbers
from tcc.kernel.vector import divides
from tcc.sched.nest import Dim
from tcc.sched.plan import LoopPlan
from tcc.sched.reuse import Chain, Operand


@dataclass(frozen=True)
class Step:
    """One loop: value = low + tile * number + local; `ragged`: the last tile is not full.

    A thread takes `points` of the tile, counted by the variable `point`.
    """

    dim: Dim
    tile: int
    tiles: Affine
    point: str
    points: int
    local: Affine
    ragged: bool
    unroll: bool


class Steps:
    """All reduction loops of a chain, outermost first.

    `moving` are those with more than one k-tile. When `linear`, one number counts the k-tiles of
    all loops, from 0 to `count`.
    """

    def __init__(self, state: State, chain: Chain) -> None:
        self._state = state
        plans = {p.dim: p for p in state.plan.loops}
        whole = LoopPlan("", 1)
        self.all = tuple(self._step(d, plans.get(d.name, whole)) for d in chain.loops)
        self.moving = tuple(s for s in self.all if s.tiles != const(1))
        self.linear = all(s.tiles.is_constant for s in self.moving[1:])
        self.count = const(1)
        for step in self.moving if self.linear else ():
            self.count = self.count * step.tiles
        self.spans = {d.dim.name: d.plan.covered for d in state.frame.digits}
        self.spans |= {s.dim.name: s.tile for s in self.all}

    @property
    def scopes(self) -> list[Scope]:
        """The k-point variables."""
        return [Scope(s.point, const(0), const(s.points)) for s in self.all]

    @property
    def probe(self) -> Numbers:
        """A variable for every k-tile number that moves, 0 elsewhere."""
        return tuple(
            var(f"number {k}") if s in self.moving else const(0) for k, s in enumerate(self.all)
        )

    def loop_name(self) -> str:
        """A name for the variable that counts k-tiles."""
        single = len(self.moving) == 1
        return self._state.names.fresh(f"{self.moving[0].dim.name}_t" if single else "tile")

    def numbers(self, number: Affine) -> Numbers:
        """The k-tile number of every loop, from one number over all of them."""
        numbers: dict[Step, Affine] = {}
        for step in reversed(self.moving):
            outermost = step is self.moving[0]
            numbers[step] = number if outermost else number % step.tiles.value
            number = number if outermost else number // step.tiles.value
        return tuple(numbers.get(s, const(0)) for s in self.all)

    def start(self, step: Step, number: Numbers) -> Affine:
        """The reduction index at the first point of a k-tile."""
        return step.dim.low + number[self.all.index(step)] * step.tile

    def value(self, step: Step, number: Numbers) -> Affine:
        """The reduction index at the current point."""
        return self.start(step, number) + step.local

    def at(self, form: Affine, number: Numbers) -> Affine:
        """A form over the nest's dimensions at the current point."""
        values = {s.dim.name: self.value(s, number) for s in self.all}
        return self._state.points.at(form, values)

    def origin(self, form: Affine, number: Numbers) -> Affine:
        """A form at the first point of the block's tile and of a k-tile."""
        values = {s.dim.name: self.start(s, number) for s in self.all}
        values |= {
            d.dim.name: d.dim.low + d.tile_var * d.plan.tile for d in self._state.frame.digits
        }
        return self._state.context.size(form.substitute(values))

    def past_end(self, number: Numbers) -> list[Affine]:
        """What must be `>= 0` for the current point to be in the range of every ragged loop."""
        return [
            self._state.context.size(s.dim.high - 1 - self.value(s, number))
            for s in self.all
            if s.ragged
        ]

    def _step(self, dim: Dim, plan: LoopPlan) -> Step:
        tiles = ceil_div(self._state.context.size(dim.extent), plan.tile)
        ragged = not divides(plan.tile, dim.extent)
        name = self._state.names.fresh(dim.name)
        local = var(name)
        if plan.thread_axis is not None:
            local = local * plan.threads + self._state.slice
        return Step(dim, plan.tile, tiles, name, plan.points, local, ragged, plan.unroll)


def plain_dimension(operand: Operand, name: str, spans: Mapping[str, int]) -> int | None:
    """The tensor dimension whose subscript is the reduction index alone (plus a constant)."""
    for dim, form in enumerate(operand.forms):
        others = [n for n in spans if n != name and form.coefficient(n)]
        if form.coefficient(name) == 1 and not others:
            return dim
    return None
