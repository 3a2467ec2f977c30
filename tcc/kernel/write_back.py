"""Results from registers to memory, in vectors where alignment is proved."""

from __future__ import annotations

from tcc.affine import Affine, const
from tcc.kernel import ir
from tcc.kernel.digits import Digits
from tcc.kernel.points import UNROLL_LIMIT
from tcc.kernel.promote import Promotion
from tcc.kernel.state import State
from tcc.kernel.values import cast
from tcc.kernel.vector import access_width, divides


def write_back(state: State, promotion: Promotion) -> list[ir.Statement]:
    """Store a promoted tensor at every point where the kernel writes it.

    Requires: registers hold the values of all these points.
    """
    last = state.frame.digits[-1] if state.frame.digits else None
    if last is not None and last.inner is not None:
        width = _width(state, promotion, last)
        if width > 1:
            return _vectors(state, promotion, last, width)
    return _elements(state, promotion)


def _elements(state: State, promotion: Promotion) -> list[ir.Statement]:
    points = state.points
    register = state.registers[promotion.tensor]

    def store() -> list[ir.Statement]:
        value = ir.Load(register, points.register_index)
        buffer = state.buffer(promotion.tensor)
        return [ir.Store(buffer, _index(state, promotion), cast(value, buffer.type))]

    return points.everywhere(lambda: points.inside(_guards(state, promotion), store))


def _vectors(state: State, promotion: Promotion, last: Digits, width: int) -> list[ir.Statement]:
    register = state.registers[promotion.tensor]
    move = ir.VectorMove(
        state.buffer(promotion.tensor),
        _index(state, promotion),
        register,
        state.points.register_index,
        width,
    )
    body: tuple[ir.Statement, ...] = (move,)
    guards = _guards(state, promotion)
    if guards:
        body = (ir.If(tuple(guards), body),)
    unroll = state.points.count <= UNROLL_LIMIT
    for digit in reversed(state.frame.digits):
        for name, extent in reversed(digit.registers):
            step = width if name == last.inner else 1
            body = (ir.For(name, const(0), const(extent), step, unroll, body),)
    return list(body)


def _width(state: State, promotion: Promotion, last: Digits) -> int:
    """The vector width along the last register digit; guards must hold for whole vectors."""
    buffer = state.buffer(promotion.tensor)
    register = state.registers[promotion.tensor]
    if buffer.type is not register.type or last.inner is None:
        return 1
    limit = state.plan.vector or last.plan.inner
    width = access_width(buffer, _index(state, promotion), last.inner, last.plan.inner, limit)
    for guard in _guards(state, promotion):
        if last.inner in guard.variables:
            rest = guard.without((last.inner,))
            upper = guard.coefficient(last.inner) == -1
            if not upper or not divides(width, rest + 1):
                return 1
    return width


def _index(state: State, promotion: Promotion) -> tuple[Affine, ...]:
    tensor = state.context.tensor(promotion.tensor)
    return state.stored(tensor, tuple(state.points.at(s) for s in promotion.subscripts))


def _guards(state: State, promotion: Promotion) -> list[Affine]:
    writer = promotion.writer
    indices = state.context.statements[writer.statement].statement.indices
    return [*state.points.tile_guards(), *state.points.guards(writer, indices)]
