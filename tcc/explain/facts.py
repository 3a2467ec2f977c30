"""Everything that is explained of a program, gathered once; `text` and `page` show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from math import prod

from tcc.artifact import Launch
from tcc.driver import Compilation, Lowering, Request
from tcc.errors import InternalError, UsageError
from tcc.explain.occupancy import Occupancy, occupancy
from tcc.explain.staging import Reuse, reuse
from tcc.explain.touched import Touched, touched
from tcc.explain.trace import Trace, trace
from tcc.explain.work import Roof, Work, roof, work
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.sched.budget import needs
from tcc.sched.derive import Candidate, ranked
from tcc.sched.model import OVERHEAD_REGISTERS, TYPICAL_SIZE, Model
from tcc.sched.nest import KernelNest
from tcc.sched.plan import KernelPlan
from tcc.sched.reuse import chains
from tcc.sched.wishes import none
from tcc.target import Target

ALTERNATIVES = 3
VECTOR = 4
"""What sizes are multiples of where the faster kernels run."""


@dataclass(frozen=True, eq=False)
class KernelFacts:
    """One kernel. Cycles, registers and times are predictions of the model.

    `names` has the user's name of every buffer, `sizes` a value for every size of `kernel`.
    `cycles` is None where the model has nothing to say; `others` are the plans that came next.
    """

    nest: KernelNest
    plan: KernelPlan
    kernel: ir.Kernel
    names: Mapping[str, str]
    grid: tuple[int, int, int]
    sizes: Mapping[str, int]
    cycles: float | None
    registers: int
    occupancy: Occupancy
    work: Work
    roof: Roof
    reuse: tuple[Reuse, ...]
    others: tuple[Candidate, ...]
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

    def time_us(self, target: Target) -> float | None:
        """Predicted time in microseconds."""
        return None if self.cycles is None else self.cycles / target.clock_mhz


@dataclass(frozen=True, eq=False)
class Explanation:
    """A program as compiled. `assumed` are the open sizes, with the values that stand for them."""

    request: Request
    compilation: Compilation
    lowering: Lowering
    program: tir.Program
    sizes: Mapping[str, int]
    assumed: Mapping[str, int]
    kernels: tuple[KernelFacts, ...]

    @property
    def target(self) -> Target:
        """The GPU it is compiled for."""
        return self.request.target


def explain(request: Request, compilation: Compilation) -> Explanation:
    """Gather the facts. UsageError where open sizes cannot have the value that stands for them."""
    lowering, artifact = compilation.lowering, compilation.artifact
    if lowering is None or artifact is None or compilation.plan is None:
        raise InternalError("the compilation stopped before it emitted anything")
    interface = artifact.interface
    assumed = dict.fromkeys(interface.symbolic, TYPICAL_SIZE)
    sizes = {**interface.sizes, **assumed}
    _require(compilation, sizes, assumed)
    kernels, launches = lowering.mapped.kernels, interface.launches
    fast, quarters = lowering.mapped.fast, tuple[str, ...]()
    if fast is not None and interface.fast is not None:
        kernels, launches, quarters = fast.kernels, interface.fast.launches, fast.quarters
    shorter = {s: sizes[s] // VECTOR for s in quarters}
    plans = {p.kernel: p for p in compilation.plan.kernels}
    facts = tuple(
        _kernel(nest, plans[nest.name], _Lowered(kernel, launch, sizes, shorter), lowering, request)
        for nest, kernel, launch in zip(lowering.nest.kernels, kernels, launches, strict=True)
    )
    return Explanation(request, compilation, lowering, lowering.program, sizes, assumed, facts)


@dataclass(frozen=True)
class _Lowered:
    """A kernel with its launch; `shorter` has a quarter of the sizes of which it takes that."""

    kernel: ir.Kernel
    launch: Launch
    sizes: Mapping[str, int]
    shorter: Mapping[str, int]

    @property
    def names(self) -> dict[str, str]:
        """The user's name of every buffer."""
        pairs = zip(self.kernel.buffers, self.launch.arguments, strict=False)
        return {buffer.name: name for buffer, name in pairs}

    @property
    def values(self) -> dict[str, int]:
        """The values that the kernel gets for its sizes."""
        given = self.launch.arguments[len(self.kernel.buffers) :]
        pairs = zip(self.kernel.sizes, given, strict=True)
        return {own: self.shorter.get(name, self.sizes[name]) for own, name in pairs}

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks along x, y and z."""
        x, y, z = (e.evaluate(self.sizes) for e in self.launch.grid)
        return x, y, z


def _kernel(
    nest: KernelNest, plan: KernelPlan, lowered: _Lowered, lowering: Lowering, request: Request
) -> KernelFacts:
    program, target, kernel = lowering.program, request.target, lowered.kernel
    found = chains(nest, program)
    tiled = bool(found and plan.loops and plan.row is None)
    predicted = Model(nest, found, program.tensors, target).predict(plan) if tiled else None
    registers = (
        predicted.registers
        if predicted
        else needs(nest, found, program, plan).registers + OVERHEAD_REGISTERS
    )
    counted = work(nest, program, lowered.sizes)
    traced = trace(kernel, lowered.values)
    best = islice(ranked(nest, program, target, none(target)), ALTERNATIVES + 1) if tiled else ()
    return KernelFacts(
        nest,
        plan,
        kernel,
        lowered.names,
        lowered.grid,
        lowered.values,
        predicted.cycles if predicted else None,
        registers,
        occupancy(target, prod(kernel.block), registers, kernel.shared_bytes),
        counted,
        roof(counted, target),
        reuse(nest, plan, program, target),
        tuple(c for c in best if c.plan != plan)[:ALTERNATIVES],
        traced,
        touched(kernel, lowered.names, traced),
    )


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
