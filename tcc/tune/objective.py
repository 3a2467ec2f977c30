"""What a search makes small, from the compiler alone: the predicted time of a candidate.

The one place that names the model, for candidates that are compiled and for those that are not.
"""

from __future__ import annotations

from collections.abc import Sequence

from tcc.driver import Compilation
from tcc.sched.model import Model
from tcc.sched.reuse import chains
from tcc.target import Target
from tcc.tune.model import predict_time
from tcc.tune.space import Candidate
from tcc.tune.structure import Structure


def predicted_us(compilation: Compilation, target: Target) -> float:
    """The predicted time of all kernels of a compilation in microseconds."""
    return predict_time(compilation, target).time_us


class Ranking:
    """How good candidates look before they are compiled; infinite where nothing is known."""

    def __init__(self, structures: Sequence[Structure], target: Target) -> None:
        self._models = [
            {
                k.name: Model(k, found, s.program.tensors, target)
                for k in s.nest.kernels
                if (found := chains(k, s.program)) and k.parallel
            }
            for s in structures
        ]

    def __call__(self, candidate: Candidate) -> float:
        """Predicted cycles of the tiled reductions of a candidate, which must all be tiled."""
        models = self._models[candidate.structure]
        plans = [p for p in candidate.plan.kernels if p.kernel in models]
        if not plans or not all(p.loops for p in plans):
            return float("inf")
        return float(sum(models[p.kernel].predict(p).cycles for p in plans))
