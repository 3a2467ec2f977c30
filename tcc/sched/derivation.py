"""Why a plan is what it is: reuse of every operand, budgets, and the plans that came next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import ceil, prod

from tcc.frontend import tir
from tcc.sched.derive import Candidate, ranked
from tcc.sched.model import WARP, Model, Prediction, extent_of
from tcc.sched.nest import KernelNest, Nest
from tcc.sched.plan import KernelPlan, Plan
from tcc.sched.reuse import Chain, Operand, box, chains
from tcc.sched.wishes import none
from tcc.target import Target

ALTERNATIVES = 3


def text(nest: Nest, plan: Plan, program: tir.Program, target: Target) -> str:
    """The derivation of every kernel's plan. All times are predictions of the model."""
    plans = {p.kernel: p for p in plan.kernels}
    blocks = [_kernel(k, plans[k.name], program, target) for k in nest.kernels]
    return "\n".join("\n".join(lines) + "\n" for lines in blocks)


def _kernel(
    kernel: KernelNest, plan: KernelPlan, program: tir.Program, target: Target
) -> list[str]:
    lines = [*plan.text().splitlines()]
    found = chains(kernel, program)
    if plan.row is not None:
        return [*lines, *_row_lines(kernel, plan)]
    if not found or not plan.loops:
        return [*lines, "  no operand is shared by several points: one point a thread"]
    model = Model(kernel, found, program.tensors, target)
    lines += [f"  {_prediction(model.predict(plan), target)}", *_reuse(found, plan)]
    best = islice(ranked(kernel, program, target, none(target)), ALTERNATIVES + 1)
    lines.append("  the best other plans by predicted cycles:")
    lines += [f"    {_short(c)}" for c in best if c.plan != plan][:ALTERNATIVES]
    return lines


def _row_lines(kernel: KernelNest, plan: KernelPlan) -> list[str]:
    rows = prod(extent_of(d.extent) for d in kernel.parallel)
    threads = plan.row.threads if plan.row else 1
    return [
        f"  {rows} rows, each shared by {threads} threads: results are exchanged by shuffles"
        + (" and shared memory" if threads > WARP else "")
    ]


def _prediction(p: Prediction, target: Target) -> str:
    return (
        f"predicted: {p.cycles:.0f} cycles on the busiest SM, {p.registers} registers, "
        f"{p.shared_bytes} bytes of shared memory, {p.resident_warps} resident warps, "
        f"{p.blocks} blocks on {target.sms} SMs"
    )


def _reuse(found: tuple[Chain, ...], plan: KernelPlan) -> Iterator[str]:
    """A line for each operand, per k-tile: what a block and a thread touch, who shares it."""
    yield "  operand: elements a block and a thread use in a k-tile, threads that share one"
    spans = {d.dim: d.tile for d in plan.dims} | {p.dim: p.tile for p in plan.loops}
    own = {d.dim: d.outer * d.inner for d in plan.dims} | {p.dim: p.tile for p in plan.loops}
    for chain in found:
        for operand in chain.operands:
            block, thread = _elements(operand, spans), _elements(operand, own)
            sharing = ceil(prod(plan.block) * thread / block)
            yield (
                f"    {operand.tensor}: {block}, {thread}, {sharing}"
                f" -> {plan.stage(operand.tensor).value}"
            )


def _elements(operand: Operand, spans: dict[str, int]) -> int:
    return prod(high - low + 1 for low, high in box(operand.forms, spans))


def _short(candidate: Candidate) -> str:
    digits = ", ".join(
        f"{d.dim} {d.threads} threads x {d.outer * d.inner}" for d in candidate.plan.dims
    )
    tiles = ", ".join(f"{p.dim} {p.tile}" for p in candidate.plan.loops)
    return f"{candidate.prediction.cycles:.0f}: {digits}; k-tile {tiles}"
