"""Programs lowered under plans made by hand, run on kernel IR and compared with the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from tcc.frontend.specialise import specialise
from tcc.kernel import ir
from tcc.kernel.context import Context
from tcc.kernel.lower import lower
from tcc.kernel.simplify import simplify
from tcc.run.reference import interpret
from tcc.sched.dependences import compute_dependences
from tcc.sched.fix import fix_sizes
from tcc.sched.fusion import Fusion
from tcc.sched.nest import Nest
from tcc.sched.plan import KernelPlan, Plan
from tcc.sched.schedule import compute_schedule
from tcc.sched.scop import Scop, build_scop
from tcc.sched.structure import structure
from tests.kernel.run_ir import run
from tests.kernel.running import data
from tests.sched.programs import elaborated


class Mapped:
    """A program with its maximally fused nest, scheduled once for many plans."""

    def __init__(self, text: str, sizes: Mapping[str, int], *, fixed: bool = True) -> None:
        self.sizes = dict(sizes)
        self.open = {} if fixed else self.sizes
        known = self.sizes if fixed else {}
        source = elaborated(text, known)
        self.scop: Scop = build_scop(source)
        found = compute_dependences(self.scop)
        self.program = specialise(source, known)
        loops = structure(self.scop, compute_schedule(self.scop, found, Fusion.MAX).tree)
        self.nest: Nest = fix_sizes(loops, known)
        self.arrays = data(self.program, self.sizes)
        self.wanted = interpret(self.program, self.arrays, self.sizes)

    def kernels(self, *plans: KernelPlan) -> tuple[ir.Kernel, ...]:
        context = Context(self.scop, self.program)
        return tuple(map(simplify, lower(context, self.nest, Plan(plans))))

    def check(self, *plans: KernelPlan) -> Counter[tuple[str, tuple[int, ...]]]:
        """Results are the oracle's; how often each element was stored."""
        return self.execute(*self.kernels(*plans))

    def execute(self, *kernels: ir.Kernel) -> Counter[tuple[str, tuple[int, ...]]]:
        """Run kernels in order; everything that no input sets starts as -77."""
        memory: dict[str, np.ndarray] = {}
        for name, tensor in self.program.tensors.items():
            shape = tuple(e.evaluate(self.sizes) for e in tensor.shape)
            start = self.arrays.get(name, np.full(shape, -77))
            memory[name] = np.array(start, dtype=object).reshape(-1)
        stores: Counter[tuple[str, tuple[int, ...]]] = Counter()
        for kernel in kernels:
            stores += run(kernel, memory, self.open)
        for name, want in self.wanted.items():
            got = memory[name].reshape(want.shape).astype(want.dtype)
            np.testing.assert_array_equal(got, want, err_msg=name)
        return stores
