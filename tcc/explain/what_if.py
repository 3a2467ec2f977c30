"""Other plans for one kernel of a program, lowered and predicted like the chosen one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tcc.driver import Lowering, Request
from tcc.kernel import ir
from tcc.kernel.context import VECTOR, Context
from tcc.kernel.lower import lower_kernel
from tcc.kernel.simplify import simplify
from tcc.options import resolved
from tcc.sched.budget import needs, over_budget
from tcc.sched.nest import KernelNest
from tcc.sched.plan import KernelPlan
from tcc.sched.reuse import chains
from tcc.sched.scop import build_scop
from tcc.sched.structure import Unstructured
from tcc.tune.model import KernelPrediction, predict_kernel


@dataclass(frozen=True)
class Outcome:
    """A kernel under a plan, with its prediction."""

    kernel: ir.Kernel
    prediction: KernelPrediction


class WhatIf:
    """Lowers kernels of a program under other plans."""

    def __init__(self, request: Request, lowering: Lowering, sizes: Mapping[str, int]) -> None:
        self._request = request
        self._lowering = lowering
        self._sizes = sizes

    def outcome(self, nest: KernelNest, plan: KernelPlan) -> Outcome | str:
        """A kernel of the program under another plan; or why it is refused."""
        target, program = self._request.target, self._lowering.program
        asked = needs(nest, chains(nest, program), program, plan)
        refused = over_budget(asked, target, target.max_shared_bytes_opt_in)
        if refused is not None:
            return refused
        try:
            lowered = lower_kernel(self._context, self._lowering.nest, nest, plan)
        except Unstructured as reason:
            return str(reason)
        kernel = simplify(lowered)
        values = {p: e.evaluate(self._sizes) for p, e in self._context.unspelled.items()}
        return Outcome(kernel, predict_kernel(kernel, target, values))

    @cached_property
    def _context(self) -> Context:
        """That of the kernels which run at these sizes."""
        program, fast = self._lowering.program, self._lowering.mapped.fast
        if fast is not None and all(self._sizes[q] % VECTOR == 0 for q in fast.quarters):
            return fast.context
        bounds = bool(resolved(self._request.options).check_bounds)
        return Context(build_scop(program), program, check_bounds=bounds)
