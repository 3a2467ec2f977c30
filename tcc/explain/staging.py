"""The staging decision of a kernel: what each choice would cost, under the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, prod

from tcc.frontend import tir
from tcc.sched.budget import needs, over_budget
from tcc.sched.model import Model
from tcc.sched.nest import KernelNest
from tcc.sched.plan import KernelPlan, Staging
from tcc.sched.reuse import Chain, Operand, box, chains
from tcc.target import Target


@dataclass(frozen=True)
class Choice:
    """One way to read a tensor, all others as planned.

    `cycles` is the predicted time of the kernel, `registers` those of a thread; `barriers` counts
    per k-tile; `refused` says why the target does not take it.
    """

    staging: Staging
    chosen: bool
    cycles: float
    registers: int
    shared_bytes: int
    barriers: int
    refused: str | None


@dataclass(frozen=True)
class Reuse:
    """One operand of a tiled reduction.

    Elements that a block and a thread use in a k-tile; how many threads use an element, and for
    how many points a thread uses one.
    """

    tensor: str
    subscripts: str
    block: int
    thread: int
    sharing: int
    inside: float
    choices: tuple[Choice, ...]


def reuse(
    kernel: KernelNest, plan: KernelPlan, program: tir.Program, target: Target
) -> tuple[Reuse, ...]:
    """The operands of all tiled reductions of a kernel; none where the plan has no k-tiles."""
    found = chains(kernel, program)
    if not plan.loops or not found:
        return ()
    spans = {d.dim: d.tile for d in plan.dims} | {p.dim: p.tile for p in plan.loops}
    own = {d.dim: d.registers for d in plan.dims} | {p.dim: p.tile for p in plan.loops}
    rows = []
    for chain in found:
        for operand in chain.operands:
            block, thread = _elements(operand, spans), _elements(operand, own)
            rows.append(
                Reuse(
                    operand.tensor,
                    ", ".join(map(str, operand.forms)),
                    block,
                    thread,
                    ceil(prod(plan.block) * thread / block),
                    prod(own.values()) / thread,
                    tuple(_choices(operand.tensor, kernel, found, plan, program, target)),
                )
            )
    return tuple(rows)


def _elements(operand: Operand, spans: dict[str, int]) -> int:
    return prod(high - low + 1 for low, high in box(operand.forms, spans))


def _choices(
    tensor: str,
    kernel: KernelNest,
    found: tuple[Chain, ...],
    plan: KernelPlan,
    program: tir.Program,
    target: Target,
) -> Iterator[Choice]:
    model = Model(kernel, found, program.tensors, target)
    for staging in reversed(Staging):
        trial = replace(plan, staging=tuple((dict(plan.staging) | {tensor: staging}).items()))
        asked = needs(kernel, found, program, trial)
        predicted = model.predict(trial)
        yield Choice(
            staging,
            plan.stage(tensor) is staging,
            predicted.cycles,
            predicted.registers,
            asked.shared_bytes,
            _barriers(trial),
            over_budget(asked, target, target.max_shared_bytes_opt_in),
        )


def _barriers(plan: KernelPlan) -> int:
    """Barriers per k-tile: two without a second buffer."""
    staged = any(s is Staging.SHARED for _, s in plan.staging)
    return 0 if not staged else 1 if plan.pipeline > 1 else 2
