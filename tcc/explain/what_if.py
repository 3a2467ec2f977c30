"""Other plans for one kernel of a program, compiled and predicted like the chosen one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tcc.driver import Compilation, Request, prepare
from tcc.errors import CompileError
from tcc.explain.lowered import lowered
from tcc.inputs import options_of_source
from tcc.kernel import ir
from tcc.options import Options, given, spell
from tcc.sched.plan import KernelPlan, Plan
from tcc.source import Source
from tcc.tune.model import KernelPrediction, predict_kernel
from tcc.tune.structure import structural


@dataclass(frozen=True)
class Outcome:
    """A kernel under a plan, with its prediction."""

    kernel: ir.Kernel
    prediction: KernelPrediction


class WhatIf:
    """Compiles a program under changes of its plan; the front half runs once."""

    def __init__(self, request: Request, plan: Plan, sizes: Mapping[str, int]) -> None:
        self._request = request
        self._plan = plan
        self._sizes = sizes
        self._mapping = structural(request.options)
        self._prepared: Callable[[Options], Compilation] | None = None

    def outcome(self, plan: KernelPlan) -> Outcome | str:
        """The kernel of that name under another plan; or why it is refused."""
        names = [k.kernel for k in self._plan.kernels]
        index = names.index(plan.kernel)
        kernels = (*self._plan.kernels[:index], plan, *self._plan.kernels[index + 1 :])
        try:
            found = lowered(self._compiled(Plan(kernels)), self._sizes)[index]
        except CompileError as problem:
            return problem.diagnostics[0].message
        target = self._request.target
        return Outcome(found.kernel, predict_kernel(found.kernel, target, found.values))

    def _compiled(self, plan: Plan) -> Compilation:
        if self._prepared is None:
            asked = replace(self._request.options, mapping=self._mapping, preset=None)
            self._prepared = prepare(replace(self._request, options=asked))
        lines = [f"  {name}: {spell(value)}" for name, value in given(self._mapping).items()]
        lines += [f"  {line}" for line in plan.text().splitlines()]
        text = "\n".join(["mapping:", *lines, ""])
        return self._prepared(options_of_source(Source("<plan>", text)))
