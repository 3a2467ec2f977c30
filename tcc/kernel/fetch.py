"""Results from memory to registers."""

from __future__ import annotations

from tcc.kernel import ir
from tcc.kernel.promote import Promotion
from tcc.kernel.state import State
from tcc.kernel.values import cast


def fetch(state: State, promotion: Promotion) -> list[ir.Statement]:
    """Load a promoted tensor at every point where the kernel writes it; zero elsewhere.

    Loops over k-tiles compute at all points of a thread, and no value must be undefined.
    """
    points = state.points
    tensor = state.context.tensor(promotion.tensor)
    register = state.registers[promotion.tensor]
    writer = promotion.writer
    indices = state.context.statements[writer.statement].statement.indices

    def load() -> list[ir.Statement]:
        at = tuple(points.at(s) for s in promotion.subscripts)
        value = ir.Load(state.buffer(tensor.name), state.stored(tensor, at))
        return [ir.Store(register, points.register_index, cast(value, register.type))]

    def point() -> list[ir.Statement]:
        found = points.inside([*points.tile_guards(), *points.guards(writer, indices)], load)
        if points.count == 1 or not any(isinstance(s, ir.If) for s in found):
            return found
        return [ir.Store(register, points.register_index, ir.Const(0, register.type)), *found]

    return points.everywhere(point)
