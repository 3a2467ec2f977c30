"""The reductions of a kernel that can be tiled and staged, and what each operand's box is.

A chain is a nest of sequential loops around updates of elements that the parallel dimensions
alone choose: matrix products, convolutions, sums. The elements that a block, a thread or a k-tile
touches of an operand form boxes: its subscripts are affine, or it is a gather and stands for the
dense tensor of its elements (`Gather`).
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TypeAlias

from tcc.affine import Affine, var
from tcc.frontend import tir
from tcc.frontend.lazy import unconditional_reads
from tcc.frontend.subscripts import affine_form
from tcc.sched.nest import Dim, Instance, KernelNest, Loop, Node, instances, runs_over


@dataclass(frozen=True)
class Gather:
    """A read with subscripts that are not affine: they come from data, as a rule.

    What it reads is a dense tensor that has, in the place of such a subscript, the dimensions of
    the nest that decide it: of `T(I(b, l), d)` the elements `(b, l, d)`. `dims` names them for
    each subscript; None where the subscript is affine and stands for itself.
    """

    statement: str
    read: tir.Read
    dims: tuple[tuple[str, ...] | None, ...]

    @property
    def indices(self) -> frozenset[tuple[str, tir.Read]]:
        """The reads in its subscripts, at any depth, each with its statement."""
        inside = (e for s in self.read.subscripts for e in tir.walk(s))
        return frozenset((self.statement, e) for e in inside if isinstance(e, tir.Read))

    @property
    def runs_along_memory(self) -> bool:
        """Whether neighbours in the last dimension of the dense tensor are neighbours in memory."""
        return self.dims[-1] is None


@dataclass(frozen=True)
class Operand:
    """One element read: storage subscripts over the dimensions and loops of the nest, and sizes.

    `reads` are the places of the program that read it, each with its statement: one text may
    stand in several statements, when a def is called more than once. `forms` and `shape` are those
    of the tensor or, for a gather, of the dense tensor that it stands for.
    """

    tensor: str
    forms: tuple[Affine, ...]
    reads: tuple[tuple[str, tir.Read], ...]
    shape: tuple[Affine, ...]
    gather: Gather | None = None

    def uses(self, dim: str) -> bool:
        """Whether the element depends on a dimension."""
        return any(f.coefficient(dim) for f in self.forms)


_Key: TypeAlias = tuple[str, tuple[Affine, ...], Gather | None]


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
    of a tensor the kernel does not write, and affine without quotients or a gather that happens at
    every point; and values that are harmless to compute for padded points (no integer division).
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
    operands: dict[_Key, Operand] = {}
    for update in updates:
        statement = statements[_source(update.statement)]
        if not _fits(update, statement, dims, {d.name for d in loops}):
            return None
        own = _operands(update, statement, program, written, dims)
        if own is None:
            return None
        for each in own:
            key = each.tensor, each.forms, each.gather
            old = operands.get(key)
            both = each.reads if old is None else old.reads + each.reads
            operands[key] = replace(each, reads=both)
    # Gathers come after what their subscripts read.
    found = tuple(sorted(operands.values(), key=lambda o: _depth(o.gather)))
    return Chain(tuple(loops), updates, found) if updates else None


def is_index(operand: Operand, chain: Chain) -> bool:
    """Whether an operand is read for the subscripts of gathers only."""
    inside = (o.gather.indices for o in chain.operands if o.gather is not None)
    return frozenset[tuple[str, tir.Read]]().union(*inside).issuperset(operand.reads)


def copied_in_turn(chain: Chain, shared: AbstractSet[str]) -> bool:
    """Whether rows go to shared memory that are picked by what goes there, too.

    The indices must be there before the copy of the rows begins, so no k-tile is fetched ahead.
    """
    staged = [o for o in chain.operands if o.tensor in shared]
    inside = [o.gather.indices for o in staged if o.gather is not None]
    return any(found.intersection(o.reads) for o in staged for found in inside)


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
        limits = statement.ranges[iterator]
        dim = runs_over(update.iterators[iterator], limits.low, limits.high, dims)
        if dim is None or (iterator in statement.indices) == (dim in loops):
            return False
        covered.add(dim)
    return covered == set(dims)


def _operands(
    update: Instance,
    statement: tir.Statement,
    program: tir.Program,
    written: set[str],
    dims: Mapping[str, Dim],
) -> list[Operand] | None:
    found: list[Operand] = []
    always = frozenset(unconditional_reads(statement.value))
    for expression in tir.walk(statement.value):
        match expression:
            case tir.Binary(operator, _, _, type) if operator in "/%" and type.is_integer:
                return None
            case tir.Read(tensor) if tensor in written:
                return None
            case tir.Read():
                made = _operand(expression, update, program, dims)
                if made is None or (made.gather is not None and expression not in always):
                    return None
                found.append(made)
            case _:
                pass
    return found


def _operand(
    read: tir.Read, update: Instance, program: tir.Program, dims: Mapping[str, Dim]
) -> Operand | None:
    """What a read is an operand of; None where a dimension occurs other than linearly."""
    tensor = program.tensors[read.tensor]
    forms: list[Affine] = []
    shape: list[Affine] = []
    gathered: list[tuple[str, ...] | None] = []
    for subscript, origin, extent in zip(read.subscripts, tensor.origin, tensor.shape, strict=True):
        form = affine_form(subscript)
        if form is None:
            moving = _moving(subscript, update, dims)
            gathered.append(tuple(d.name for d in moving))
            forms += [var(d.name) - d.low for d in moving]
            shape += [d.extent for d in moving]
            continue
        stored = form.substitute(update.iterators) - origin
        if stored.without(dims).variables & dims.keys():
            return None
        gathered.append(None)
        forms.append(stored)
        shape.append(extent)
    plain = all(g is None for g in gathered)
    gather = None if plain else Gather(update.statement, read, tuple(gathered))
    reads = ((update.statement, read),)
    return Operand(tensor.name, tuple(forms), reads, tuple(shape), gather)


def _moving(
    subscript: tir.Expression, update: Instance, dims: Mapping[str, Dim]
) -> tuple[Dim, ...]:
    """The dimensions that decide a subscript, in the order of the nest."""
    indices = [e.name for e in tir.walk(subscript) if isinstance(e, tir.Index)]
    used = {n for i in indices for n in update.iterators[i].variables}
    return tuple(d for n, d in dims.items() if n in used)


def _depth(gather: Gather | None) -> int:
    """How many reads of data stand one inside the other in the subscripts of a gather."""
    return 0 if gather is None else max(map(_read_depth, gather.read.subscripts), default=0)


def _read_depth(expression: tir.Expression) -> int:
    below = max(map(_read_depth, tir.children(expression)), default=0)
    return below + isinstance(expression, tir.Read)
