"""What a search makes small, from the compiler alone: the predicted time of a candidate.

The one place that names the model, for candidates that are compiled and for those that are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tcc.driver import Compilation
from tcc.errors import InternalError
from tcc.sched.model import Model
from tcc.sched.plan import Plan
from tcc.sched.reuse import chains
from tcc.target import Target
from tcc.tune.structure import Structure

Objective: TypeAlias = Callable[[Compilation, Target], float]


def predicted_us(compilation: Compilation, target: Target) -> float:
    """The predicted time of all kernels of a compilation in microseconds."""
    found = compilation.lowering
    if found is None or compilation.plan is None:
        raise InternalError("there are no kernels to predict")
    cycles = 0.0
    for kernel, plan in zip(found.nest.kernels, compilation.plan.kernels, strict=True):
        own = chains(kernel, found.program)
        if own and plan.loops:
            cycles += Model(kernel, own, found.program.tensors, target).predict(plan).cycles
        else:
            cycles += 1e3
    return cycles / target.clock_mhz


class Ranking:
    """How good plans look before they are compiled; for comparisons inside a structure."""

    def __init__(self, structure: Structure, target: Target) -> None:
        self._models = {
            k.name: Model(k, found, structure.program.tensors, target)
            for k in structure.nest.kernels
            if (found := chains(k, structure.program))
        }

    def cycles(self, plan: Plan) -> float:
        """Predicted cycles of the kernels that the quick model knows."""
        return sum(
            self._models[p.kernel].predict(p).cycles
            for p in plan.kernels
            if p.kernel in self._models and p.loops
        )
