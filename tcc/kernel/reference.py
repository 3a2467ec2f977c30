"""The reference kernel of a program: the identity schedule, one thread, plain loops."""

from __future__ import annotations

from collections.abc import Mapping

from tcc.artifact import PLAIN, Artifact, Naming
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.comment import unit_comment
from tcc.kernel.context import Context
from tcc.kernel.emit import Unit, emit
from tcc.kernel.int_limits import int_limits
from tcc.kernel.lower import lower
from tcc.kernel.simplify import simplify
from tcc.sched.fix import fix_sizes
from tcc.sched.scop import Scop
from tcc.sched.structure import identity
from tcc.sched.tile import single_thread


def reference_kernel(
    model: Scop,
    program: tir.Program,
    sizes: Mapping[str, int],
    opened: tuple[tir.Precondition, ...],
    *,
    check_bounds: bool = False,
    naming: Naming = PLAIN,
) -> Artifact:
    """The launcher `NAME_reference`; `opened` is what its sizes must fulfil besides."""
    loops = fix_sizes(identity(model), sizes)
    context = Context(model, program, check_bounds=check_bounds)
    kernels = tuple(map(simplify, lower(context, loops, single_thread(loops))))
    preconditions = (*program.preconditions, *opened, *int_limits(context, kernels))
    comment = unit_comment(program, sizes, None)
    needed = workspace(context, kernels)
    name = f"{program.name}_reference"
    unit = Unit(name, kernels, preconditions, needed, comment, sizes, naming=naming)
    return emit(context, unit)


def workspace(context: Context, kernels: tuple[ir.Kernel, ...]) -> tuple[str, ...]:
    """The temporaries that some kernel keeps in memory."""
    stored = {b.name for k in kernels for b in k.buffers}
    return tuple(t for t in context.program.temporaries if context.spelling[t] in stored)
