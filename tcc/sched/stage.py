"""Which operands of an explicitly tiled kernel go to shared memory, by the original's rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from tcc.frontend import tir
from tcc.sched.budget import operand_bytes
from tcc.sched.plan import KernelPlan, Staging
from tcc.sched.reuse import Chain, Operand, box
from tcc.sched.wishes import Wishes


def stage(
    plan: KernelPlan, found: tuple[Chain, ...], tensors: Mapping[str, tir.Tensor], wished: Wishes
) -> tuple[tuple[str, Staging], ...]:
    """Where each operand of tiled reductions is read from.

    Tensors are visited by the number of their references, the fewest first, then by name; each
    goes to shared memory where that saves loads or makes them coalesced, while there is room
    (Tensor Comprehensions 2018, memory promotion). What the user says of a tensor is done.
    """
    plain = Staging.REGISTER if _in_registers(wished) else Staging.GLOBAL
    result = {o.tensor: wished.staging.get(o.tensor, plain) for c in found for o in c.operands}
    left = wished.shared_bytes - sum(
        _bytes(plan, found, tensors, t) for t, s in result.items() if s is Staging.SHARED
    )
    references = {t: sum(o.tensor == t for c in found for o in c.operands) for t in result}
    for tensor in sorted(result, key=lambda t: (references[t], t)):
        size = _bytes(plan, found, tensors, tensor)
        free = wished.shared and tensor not in wished.staging
        if free and size <= left and _pays(plan, found, tensor):
            result[tensor] = Staging.SHARED
            left -= size
    return tuple(sorted(result.items()))


def _in_registers(wished: Wishes) -> bool:
    """Whether what is not staged in shared memory is fetched into registers."""
    if wished.private is not None:
        return wished.private
    return bool(wished.registers or wished.shared or wished.staging)


def _bytes(
    plan: KernelPlan, found: tuple[Chain, ...], tensors: Mapping[str, tir.Tensor], tensor: str
) -> int:
    """Shared memory that a tensor takes when it is staged."""
    staged = replace(plan, staging=((tensor, Staging.SHARED),))
    return sum(
        operand_bytes(o, c, tensors[tensor].type, staged)
        for c in found
        for o in c.operands
        if o.tensor == tensor
    )


def _pays(plan: KernelPlan, found: tuple[Chain, ...], tensor: str) -> bool:
    mine = [(c, o) for c in found for o in c.operands if o.tensor == tensor and o.forms]
    return any(_is_reused(plan, c, o) or not _is_coalesced(plan, o) for c, o in mine)


def _is_reused(plan: KernelPlan, chain: Chain, operand: Operand) -> bool:
    """Whether the points of a block's tile are more than the elements they read."""
    tiles = {p.dim: p.tile for p in plan.loops}
    spans = {d.dim: d.tile for d in plan.dims}
    spans |= {d.name: tiles.get(d.name, 1) for d in chain.loops}
    elements = prod(high - low + 1 for low, high in box(operand.forms, spans))
    return prod(spans.values()) > elements


def _is_coalesced(plan: KernelPlan, operand: Operand) -> bool:
    """Whether neighbouring threads read neighbouring elements."""
    along = [d.dim for d in plan.dims if d.thread_axis == 0 and d.threads > 1]
    *outer, last = operand.forms
    return all(last.coefficient(d) == 1 and not any(f.coefficient(d) for f in outer) for d in along)
