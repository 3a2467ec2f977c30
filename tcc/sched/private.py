"""How deep the copies of results to registers stand: the option `private_depth`."""

from __future__ import annotations

from tcc.frontend import tir
from tcc.sched.nest import KernelNest, Loop, instances
from tcc.sched.plan import KernelPlan
from tcc.sched.reuse import source_of


def loops_outside(kernel: KernelNest, program: tir.Program, plan: KernelPlan) -> int:
    """Loops inside of the parallel ones that stand around the copies of results to registers.

    0: results stay in registers for the whole kernel.
    """
    depth = (plan.private_depth or 0) - len(kernel.parallel)
    return depth if depth > 0 and stays_private(kernel, program, plan) is None else 0


def stays_private(kernel: KernelNest, program: tir.Program, plan: KernelPlan) -> str | None:
    """Why results cannot leave the registers before the last statement of a kernel."""
    if not any(isinstance(node, Loop) for node in kernel.body):
        return "it has no loops inside of the parallel ones"
    if plan.row is not None or plan.sliced is not None:
        return "threads share a reduction, and each keeps its part in registers"
    targets = {source_of(i.statement, program).target for i in instances(kernel.body)}
    if any(program.tensors[t].type.is_half for t in targets):
        return "a half-precision result would be rounded in every iteration"
    return None


def in_plain_loops(kernel: KernelNest, program: tir.Program, plan: KernelPlan) -> frozenset[str]:
    """The tensors written in loops inside of the parallel ones that are not cut into tiles."""
    tiled = {p.dim for p in plan.loops}
    return frozenset(
        source_of(i.statement, program).target
        for node in kernel.body
        if isinstance(node, Loop) and node.dim.name not in tiled
        for i in instances(node.body)
    )
