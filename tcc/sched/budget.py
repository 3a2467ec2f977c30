"""What a plan needs of a block and of a thread: threads, registers, shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, prod

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.scalar import ScalarType
from tcc.sched.nest import KernelNest, instances
from tcc.sched.plan import KernelPlan, Staging
from tcc.sched.reuse import Chain, Operand, box, copied_in_turn, order, source_of
from tcc.sched.row_stage import row_stages, stage_bytes
from tcc.sched.rows import reduces, row_form
from tcc.sched.windows import Window, windows
from tcc.target import Target

WARP = 32
ACCESS_BYTES = 16
"""The widest access; rows of shared arrays are padded by at most this."""


@dataclass(frozen=True)
class Needs:
    """What one kernel asks for. `registers` counts what a thread keeps across its loops."""

    block: tuple[int, int, int]
    registers: int
    shared_bytes: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return prod(self.block)


def needs(
    kernel: KernelNest,
    found: tuple[Chain, ...],
    program: tir.Program,
    plan: KernelPlan,
) -> Needs:
    """The needs of a plan, `found` being the kernel's chains."""
    staged = staged_bytes(kernel, found, program, plan)
    return Needs(
        plan.block,
        _registers(kernel, found, program, plan),
        sum(staged.values())
        + _exchange_bytes(kernel, program, plan)
        + _sums_bytes(found, program, plan),
    )


def staged_bytes(
    kernel: KernelNest, found: tuple[Chain, ...], program: tir.Program, plan: KernelPlan
) -> dict[str, int]:
    """Bytes of shared memory for each staged tensor, all its boxes and pipeline stages."""
    result: dict[str, int] = {}
    staged = [t for t, s in plan.staging if s is Staging.SHARED]
    if plan.row is not None:
        return _row_bytes(kernel, program, plan, frozenset(staged))
    seen = windows(kernel, program) if staged else ()
    for tensor in staged:
        type = program.tensors[tensor].type
        result[tensor] = sum(
            operand_bytes(o, c, type, plan) for c in found for o in c.operands if o.tensor == tensor
        )
        result[tensor] += sum(window_bytes(w, type, plan) for w in seen if w.tensor == tensor)
    return result


def _row_bytes(
    kernel: KernelNest, program: tir.Program, plan: KernelPlan, staged: frozenset[str]
) -> dict[str, int]:
    """The same for a kernel over rows."""
    form = row_form(kernel, program) if staged else None
    result = dict.fromkeys(sorted(staged), 0)
    for stage in row_stages(kernel, program) if form is not None else ():
        if form is not None and stage.tensor in staged:
            type = program.tensors[stage.tensor].type
            result[stage.tensor] += stage_bytes(stage, type, plan, form)
    return result


def window_bytes(window: Window, type: ScalarType, plan: KernelPlan) -> int:
    """Bytes of a window's box in shared memory, its padding included."""
    spans = {d.dim: d.covered for d in plan.dims}
    reach = zip(box(window.forms, spans), window.low, window.high, strict=True)
    rows = [high - low + 1 + last - first for (low, high), first, last in reach]
    rows[-1] = padded_row(rows[-1], type, window.forms, plan)
    return ceil(prod(rows) * type.bytes / ACCESS_BYTES) * ACCESS_BYTES


