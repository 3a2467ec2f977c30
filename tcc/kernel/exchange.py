"""Reductions across the threads of a group: shuffles inside a warp, shared memory beyond it."""

from __future__ import annotations

from tcc.affine import Affine, const, var
from tcc.kernel import ir
from tcc.kernel.state import State
from tcc.kernel.values import combine
from tcc.scalar import ScalarType
from tcc.sched.plan import RowPlan

WARP = 32


def exchange(
    state: State, operator: str, register: ir.Buffer, plan: RowPlan, along: str, across: str | None
) -> list[ir.Statement]:
    """Combine a register of every thread of a row; all of them get the total.

    `along` is the thread number in the row, `across` the row's number in the block (None: one
    row). Requires: all threads of the block arrive; shared arrays are not reused between barriers.
    """
    if plan.axis == 1:
        return _through_shared(state, operator, register, plan.threads, along, across)
    statements = _shuffles(operator, register, min(plan.threads, WARP))
    if plan.threads <= WARP:
        return statements
    return statements + _between_warps(state, operator, register, plan.threads, along)


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
    state: State, operator: str, register: ir.Buffer, threads: int, along: str
) -> list[ir.Statement]:
    """One value a warp through shared memory; every thread combines all of them."""
    warps = threads // WARP
    shared = ir.Buffer(
        state.names.fresh(f"warps_{register.name.removeprefix('private_')}"),
        ir.Space.SHARED,
        register.type,
        (const(warps),),
    )
    warp = var(along) // WARP
    lane = ir.Int(var(along) % WARP)
    first = ir.Binary("==", lane, ir.Const(0, ScalarType.INT32), ScalarType.BOOL)
    publish = ir.If((first,), (ir.Store(shared, (warp,), ir.Load(register, ())),))
    return [
        ir.Declare(shared),
        publish,
        ir.Barrier(),
        *_fold(state, operator, register, shared, warps, ()),
    ]


def _through_shared(
    state: State,
    operator: str,
    register: ir.Buffer,
    threads: int,
    along: str,
    across: str | None,
) -> list[ir.Statement]:
    """One value a thread through shared memory, a column for each row of the block."""
    columns = state.plan.block[0]
    shared = ir.Buffer(
        state.names.fresh(f"parts_{register.name.removeprefix('private_')}"),
        ir.Space.SHARED,
        register.type,
        (const(threads), const(columns)),
    )
    column = const(0) if across is None else var(across)
    store = ir.Store(shared, (var(along), column), ir.Load(register, ()))
    return [
        ir.Declare(shared),
        store,
        ir.Barrier(),
        *_fold(state, operator, register, shared, threads, (column,)),
    ]


def _fold(
    state: State,
    operator: str,
    register: ir.Buffer,
    shared: ir.Buffer,
    count: int,
    rest: tuple[Affine, ...],
) -> list[ir.Statement]:
    """Register = shared[0] op shared[1] op ..."""
    name = state.names.fresh("p")
    start = ir.Store(register, (), ir.Load(shared, (const(0), *rest)))
    other = ir.Load(shared, (var(name), *rest))
    step = ir.Store(register, (), combine(operator, ir.Load(register, ()), other))
    return [start, ir.For(name, const(1), const(count), 1, count <= WARP, (step,))]
