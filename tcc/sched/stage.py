"""Which tensors the blocks of a kernel copy to shared memory, by the original's rule.

Tensors are visited by the number of their references, the fewest first, then by name; each goes
to shared memory where that saves loads or makes them coalesced, while there is room (Tensor
Comprehensions 2018, memory promotion). What the user says of a tensor is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.sched.budget import staged_bytes
from tcc.sched.nest import KernelNest
from tcc.sched.plan import KernelPlan, Staging
from tcc.sched.reuse import Chain, box, chains
from tcc.sched.windows import Window, window_rows, windows
from tcc.sched.wishes import Wishes


def stage(
    kernel: KernelNest,
    found: tuple[Chain, ...],
    program: tir.Program,
    plan: KernelPlan,
    wished: Wishes,
) -> tuple[tuple[str, Staging], ...]:
    """Where each operand of tiled reductions, and each window, is read from.

    Requires: the plan has its digits. Tensors that are read from memory at every use are left out
    unless a reduction reads them.
    """
    plain = Staging.REGISTER if _in_registers(wished) else Staging.GLOBAL
    operands = {o.tensor: plain for c in found for o in c.operands}
    boxed = {o.tensor for c in found for o in c.operands if o.forms} | {
        w.tensor for w in windows(kernel, program)
    }
    seen = windows(kernel, program)
    every = operands | {w.tensor: Staging.GLOBAL for w in seen if w.tensor not in operands}
    result = {t: wished.stage(t, s, boxed=t in boxed) for t, s in every.items()}
    references = {
        t: sum(o.tensor == t for c in found for o in c.operands)
        + sum(w.reads for w in seen if w.tensor == t)
        for t in result
    }
    for tensor in sorted(result, key=lambda t: (references[t], t)):
        if not wished.shared or tensor in wished.staging or not _pays(tensor, found, seen, plan):
            continue
        trial = {**result, tensor: Staging.SHARED}
        if _bytes(kernel, found, program, plan, trial) <= wished.shared_bytes:
            result = trial
    kept = {t: s for t, s in result.items() if t in operands or s is Staging.SHARED}
    return tuple(sorted(kept.items()))


def stage_windows(
    kernel: KernelNest, program: tir.Program, plan: KernelPlan, wished: Wishes
) -> KernelPlan:
    """The plan with the windows that are wished in shared memory, besides what it stages.

    Where threads have neighbouring points, the others go through registers.
    """
    plan = _rows_in_registers(kernel, program, plan, wished)
    if not wished.shared and Staging.SHARED not in wished.staging.values():
        return plan
    own = {t: s for t, s in plan.staging if s is Staging.SHARED or plan.loops}
    used = sum(staged_bytes(kernel, chains(kernel, program), program, plan).values())
    left = replace(wished, shared_bytes=wished.shared_bytes - used)
    mine = {t: s for t, s in stage(kernel, (), program, plan, left) if t not in own}
    return replace(plan, staging=tuple(sorted((dict(plan.staging) | mine).items())))


def _rows_in_registers(
    kernel: KernelNest, program: tir.Program, plan: KernelPlan, wished: Wishes
) -> KernelPlan:
    """The plan with the windows in registers of which a point reads several elements of a row."""
    if plan.loops or wished.private is False or not any(d.inner > 1 for d in plan.dims[-1:]):
        return plan
    several = {r.tensor for r in window_rows(kernel, program) if r.reads > 1}
    known = dict(plan.staging)
    mine = {t: wished.stage(t, Staging.REGISTER, boxed=False) for t in several if t not in known}
    kept = {t: s for t, s in mine.items() if s is Staging.REGISTER}
    return replace(plan, staging=tuple(sorted((known | kept).items())))


def _bytes(
    kernel: KernelNest,
    found: tuple[Chain, ...],
    program: tir.Program,
    plan: KernelPlan,
    staging: dict[str, Staging],
) -> int:
    staged = replace(plan, staging=tuple(staging.items()))
    return sum(staged_bytes(kernel, found, program, staged).values())


def _in_registers(wished: Wishes) -> bool:
    """Whether what is not staged in shared memory is fetched into registers."""
    if wished.private is not None:
        return wished.private
    return bool(wished.registers or wished.shared or wished.staging)


def _pays(tensor: str, found: tuple[Chain, ...], seen: Iterable[Window], plan: KernelPlan) -> bool:
    """Whether points share elements, or neighbouring threads do not read neighbouring ones."""
    tiles = {p.dim: p.tile for p in plan.loops}
    spans = {d.dim: d.tile for d in plan.dims}
    for chain in found:
        own = spans | {d.name: tiles.get(d.name, 1) for d in chain.loops}
        for operand in chain.operands:
            if operand.tensor == tensor and operand.forms:
                elements = prod(high - low + 1 for low, high in box(operand.forms, own))
                if prod(own.values()) > elements or not _is_coalesced(plan, operand.forms):
                    return True
    for window in seen:
        if window.tensor == tensor:
            reads = prod(spans.values()) * window.reads
            if reads > _elements(window, plan) or not _is_coalesced(plan, window.forms):
                return True
    return False


def _elements(window: Window, plan: KernelPlan) -> int:
    reach = box(window.forms, {d.dim: d.tile for d in plan.dims})
    both = zip(reach, window.low, window.high, strict=True)
    return prod(high - low + 1 + last - first for (low, high), first, last in both)


def _is_coalesced(plan: KernelPlan, forms: tuple[Affine, ...]) -> bool:
    """Whether neighbouring threads read neighbouring elements."""
    along = [d.dim for d in plan.dims if d.thread_axis == 0 and d.threads > 1]
    *outer, last = forms
    return all(last.coefficient(d) == 1 and not any(f.coefficient(d) for f in outer) for d in along)
