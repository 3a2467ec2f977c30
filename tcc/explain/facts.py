"""Everything that is explained of a program, gathered once; `text` and `page` show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from math import prod

from tcc.driver import Compilation, Lowering, Request
from tcc.errors import InternalError, UsageError
from tcc.explain.lowered import Lowered, lowered
from tcc.explain.staging import Choice, Reuse, choices, reuse
from tcc.explain.touched import Touched, touched
from tcc.explain.trace import Trace, trace
from tcc.explain.what_if import Outcome, WhatIf
from tcc.explain.work import Roof, Work, roof, work
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.occupancy import Limit, limits
from tcc.sched.derive import ranked
from tcc.sched.nest import KernelNest
from tcc.sched.plan import KernelPlan
from tcc.sched.wishes import none
from tcc.target import Target
from tcc.tune.model import TYPICAL_SIZE, KernelPrediction, predict_kernel

ALTERNATIVES = 3


@dataclass(frozen=True, eq=False)
class KernelFacts:
    """One kernel.

    `names` has the user's name of every buffer, `sizes` the values that the kernel gets. `limits`
    of the resident blocks, the tightest first. `choices` has for each operand every way to stage
    it, `others` the plans that the compiler's own ranking put next, both with predictions.
    """

    nest: KernelNest
    plan: KernelPlan
    kernel: ir.Kernel
    names: Mapping[str, str]
    grid: tuple[int, int, int]
    sizes: Mapping[str, int]
    prediction: KernelPrediction
    limits: tuple[Limit, ...]
    work: Work
    roof: Roof
    reuse: tuple[Reuse, ...]
    choices: Mapping[str, tuple[Choice, ...]]
    others: tuple[tuple[KernelPlan, Outcome], ...]
    trace: Trace
    touched: tuple[Touched, ...]

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return prod(self.grid)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return prod(self.kernel.block)


@dataclass(frozen=True, eq=False)
class Explanation:
    """A program as compiled. `assumed` are the open sizes, with the values that stand for them."""

    request: Request
    compilation: Compilation
    lowering: Lowering
    sizes: Mapping[str, int]
    assumed: Mapping[str, int]
    kernels: tuple[KernelFacts, ...]

    @property
    def target(self) -> Target:
        """The GPU it is compiled for."""
        return self.request.target

    @property
    def program(self) -> tir.Program:
        """The program that is mapped."""
        return self.lowering.program


def explain(request: Request, compilation: Compilation) -> Explanation:
    """Gather the facts. UsageError where open sizes cannot have the value that stands for them."""
    lowering, artifact, plan = compilation.lowering, compilation.artifact, compilation.plan
    if lowering is None or artifact is None or plan is None:
        raise InternalError("the compilation stopped before it emitted anything")
    assumed = dict.fromkeys(artifact.interface.symbolic, TYPICAL_SIZE)
    sizes = {**artifact.interface.sizes, **assumed}
    _require(compilation, sizes, assumed)
    other = WhatIf(request, lowering, sizes)
    plans = {p.kernel: p for p in plan.kernels}
    pairs = zip(lowering.nest.kernels, lowered(compilation, sizes), strict=True)
    facts = (_kernel(n, plans[n.name], k, lowering.program, request, other) for n, k in pairs)
    return Explanation(request, compilation, lowering, sizes, assumed, tuple(facts))


def _kernel(
    nest: KernelNest,
    plan: KernelPlan,
    found: Lowered,
    program: tir.Program,
    request: Request,
    other: WhatIf,
) -> KernelFacts:
    target, kernel = request.target, found.kernel
    prediction = predict_kernel(kernel, target, found.values)
    counted = work(nest, program, found.sizes)
    traced = trace(kernel, found.values)
    operands = reuse(nest, plan, program)
    as_planned = Outcome(kernel, prediction)
    return KernelFacts(
        nest,
        plan,
        kernel,
        found.names,
        found.grid,
        found.values,
        prediction,
        limits(target, prod(kernel.block), prediction.registers, kernel.shared_bytes),
        counted,
        roof(counted, target),
        operands,
        {o.tensor: tuple(choices(o.tensor, nest, plan, as_planned, other)) for o in operands},
        _others(nest, plan, program, target, other) if operands else (),
        traced,
        touched(kernel, found.names, traced),
    )


def _others(
    nest: KernelNest, plan: KernelPlan, program: tir.Program, target: Target, other: WhatIf
) -> tuple[tuple[KernelPlan, Outcome], ...]:
    best = islice(ranked(nest, program, target, none(target)), ALTERNATIVES + 1)
    plans = [c.plan for c in best if c.plan != plan][:ALTERNATIVES]
    pairs = [(p, other.outcome(nest, p)) for p in plans]
    return tuple((p, outcome) for p, outcome in pairs if not isinstance(outcome, str))


def _require(
    compilation: Compilation, sizes: Mapping[str, int], assumed: Mapping[str, int]
) -> None:
    """What must hold of the sizes holds of those that were made up."""
    for condition in compilation.preconditions:
        if condition.expression.evaluate(sizes) < 0:
            names = ", ".join(f"`{s}`" for s in assumed)
            raise UsageError(
                f"{condition.reason} does not hold where {names} are {TYPICAL_SIZE}; "
                "give their values with `--size`"
            )
