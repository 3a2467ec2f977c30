"""Blocks that take turns at small sizes: the kernels of open sizes in a grid of few blocks.

A grid has at most 65535 blocks along y and z, and blocks walk over the tiles beyond. With tiles of
128 that takes eight million rows. The same plan with fewer blocks gives the same text but for the
number of blocks, and takes its second turn at a few hundred rows.
"""

from __future__ import annotations

from dataclasses import replace

from tcc.driver import Request
from tcc.inputs import options_of_source
from tcc.sched.plan import DimPlan, Plan
from tcc.source import Source

FEW_BLOCKS = 2
"""So the first block takes two turns where the second has only one."""
FEW_NOTE = (
    f"some kernels ran in a grid of {FEW_BLOCKS} blocks along y and z, where blocks take turns"
)


def with_few_blocks(request: Request, plan: Plan) -> Request | None:
    """What to compile for a grid of few blocks; None where that changes nothing."""
    few = Plan(tuple(replace(k, dims=_capped(k.dims)) for k in plan.kernels))
    if few == plan:
        return None
    lines = "".join(f"  {line}\n" for line in few.text().splitlines())
    read = options_of_source(Source("plan", f"mapping:\n{lines}"))
    mapping = replace(request.options.mapping, plan=read.mapping.plan)
    return replace(request, options=replace(request.options, mapping=mapping))


def _capped(dims: tuple[DimPlan, ...]) -> tuple[DimPlan, ...]:
    """The number of blocks belongs to the first dimension of an axis."""
    firsts = {d.grid_axis: d for d in reversed(dims) if d.grid_axis is not None}
    return tuple(
        replace(d, blocks=min(d.blocks or FEW_BLOCKS, FEW_BLOCKS))
        if d in firsts.values() and (d.grid_axis != 0 or d.blocks is not None)
        else d
        for d in dims
    )