def padded_row(row: int, type: ScalarType, forms: tuple[Affine, ...], plan: KernelPlan) -> int:
    """The row length of a window in shared memory: odd where threads walk down its columns.

    Otherwise it is a multiple of the widest access, so that copies are vectors.
    """
    along = [d.dim for d in plan.dims if d.thread_axis == 0 and d.threads > 1]
    if any(f.coefficient(d) for f in forms[:-1] for d in along):
        return row + 1 - row % 2
    unit = max(1, ACCESS_BYTES // type.bytes)
    return ceil(row / unit) * unit


def operand_bytes(operand: Operand, chain: Chain, type: ScalarType, plan: KernelPlan) -> int:
    """Bytes of one operand's box in shared memory at most, its stages and padding included."""
    tiles = {p.dim: p.tile for p in plan.loops}
    spans = {d.dim: d.covered for d in plan.dims}
    spans |= {d.name: tiles.get(d.name, 1) for d in chain.loops}
    extents = [high - low + 1 for low, high in box(operand.forms, spans)]
    lie = order(operand.forms, frozenset(d.dim for d in plan.dims if d.inner > 1))
    rows = [extents[d] for d in lie]
    unit = max(1, ACCESS_BYTES // type.bytes)
    if rows:
        padded = ceil(rows[-1] / unit) * unit
        rows[-1] = padded + (unit if may_pad(operand, lie, plan) else 0)
    waits = copied_in_turn(chain, {t for t, s in plan.staging if s is Staging.SHARED})
    stages = plan.pipeline if _moves(chain, tiles) and not waits else 1
    return ceil(prod(rows) * type.bytes * stages / ACCESS_BYTES) * ACCESS_BYTES


def may_pad(operand: Operand, lie: tuple[int, ...], plan: KernelPlan) -> bool:
    """Whether rows of an operand's box may get longer, for the sake of banks, by one access.

    `lie` is its order: rows that are not those of the tensor, or that threads at neighbouring
    points read side by side. Those that share a k-tile read rows that follow each other.
    """
    if lie[-1] != len(lie) - 1:
        return True
    threaded = [d.dim for d in plan.dims if d.threads > 1]
    return any(operand.forms[d].coefficient(n) for d in lie[:-1] for n in threaded)


def _moves(chain: Chain, tiles: Mapping[str, int]) -> bool:
    """Whether there is more than one k-tile."""
    return any(
        not d.extent.is_constant or d.extent.value > tiles.get(d.name, 1) for d in chain.loops
    )


def _registers(
    kernel: KernelNest, found: tuple[Chain, ...], program: tir.Program, plan: KernelPlan
) -> int:
    """32-bit registers for results and fragments of all register points."""
    digits = {d.dim: d.registers for d in plan.dims}
    targets = {source_of(i.statement, program).target for i in instances(kernel.body)}
    results = sum(_words(program.tensors[t].type.compute) for t in targets)
    total = prod(digits.values()) * results
    tiled = {p.dim for p in plan.loops}
    fragments = 0
    for chain in found:
        if not any(d.name in tiled for d in chain.loops):
            continue
        here = 0
        for operand in chain.operands:
            if plan.stage(operand.tensor) is not Staging.GLOBAL:
                words = _words(program.tensors[operand.tensor].type)
                here += words * prod(n for d, n in digits.items() if operand.uses(d))
        fragments = max(fragments, here)
    return total + fragments


def _words(type: ScalarType) -> int:
    return max(1, type.bytes // 4)


def _exchange_bytes(kernel: KernelNest, program: tir.Program, plan: KernelPlan) -> int:
    """Shared memory for the exchanges of all reductions between the threads of rows."""
    row = plan.row
    if row is None:
        return 0
    rows = prod(plan.block) // row.threads
    parts = row.threads if row.axis == 1 else row.threads // WARP
    if row.axis == 0 and row.threads <= WARP:
        return 0
    pairs = ((i, source_of(i.statement, program)) for i in instances(kernel.body))
    targets = (s.target for i, s in pairs if reduces(i, s))
    sizes = (parts * rows * program.tensors[t].type.compute.bytes for t in targets)
    return sum(ceil(n / ACCESS_BYTES) * ACCESS_BYTES for n in sizes)


def _sums_bytes(found: tuple[Chain, ...], program: tir.Program, plan: KernelPlan) -> int:
    """Shared memory for the sums of the threads that share k-tiles, of all but the first."""
    shared = plan.sliced
    if shared is None:
        return 0
    names = {
        u.statement for c in found for u in c.updates if shared.dim in {d.name for d in c.loops}
    }
    targets = {source_of(n, program).target for n in names}
    each = (shared.threads - 1) * (prod(plan.block) // shared.threads)
    each *= prod(d.registers for d in plan.dims)
    sizes = (each * program.tensors[t].type.compute.bytes for t in targets)
    return sum(ceil(n / ACCESS_BYTES) * ACCESS_BYTES for n in sizes)


def over_budget(wanted: Needs, target: Target, shared_limit: int) -> str | None:
    """What is over the limits, with both numbers; None when everything fits."""
    if wanted.threads > target.max_threads_per_block:
        return (
            f"a block has {wanted.threads} threads; `{target.name}` allows "
            f"{target.max_threads_per_block}"
        )
    for axis, extent, most in zip("xyz", wanted.block, target.max_block, strict=True):
        if extent > most:
            return f"a block has {extent} threads along {axis}; `{target.name}` allows {most}"
    if wanted.registers > target.max_registers_per_thread:
        return (
            f"a thread keeps about {wanted.registers} values in registers; `{target.name}` has "
            f"{target.max_registers_per_thread}"
        )
    if wanted.shared_bytes > shared_limit:
        return (
            f"a block needs {wanted.shared_bytes} bytes of shared memory; "
            f"{shared_limit} are allowed"
        )
    return None
