"""Windows of a block in shared memory: copied before the block's points, read in their place."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tcc.affine import Affine, const
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.state import State
from tcc.kernel.tile_box import Numbers, Tile
from tcc.kernel.tile_copy import TileCopy
from tcc.sched.budget import padded_row
from tcc.sched.nest import Instance
from tcc.sched.plan import AXES, Staging
from tcc.sched.reuse import box
from tcc.sched.windows import Window, window_forms, windows


class Windows:
    """The staged windows of one kernel, and where their elements are."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._spans = {d.dim.name: d.plan.covered for d in state.frame.digits}
        program = state.context.program
        found = windows(state.nest, program) if _any_shared(state) else ()
        staged = [w for w in found if state.plan.stage(w.tensor) is Staging.SHARED]
        self._tiles: Mapping[tuple[str, tuple[Affine, ...]], tuple[Window, Tile]] = {
            (w.tensor, w.forms): (w, self._tile(w)) for w in staged
        }

    def copies(self) -> list[ir.Statement]:
        """Declarations, and the copies of all windows by all threads of the block.

        Establishes: a barrier between the last read of the block's tile before and the first
        write, and between the last write and the first read.
        """
        state = self._state
        tiles = [tile for _, tile in self._tiles.values()]
        if not tiles:
            return []
        thread = state.thread_number(range(len(AXES)))
        copies = [TileCopy(state, t, thread, prod(state.plan.block)) for t in tiles]
        again: list[ir.Statement] = [ir.Barrier()] if state.frame.looped else []
        result: list[ir.Statement] = [ir.Declare(t.shared) for t in tiles]
        result += [s for c in copies for s in c.prologue()]
        if state.plan.rolled_copies:
            moves = [s for c in copies for s in c.copy(())]
            return [*result, *again, *moves, ir.Barrier()]
        result += [s for c in copies for s in c.load(())]
        return [*result, *again, *(s for c in copies for s in c.store(const(0))), ir.Barrier()]

    def load(self, read: tir.Read, instance: Instance) -> ir.Expression | None:
        """The element of a read from its window; None where it is not staged."""
        if not self._tiles:
            return None
        forms = window_forms(read, instance, self._state.nest, self._state.context.program)
        if forms is None:
            return None
        linear = tuple(f - f.constant for f in forms)
        found = self._tiles.get((read.tensor, linear))
        if found is None:
            return None
        window, tile = found
        locals_ = {d.dim.name: d.local for d in self._state.frame.digits}
        position: list[Affine] = []
        reach = box(linear, self._spans)
        for form, first, (low, _) in zip(forms, window.low, reach, strict=True):
            at = const(form.constant - first - low)
            for dim, local in locals_.items():
                at = at + local * form.coefficient(dim)
            position.append(at)
        return ir.Load(tile.shared, tile.place(const(0), tuple(position)))

    def _tile(self, window: Window) -> Tile:
        """The box of a window; rows get an odd length where threads walk down columns."""
        state = self._state
        source = state.buffer(window.tensor)
        reach = list(zip(box(window.forms, self._spans), window.low, window.high, strict=True))
        extents = tuple(high - low + 1 + last - first for (low, high), first, last in reach)
        lows = [low + first for (low, _), first, _ in reach]
        rows = (*extents[:-1], padded_row(extents[-1], source.type, window.forms, state.plan))
        shape = (const(prod(rows)),)
        name = state.names.fresh(f"shared_{window.tensor}")
        shared = ir.Buffer(name, ir.Space.SHARED, source.type, shape)
        starts = {d.dim.name: d.dim.low + d.tile_var * d.plan.tile for d in state.frame.digits}
        first = tuple(
            state.context.size(f.substitute(starts) + low)
            for f, low in zip(window.forms, lows, strict=True)
        )

        def origin(_: Numbers) -> tuple[Affine, ...]:
            return first

        def limits(_: Numbers, __: tuple[Affine, ...]) -> list[Affine]:
            return []

        order = tuple(range(len(extents)))
        return Tile(window.tensor, source, shared, extents, order, rows, 1, (), origin, limits)


def _any_shared(state: State) -> bool:
    return state.plan.row is None and any(s is Staging.SHARED for _, s in state.plan.staging)
