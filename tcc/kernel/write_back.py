"""Results from registers to memory, in vectors where alignment is proved."""

from __future__ import annotations

from collections.abc import Iterator

from tcc.affine import Affine, const, var
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
    body = tuple(_move(state, promotion, last, width))
    guards = _guards(state, promotion)
    if guards:
        body = (ir.If(tuple(guards), body),)
    unroll = state.points.count <= UNROLL_LIMIT
    for digit in reversed(state.frame.digits):
        for name, extent in reversed(digit.registers):
            step = width if name == last.inner else 1
            body = (ir.For(name, const(0), const(extent), step, unroll, body),)
    return list(body)


def _move(state: State, promotion: Promotion, last: Digits, width: int) -> Iterator[ir.Statement]:
    """The store of one vector; what is accumulated in another type is converted before."""
    register, index = state.registers[promotion.tensor], state.points.register_index
    target, place = state.buffer(promotion.tensor), _index(state, promotion)
    if register.type is target.type:
        yield ir.VectorMove(target, place, register, index, width)
        return
    name = state.names.fresh(f"rounded_{promotion.tensor}")
    rounded = ir.Buffer(name, ir.Space.PRIVATE, target.type, (const(width),))
    yield ir.Declare(rounded)
    inner = last.inner or ""
    for lane in range(width):
        at = tuple(i.substitute({inner: var(inner) + lane}) for i in index)
        yield ir.Store(rounded, (const(lane),), cast(ir.Load(register, at), target.type))
    yield ir.VectorMove(target, place, rounded, (const(0),), width)


def _width(state: State, promotion: Promotion, last: Digits) -> int:
    """The vector width along the last register digit; guards must hold for whole vectors."""
    buffer = state.buffer(promotion.tensor)
    if last.inner is None:
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
