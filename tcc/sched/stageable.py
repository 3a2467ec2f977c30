"""Which tensors a kernel can copy to shared memory, under the loops and rows of a plan."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from tcc.frontend import tir
from tcc.sched.nest import KernelNest
from tcc.sched.reuse import chains
from tcc.sched.row_stage import row_stages
from tcc.sched.windows import windows


def stageable(
    kernel: KernelNest, program: tir.Program, tiled: AbstractSet[str], *, has_row: bool
) -> frozenset[str]:
    """The tensors of which a block touches boxes; `tiled` are the loops that are cut into tiles."""
    if has_row:
        return frozenset(s.tensor for s in row_stages(kernel, program))
    cut = (c for c in chains(kernel, program) if all(d.name in tiled for d in c.loops))
    boxed = {o.tensor for c in cut for o in c.operands if o.forms}
    return frozenset(boxed | {w.tensor for w in windows(kernel, program)})
