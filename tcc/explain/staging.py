"""The staging decision of a kernel: what each choice would cost, under the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, prod

from tcc.explain.what_if import Outcome, WhatIf
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.sched.nest import KernelNest
from tcc.sched.plan import KernelPlan, Staging
from tcc.sched.reuse import Operand, box, chains


@dataclass(frozen=True)
class Choice:
    """One way to read a tensor, all others as planned.

    `outcome` is the kernel that it gives, or why there is none.
    """

    staging: Staging
    chosen: bool
    outcome: Outcome | str

    @property
    def barriers(self) -> int:
        """Barriers in the loop over k-tiles: the innermost loop that has some."""
        if isinstance(self.outcome, str):
            return 0
        loops = [s for s in ir.walk(self.outcome.kernel.body) if isinstance(s, ir.For)]
        counts = [sum(isinstance(s, ir.Barrier) for s in ir.walk(x.body)) for x in loops]
        return min((n for n in counts if n), default=0)


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


def reuse(kernel: KernelNest, plan: KernelPlan, program: tir.Program) -> tuple[Reuse, ...]:
    """The operands of all tiled reductions of a kernel; none where the plan has no k-tiles."""
    if not plan.loops:
        return ()
    spans = {d.dim: d.tile for d in plan.dims} | {p.dim: p.tile for p in plan.loops}
    own = {d.dim: d.registers for d in plan.dims} | {p.dim: p.tile for p in plan.loops}
    rows = []
    for chain in chains(kernel, program):
        for operand in chain.operands:
            block, thread = _elements(operand, spans), _elements(operand, own)
            rows.append(
                Reuse(
                    operand.tensor,
                    _subscripts(operand),
                    block,
                    thread,
                    ceil(prod(plan.block) * thread / block),
                    prod(own.values()) / thread,
                )
            )
    return tuple(rows)


def choices(
    tensor: str, nest: KernelNest, plan: KernelPlan, as_planned: Outcome, other: WhatIf
) -> Iterator[Choice]:
    """All ways to stage a tensor of a kernel whose plan has k-tiles."""
    for staging in reversed(Staging):
        if plan.stage(tensor) is staging:
            yield Choice(staging, True, as_planned)
        else:
            staged = tuple((dict(plan.staging) | {tensor: staging}).items())
            yield Choice(staging, False, other.outcome(nest, replace(plan, staging=staged)))


def _subscripts(operand: Operand) -> str:
    """Over the loops of the kernel; those of a gather as they are written."""
    if operand.gather is None:
        return ", ".join(map(str, operand.forms))
    text = " ".join(operand.gather.read.span.text.split())
    return text.partition("(")[2].rpartition(")")[0]


def _elements(operand: Operand, spans: dict[str, int]) -> int:
    return prod(high - low + 1 for low, high in box(operand.forms, spans))
