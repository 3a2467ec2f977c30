"""The reductions of a kernel that can be tiled and staged, and what each operand's box is.

A chain is a nest of sequential loops around updates of elements that the parallel dimensions
alone choose: matrix products, convolutions, sums. Its operands are affine, so the elements that a
block, a thread or a k-tile touches form boxes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.sched.nest import Dim, Instance, KernelNest, Loop, Node, instances


@dataclass(frozen=True)
class Operand:
    """One element read: storage subscripts over the dimensions and loops of the nest, and sizes.

    `reads` are the places of the program that read it, each with its statement: one text may
    stand in several statements, when a def is called more than once.
    """

    tensor: str
    forms: tuple[Affine, ...]
    reads: tuple[tuple[str, tir.Read], ...]

    def uses(self, dim: str) -> bool:
        """Whether the element depends on a dimension."""
        return any(f.coefficient(dim) for f in self.forms)


@dataclass(frozen=True)
class Chain:
    """Loops, outermost first, around updates that accumulate over all of them."""

    loops: tuple[Dim, ...]
    updates: tuple[Instance, ...]
    operands: tuple[Operand, ...]


def chains(kernel: KernelNest, program: tir.Program) -> tuple[Chain, ...]:
    """The top-level loop nests of a kernel that are chains, in order."""
    found = [chain(kernel, program, n) for n in kernel.body if isinstance(n, Loop)]
    return tuple(c for c in found if c is not None)


def chain(kernel: KernelNest, program: tir.Program, loop: Loop) -> Chain | None:
    """The loop nest as a chain, or None.

    Requires every update to cover exactly the parallel dimensions and the loops; every read to be
    affine without quotients, of a tensor the kernel does not write; and values that are harmless
    to compute for padded points (no integer division, no data-dependent subscript).
    """
    loops: list[Dim] = []
    node: tuple[Node, ...] = (loop,)
    while len(node) == 1 and isinstance(node[0], Loop):
        loops.append(node[0].dim)
        node = node[0].body
    statements = {s.name: s for s in program.statements}
    updates = tuple(n for n in node if isinstance(n, Instance))
    if len(updates) != len(node):
        return None
    written = {statements[_source(i.statement)].target for i in instances(kernel.body)}
    names = {d.name for d in (*kernel.parallel, *loops)}
    if any(d.low.variables & names or d.high.variables & names for d in loops):
        return None
    dims = {d.name: d for d in (*kernel.parallel, *loops)}
    operands: dict[tuple[str, tuple[Affine, ...]], tuple[tuple[str, tir.Read], ...]] = {}
    for update in updates:
        statement = statements[_source(update.statement)]
        if not _fits(update, statement, dims, {d.name for d in loops}):
            return None
        own = _operands(update, statement, program, written, names)
        if own is None:
            return None
        for tensor, forms, read in own:
            old = operands.get((tensor, forms), ())
            operands[tensor, forms] = (*old, (update.statement, read))
    found = tuple(Operand(tensor, forms, reads) for (tensor, forms), reads in operands.items())
    return Chain(tuple(loops), updates, found) if updates else None


def box(forms: tuple[Affine, ...], spans: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
    """For each tensor dimension the interval of subscripts, relative to the tile's origin.

    `spans` gives the number of consecutive values of each dimension inside the tile; dimensions
    that are not listed do not move.
    """
    result: list[tuple[int, int]] = []
    for form in forms:
        low = high = 0
        for dim, span in spans.items():
            reach = form.coefficient(dim) * (span - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        result.append((low, high))
    return tuple(result)


def order(forms: tuple[Affine, ...], inner: frozenset[str]) -> tuple[int, ...]:
    """How a staged box lies in shared memory: tensor dimensions, slowest first.

    The dimension that an inner register digit (`inner` names their loops) walks alone comes last,
    so that a thread reads it in vectors.
    """
    count = len(forms)
    for dim in reversed(range(count)):
        others = [f for k, f in enumerate(forms) if k != dim]
        if any(
            forms[dim].coefficient(n) == 1 and not any(f.coefficient(n) for f in others)
            for n in inner
        ):
            return (*(k for k in range(count) if k != dim), dim)
    return tuple(range(count))


def source_of(name: str, program: tir.Program) -> tir.Statement:
    """The source statement of a statement of the model."""
    plain = _source(name)
    return next(s for s in program.statements if s.name == plain)


def _source(statement: str) -> str:
    return statement.removesuffix("_init")


def _fits(
    update: Instance, statement: tir.Statement, dims: Mapping[str, Dim], loops: set[str]
) -> bool:
    """Whether the update runs at every point of all dimensions and accumulates over the loops."""
    if update.conditions or statement.operator == "=" or not statement.reductions:
        return False
    covered: set[str] = set()
    for iterator in statement.indices + statement.reductions:
        at = update.iterators[iterator]
        used = [d for d in at.variables if d in dims]
        if len(used) != 1 or at.coefficient(used[0]) != 1:
            return False
        shift, limits = at.without(used), statement.ranges[iterator]
        dim = dims[used[0]]
        if (limits.low - shift, limits.high - shift) != (dim.low, dim.high):
            return False
        if (iterator in statement.indices) == (used[0] in loops):
            return False
        covered.add(used[0])
    return covered == set(dims)


def _operands(
    update: Instance,
    statement: tir.Statement,
    program: tir.Program,
    written: set[str],
    names: set[str],
) -> list[tuple[str, tuple[Affine, ...], tir.Read]] | None:
    found: list[tuple[str, tuple[Affine, ...], tir.Read]] = []
    for expression in tir.walk(statement.value):
        match expression:
            case tir.Binary(operator, _, _, type) if operator in "/%" and type.is_integer:
                return None
            case tir.Read(tensor, subscripts, _, _):
                forms = [affine_form(s) for s in subscripts]
                if tensor in written or None in forms:
                    return None
                origin = program.tensors[tensor].origin
                stored = tuple(
                    f.substitute(update.iterators) - o
                    for f, o in zip(forms, origin, strict=True)
                    if f is not None
                )
                if any(_bent(f, names) for f in stored):
                    return None
                found.append((tensor, stored, expression))
            case _:
                pass
    return found


def _bent(form: Affine, names: set[str]) -> bool:
    """Whether a dimension occurs other than linearly."""
    return bool(form.without(names).variables & names)
