"""Reductions across the threads of a group: shuffles inside a warp, shared memory beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tcc.affine import Affine, const, var
from tcc.kernel import ir
from tcc.kernel.state import State
from tcc.kernel.values import combine
from tcc.scalar import ScalarType
from tcc.sched.plan import RowPlan

WARP = 32


@dataclass(frozen=True)
class Group:
    """The threads that share a row: `along` is a thread's number in its row, `across` the row's
    number in the block, of `rows`.
    """

    along: str
    across: Affine
    rows: int

    @property
    def row(self) -> tuple[Affine, ...]:
        """The subscript of the row in an array with something for each."""
        return (self.across,) if self.rows > 1 else ()

    @property
    def shape(self) -> tuple[Affine, ...]:
        """The extent for that subscript."""
        return (const(self.rows),) if self.rows > 1 else ()


def needs_barrier(plan: RowPlan) -> bool:
    """Whether an exchange goes through shared memory."""
    return plan.axis == 1 or plan.threads > WARP


def exchange(
    state: State, partial: Sequence[tuple[str, ir.Buffer]], plan: RowPlan, group: Group
) -> list[ir.Statement]:
    """Combine registers of every thread of a row by their operators; all get the totals.

    Requires: all threads of a warp arrive, and all of the block where there is a barrier; shared
    arrays are not reused between barriers.
    """
    halves = [_halves(state, operator, register, plan, group) for operator, register in partial]
    before = [each for first, _ in halves for each in first]
    after = [each for _, second in halves for each in second]
    return [*before, ir.Barrier(), *after] if after else before


def _halves(
    state: State, operator: str, register: ir.Buffer, plan: RowPlan, group: Group
) -> tuple[list[ir.Statement], list[ir.Statement]]:
    """What comes before the barrier, and what after it; without the latter it takes none."""
    if plan.axis == 1:
        return _through_shared(state, operator, register, plan.threads, group)
    statements = _shuffles(operator, register, min(plan.threads, WARP))
    if plan.threads <= WARP:
        return statements, []
    publish, fold = _between_warps(state, operator, register, plan.threads, group)
    return statements + publish, fold


def _shuffles(operator: str, register: ir.Buffer, width: int) -> list[ir.Statement]:
    value = ir.Load(register, ())
    statements: list[ir.Statement] = []
    mask = width // 2
    while mask:
        other = ir.Shuffle(value, mask, width)
        statements.append(ir.Store(register, (), combine(operator, value, other)))
        mask //= 2
    return statements


def _between_warps(
    state: State, operator: str, register: ir.Buffer, threads: int, group: Group
) -> tuple[list[ir.Statement], list[ir.Statement]]:
    """One value a warp through shared memory; every thread combines all of them."""
    warps, along = threads // WARP, group.along
    shared = ir.Buffer(
        state.names.fresh(f"warps_{register.name.removeprefix('partial_')}"),
        ir.Space.SHARED,
        register.type,
        (const(warps), *group.shape),
    )
    warp = var(along) // WARP
    lane = ir.Int(var(along) % WARP)
    first = ir.Binary("==", lane, ir.Const(0, ScalarType.INT32), ScalarType.BOOL)
    publish = ir.If((first,), (ir.Store(shared, (warp, *group.row), ir.Load(register, ())),))
    fold = _fold(state, operator, register, shared, warps, group.row)
    return [ir.Declare(shared), publish], fold


def _through_shared(
    state: State,
    operator: str,
    register: ir.Buffer,
    threads: int,
    group: Group,
) -> tuple[list[ir.Statement], list[ir.Statement]]:
    """One value a thread through shared memory, a column for each row of the block."""
    shared = ir.Buffer(
        state.names.fresh(f"parts_{register.name.removeprefix('partial_')}"),
        ir.Space.SHARED,
        register.type,
        (const(threads), *group.shape),
    )
    store = ir.Store(shared, (var(group.along), *group.row), ir.Load(register, ()))
    fold = _fold(state, operator, register, shared, threads, group.row)
    return [ir.Declare(shared), store], fold


def _fold(
    state: State,
    operator: str,
    register: ir.Buffer,
    shared: ir.Buffer,
    count: int,
    rest: tuple[Affine, ...],
) -> list[ir.Statement]:
    """Register = shared[0] op shared[1] op ..."""
    with state.names.scope():
        name = state.names.fresh("p")
    start = ir.Store(register, (), ir.Load(shared, (const(0), *rest)))
    other = ir.Load(shared, (var(name), *rest))
    step = ir.Store(register, (), combine(operator, ir.Load(register, ()), other))
    return [start, ir.For(name, const(1), const(count), 1, count <= WARP, (step,))]
