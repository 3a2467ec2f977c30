"""Tensors that the rows of a block share in shared memory: copied once, before the passes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tcc.affine import Affine, const
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.state import State
from tcc.kernel.tile_box import Numbers, Tile
from tcc.kernel.tile_copy import TileCopy
from tcc.sched.nest import Instance
from tcc.sched.plan import AXES, Staging
from tcc.sched.row_stage import ACCESS_BYTES, RowStage, row_stages, stage_of
from tcc.sched.rows import RowForm


class RowStages:
    """The staged tensors of one kernel over rows, and where their elements are."""

    def __init__(self, state: State, form: RowForm) -> None:
        self._state = state
        self._form = form
        shared = {t for t, s in state.plan.staging if s is Staging.SHARED}
        found = row_stages(state.nest, state.context.program) if shared else ()
        self._tiles: Mapping[RowStage, Tile] = {
            s: self._tile(s) for s in found if s.tensor in shared
        }

    def copies(self) -> list[ir.Statement]:
        """Declarations, the copies by all threads of the block, and a barrier."""
        state = self._state
        thread = state.thread_number(range(len(AXES)))
        copies = [TileCopy(state, t, thread, prod(state.plan.block)) for t in self._tiles.values()]
        if not copies:
            return []
        result: list[ir.Statement] = [ir.Declare(t.shared) for t in self._tiles.values()]
        result += [s for c in copies for s in c.prologue()]
        if state.plan.rolled_copies:
            return [*result, *(s for c in copies for s in c.copy(())), ir.Barrier()]
        result += [s for c in copies for s in c.load(())]
        return [*result, *(s for c in copies for s in c.store(const(0))), ir.Barrier()]

    def load(
        self, read: tir.Read, instance: Instance, along: Mapping[str, Affine]
    ) -> ir.Expression | None:
        """The element of a read from its copy; `along` gives the position in the row."""
        if not self._tiles:
            return None
        state = self._state
        stage = stage_of(read, instance, state.nest, self._form, state.context.program)
        tile = self._tiles.get(stage) if stage is not None else None
        if tile is None or stage is None:
            return None
        locals_ = {d.dim.name: d.local for d in state.frame.digits}
        for dim in self._form.loops:
            locals_[dim.name] = along[dim.name] - state.context.size(dim.low)
        position: list[Affine] = []
        for form, (low, _) in zip(
            stage.forms, stage.extents(state.plan, self._form.loops), strict=True
        ):
            at = const(-low)
            for dim_name, local in locals_.items():
                at = at + local * form.coefficient(dim_name)
            position.append(at)
        return ir.Load(tile.shared, tile.place(const(0), tuple(position)))

    def _tile(self, stage: RowStage) -> Tile:
        state = self._state
        source = state.buffer(stage.tensor)
        reach = stage.extents(state.plan, self._form.loops)
        extents = tuple(high - low + 1 for low, high in reach)
        unit = max(1, ACCESS_BYTES // source.type.bytes)
        rows = (*extents[:-1], -(-extents[-1] // unit) * unit)
        name = state.names.fresh(f"shared_{stage.tensor}")
        shared = ir.Buffer(name, ir.Space.SHARED, source.type, (const(prod(rows)),))
        starts = {d.dim.name: d.dim.low + d.tile_var * d.plan.tile for d in state.frame.digits}
        starts |= {d.name: state.context.size(d.low) for d in self._form.loops}
        first = tuple(
            state.context.size(f.substitute(starts) + low)
            for f, (low, _) in zip(stage.forms, reach, strict=True)
        )

        def origin(_: Numbers) -> tuple[Affine, ...]:
            return first

        def limits(_: Numbers, __: tuple[Affine, ...]) -> list[Affine]:
            return []

        order = tuple(range(len(extents)))
        return Tile(stage.tensor, source, shared, extents, order, rows, 1, (), origin, limits)
