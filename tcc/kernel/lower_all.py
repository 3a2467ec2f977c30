"""All kernels of a program: those for every size, and faster ones for well-aligned sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tcc.affine import Var
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.context import Context, is_wide
from tcc.kernel.emit import Fast
from tcc.kernel.lower import lower
from tcc.kernel.simplify import simplify
from tcc.sched.gathers import picked_rows
from tcc.sched.nest import KernelNest, Nest
from tcc.sched.plan import Plan
from tcc.sched.reuse import Chain, chains
from tcc.sched.row_stage import index_tensors
from tcc.sched.scop import Scop


@dataclass(frozen=True)
class Mapped:
    """The kernels of a program in launch order; `fast` is None where nothing would be gained."""

    kernels: tuple[ir.Kernel, ...]
    fast: Fast | None


def lower_all(
    scop: Scop, program: tir.Program, nest: Nest, plan: Plan, *, check_bounds: bool = False
) -> Mapped:
    """Lower a nest for all sizes, and once more for row lengths that are multiples of 4.

    With the others beside them, kernels for all sizes take pointers of any alignment where rows
    of open length leave them no vector accesses.
    """
    general = Context(scop, program, check_bounds=check_bounds)
    kernels = tuple(map(simplify, lower(general, nest, plan)))
    quarters = _row_sizes(nest, program)
    shapes = [t.shape for t in program.tensors.values()]
    huge = any(is_wide(shape) for shape in shapes if all(e.is_constant for e in shape))
    if not quarters or huge:
        return Mapped(kernels, None)
    context = Context(
        scop, program, quarters=frozenset(quarters), narrow=True, check_bounds=check_bounds
    )
    named = replace(nest, kernels=tuple(replace(k, name=f"{k.name}_aligned") for k in nest.kernels))
    renamed = Plan(tuple(replace(k, kernel=f"{k.kernel}_aligned") for k in plan.kernels))
    fast = tuple(map(simplify, lower(context, named, renamed)))
    moves = (s for k in fast for s in ir.walk(k.body) if isinstance(s, ir.VectorMove))
    wide = any(
        s.source.space is ir.Space.GLOBAL or s.target.space is ir.Space.GLOBAL for s in moves
    )
    if not wide:
        return Mapped(kernels, None)
    plain = tuple(replace(k, aligned=()) for k in kernels)
    return Mapped(plain, Fast(context, quarters, fast))


def _row_sizes(nest: Nest, program: tir.Program) -> tuple[str, ...]:
    """The open sizes that are row lengths of tensors which kernels read or write in vectors.

    Only where all subscripts of tiled reductions are single loops: windows shift rows by less than
    a vector.
    """
    found: dict[str, None] = {}
    for kernel in nest.kernels:
        own = chains(kernel, program)
        if any(len(f.terms) > 1 for c in own for o in c.operands for f in o.forms):
            return ()
        for name in _in_vectors(kernel, own, program):
            shape = program.tensors[name].shape
            if shape and len(shape[-1].terms) == 1 and not shape[-1].constant:
                atom, factor = shape[-1].terms[0]
                if isinstance(atom, Var) and factor == 1:
                    found[atom.name] = None
    return tuple(s for s in program.sizes if s in found)


def _in_vectors(kernel: KernelNest, own: tuple[Chain, ...], program: tir.Program) -> list[str]:
    """The tensors with rows that tiled reductions use or data picks, and what is written then."""
    indices = index_tensors(kernel, program)
    operands = (o for c in own for o in c.operands if o.tensor not in indices)
    read = [o.tensor for o in operands if o.gather is None or o.gather.runs_along_memory]
    picked = [tensor for tensor, _ in picked_rows(kernel, program)]
    written = [s.target for s in program.statements] if own or picked else []
    return [*read, *picked, *written]
