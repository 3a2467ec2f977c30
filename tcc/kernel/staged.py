"""Shared tiles of operands: which box, how it is laid out, where a point is inside."""

from __future__ import annotations

from tcc.affine import Affine, const
from tcc.kernel import ir
from tcc.kernel.arrange import arranged
from tcc.kernel.gathered import dense
from tcc.kernel.state import State
from tcc.kernel.steps import Steps, plain_dimension
from tcc.kernel.tile_box import Numbers, Through, Tile
from tcc.sched.reuse import Operand, box, order


def shared_tile(
    state: State, steps: Steps, operand: Operand, stages: int, through: Through | None = None
) -> Tile:
    """The box of an operand that a block uses in one k-tile, in `stages` copies.

    `through` fetches the elements of a gather.
    """
    source = dense(state, operand)
    intervals = box(operand.forms, steps.spans)
    extents = tuple(high - low + 1 for low, high in intervals)
    lows = tuple(low for low, _ in intervals)
    lie = order(operand.forms, frozenset(d.dim.name for d in state.frame.digits if d.inner))
    name = state.names.fresh(f"shared_{operand.tensor}")
    shared = ir.Buffer(name, ir.Space.SHARED, source.type, ())
    rows = tuple(extents[d] for d in lie)

    def origin(number: Numbers) -> tuple[Affine, ...]:
        return tuple(
            steps.origin(f, number) + low for f, low in zip(operand.forms, lows, strict=True)
        )

    def limits(number: Numbers, position: tuple[Affine, ...]) -> list[Affine]:
        return _tail_limits(state, steps, operand, number, position, lows)

    tile = Tile(
        operand.tensor,
        source,
        shared,
        extents,
        lie,
        rows,
        stages,
        steps.probe,
        origin,
        limits,
        through=through,
    )
    return arranged(state, steps, operand, tile)


def local_position(state: State, steps: Steps, operand: Operand) -> tuple[Affine, ...]:
    """Position of the current point inside the box."""
    locals_ = {d.dim.name: d.local for d in state.frame.digits}
    locals_ |= {s.dim.name: s.local for s in steps.all}
    result: list[Affine] = []
    for form, (low, _) in zip(operand.forms, box(operand.forms, steps.spans), strict=True):
        position = const(-low)
        for dim, local in locals_.items():
            position = position + local * form.coefficient(dim)
        result.append(position)
    return tuple(result)


def _tail_limits(
    state: State,
    steps: Steps,
    operand: Operand,
    number: Numbers,
    position: tuple[Affine, ...],
    lows: tuple[int, ...],
) -> list[Affine]:
    """For ragged reductions: the reduction index of a position stays in its range."""
    found: list[Affine] = []
    for step in steps.all:
        dim = plain_dimension(operand, step.dim.name, steps.spans) if step.ragged else None
        if dim is not None:
            first = steps.start(step, number) + lows[dim]
            found.append(state.context.size(step.dim.high - 1 - first) - position[dim])
    return found
