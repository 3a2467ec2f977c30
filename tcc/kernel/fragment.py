"""Register fragments: the elements of an operand that one thread needs at one k-point."""

from __future__ import annotations

from dataclasses import dataclass

from tcc.affine import Affine, const, var
from tcc.kernel import ir
from tcc.kernel.digits import Digits
from tcc.kernel.gathered import Place, dense
from tcc.kernel.staged import local_position
from tcc.kernel.state import State
from tcc.kernel.steps import Steps
from tcc.kernel.tile_box import Numbers, Tile
from tcc.kernel.tile_copy import all_of
from tcc.kernel.vector import divides
from tcc.sched.reuse import Operand


@dataclass(frozen=True)
class Fragment:
    """A register array and the index of the current point in it."""

    register: ir.Buffer
    index: tuple[Affine, ...]


def load_fragment(
    state: State,
    steps: Steps,
    operand: Operand,
    tile: Tile | None,
    number: Numbers,
    stage: Affine,
    gathered: Place | None = None,
) -> tuple[Fragment, list[ir.Statement]]:
    """Load a fragment from a shared tile, or (tile None) from global memory; zero outside.

    Vectors run along the last register digit where it moves the last subscript by one and
    alignment is proved. `gathered` are the subscripts of a gather that is read from memory.
    """
    digits = [d for d in state.frame.digits if d.register_extent > 1 and operand.uses(d.dim.name)]
    shape = tuple(const(d.register_extent) for d in digits)
    buffer = state.buffer(operand.tensor)
    name = state.names.fresh(f"{operand.tensor.lower()}_")
    register = ir.Buffer(name, ir.Space.PRIVATE, buffer.type, shape)
    fragment = Fragment(register, tuple(d.register_index for d in digits))
    if tile is not None:
        place = tile.place(stage, local_position(state, steps, operand))
        vector = _vector_digit(state, tile.shared, place, digits, [])
        loads = _load(state, fragment, ir.Load(tile.shared, place), digits, vector, [])
        return fragment, [ir.Declare(register), *loads]
    box = dense(state, operand)
    place = tuple(steps.at(f, number) for f in operand.forms)
    conditions = _inside(state, steps, operand, box, place, number)
    vector = None, 1
    if operand.gather is None or operand.gather.runs_along_memory:
        vector = _vector_digit(state, box, place, digits, conditions)
    loads = _load(state, fragment, ir.Load(buffer, gathered or place), digits, vector, conditions)
    return fragment, [ir.Declare(register), *loads]


def load_directly(
    state: State, steps: Steps, operand: Operand, number: Numbers, gathered: Place
) -> ir.Expression:
    """The element of an operand at the current point, from global memory; zero outside."""
    buffer = state.buffer(operand.tensor)
    place = tuple(steps.at(f, number) for f in operand.forms)
    load = ir.Load(buffer, place if operand.gather is None else gathered)
    box = dense(state, operand)
    wanted = state.points.unproved(_inside(state, steps, operand, box, place, number))
    if not wanted:
        return load
    return ir.Select(all_of(wanted), load, ir.Const(0, buffer.type), buffer.type)


def over_registers(
    digit: Digits, body: tuple[ir.Statement, ...], *, step: int = 1
) -> tuple[ir.Statement, ...]:
    """Loops over the register digits of one dimension; the inner one in vectors of `step`."""
    if digit.inner is not None:
        body = (ir.For(digit.inner, const(0), const(digit.plan.inner), step, True, body),)
    if digit.outer is not None:
        body = (ir.For(digit.outer, const(0), const(digit.plan.outer), 1, True, body),)
    return body


def _load(
    state: State,
    fragment: Fragment,
    source: ir.Load,
    digits: list[Digits],
    vector: tuple[Digits | None, int],
    conditions: list[Affine],
) -> list[ir.Statement]:
    """The loads at every register point of `digits`, in vectors along the digit of `vector`."""
    digit, width = vector
    register, index = fragment.register, fragment.index
    if digit is None:
        move: ir.Statement = ir.Store(register, index, source)
    else:
        move = ir.VectorMove(register, index, source.buffer, source.index, width)
    body: tuple[ir.Statement, ...] = (move,)
    wanted = state.points.unproved(conditions)
    if wanted:
        body = (ir.If(tuple(wanted), body, _zeros(fragment, digit, width)),)
    for each in reversed(digits):
        body = over_registers(each, body, step=width if each is digit else 1)
    return list(body)


def _zeros(fragment: Fragment, digit: Digits | None, width: int) -> tuple[ir.Statement, ...]:
    register, index = fragment.register, fragment.index
    zero = ir.Const(0, register.type)
    if digit is None or digit.inner is None:
        return (ir.Store(register, index, zero),)
    inner = digit.inner
    return tuple(
        ir.Store(register, tuple(i.substitute({inner: var(inner) + k}) for i in index), zero)
        for k in range(width)
    )


def _inside(
    state: State,
    steps: Steps,
    operand: Operand,
    box: ir.Buffer,
    place: tuple[Affine, ...],
    number: Numbers,
) -> list[Affine]:
    """Conditions for a read straight from memory at a padded point, at `place` of `box`."""
    conditions: list[Affine] = []
    for at, extent in zip(place, box.shape, strict=True):
        conditions += [at, extent - 1 - at]
    for step in steps.all:
        if step.ragged and operand.uses(step.dim.name):
            conditions.append(state.context.size(step.dim.high - 1 - steps.value(step, number)))
    return conditions


def _vector_digit(
    state: State,
    source: ir.Buffer,
    place: tuple[Affine, ...],
    digits: list[Digits],
    conditions: list[Affine],
) -> tuple[Digits | None, int]:
    """The last register digit, if vectors can run along it, and their width."""
    digit = digits[-1] if digits else None
    if digit is None or digit.inner is None or not place:
        return None, 1
    name = digit.inner
    rest = place[-1].without((name,))
    moves = place[-1].coefficient(name) == 1 and name not in rest.variables
    if not moves or any(name in p.variables for p in place[:-1]):
        return None, 1
    for width in state.widths(source.type):
        even = digit.plan.inner % width == 0 and divides(width, rest)
        rows = len(place) == 1 or divides(width, source.shape[-1])
        if even and rows and all(_uniform(c, name, width) for c in conditions):
            return digit, width
    return None, 1


def _uniform(condition: Affine, name: str, width: int) -> bool:
    """Whether a condition holds for all of an aligned vector when it holds for its first lane."""
    if name not in condition.variables:
        return True
    surplus = 1 if condition.coefficient(name) < 0 else 0
    return divides(width, condition.without((name,)) + surplus)
