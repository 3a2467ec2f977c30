"""Kernels that work row by row: every parallel point owns a row, and loops walk along it.

Softmax, norms, sums of rows: the threads of a group share a row. Each loop nest becomes one pass
over the row, each reduction ends in an exchange between the threads, and values at one position of
the row stay with one thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tcc.affine import Affine, var
from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.sched.nest import Dim, Instance, KernelNest, Loop, Node, instances, runs_over


@dataclass(frozen=True)
class Pass:
    """One walk along the row: instances at every position, in order, over `RowForm.loops`."""

    instances: tuple[Instance, ...]


RowNode: TypeAlias = Pass | Instance


@dataclass(frozen=True)
class RowForm:
    """A kernel as passes over rows, with statements of the whole row between them."""

    loops: tuple[Dim, ...]
    nodes: tuple[RowNode, ...]


def row_form(kernel: KernelNest, program: tir.Program) -> RowForm | None:
    """The kernel as passes over rows, or None.

    Establishes: every tensor that the kernel writes is used at one element per row or at one
    element per position, so that no thread needs what another thread wrote, but for reductions;
    all passes have the same loops; at least one pass reduces.
    """
    loops = _first_loops(kernel)
    if not loops:
        return None
    nodes: list[RowNode] = []
    for node in kernel.body:
        made = _node(node, loops)
        if made is None:
            return None
        nodes.append(made)
    form = RowForm(loops, tuple(nodes))
    return form if _is_sound(kernel, form, program) else None


def statement_of(instance: Instance, program: tir.Program) -> tir.Statement:
    """The source statement of an instance."""
    name = instance.statement.removesuffix("_init")
    return next(s for s in program.statements if s.name == name)


def reduces(instance: Instance, statement: tir.Statement) -> bool:
    """Whether the instance accumulates into its target."""
    is_init = instance.statement.endswith("_init")
    return not is_init and statement.operator != "=" and bool(statement.reductions)


def _first_loops(kernel: KernelNest) -> tuple[Dim, ...]:
    for node in kernel.body:
        if isinstance(node, Loop):
            return _loops(node)
    return ()


def _loops(node: Loop) -> tuple[Dim, ...]:
    dims = [node.dim]
    while len(node.body) == 1 and isinstance(node.body[0], Loop):
        node = node.body[0]
        dims.append(node.dim)
    return tuple(dims)


def _node(node: Node, loops: tuple[Dim, ...]) -> RowNode | None:
    if isinstance(node, Instance):
        return node
    own = _loops(node)
    same = [(d.low, d.high) for d in own] == [(d.low, d.high) for d in loops]
    names = {d.name for d in own}
    if not same or any((d.low.variables | d.high.variables) & names for d in own):
        return None
    body: tuple[Node, ...] = (node,)
    for _ in own:
        body = body[0].body if isinstance(body[0], Loop) else body
    if not all(isinstance(n, Instance) for n in body):
        return None
    renamed = {a.name: var(b.name) for a, b in zip(own, loops, strict=True)}
    return Pass(tuple(_renamed(n, renamed) for n in body if isinstance(n, Instance)))


def _renamed(instance: Instance, names: Mapping[str, Affine]) -> Instance:
    iterators = {i: a.substitute(names) for i, a in instance.iterators.items()}
    conditions = tuple(c.substitute(names) for c in instance.conditions)
    return Instance(instance.statement, iterators, instance.values, conditions)


def _is_sound(  # noqa: C901 - one condition after the other
    kernel: KernelNest, form: RowForm, program: tir.Program
) -> bool:
    row = {d.name for d in kernel.parallel}
    along = {d.name for d in form.loops}
    if any((d.low.variables | d.high.variables) & row for d in form.loops):
        return False
    written = {statement_of(i, program).target for i in instances(kernel.body)}
    elements: dict[str, tuple[Affine, ...]] = {}
    reducing = False
    for node in form.nodes:
        inside = isinstance(node, Pass)
        for instance in node.instances if isinstance(node, Pass) else (node,):
            if instance.conditions:
                return False
            statement = statement_of(instance, program)
            if not _fits_range(instance, statement, kernel, form):
                return False
            for tensor, at in _accesses(instance, statement, written):
                if at is None or elements.setdefault(tensor, at) != at:
                    return False
            target = elements[statement.target]
            of_row = not any(t.variables & along for t in target)
            if of_row and program.tensors[statement.target].type.is_half:
                return False
            if not _placed(target, inside, along, form):
                return False
            if reduces(instance, statement):
                reducing = True
                type = program.tensors[statement.target].type
                if not type.is_word or any(t.variables & along for t in target):
                    return False
        if isinstance(node, Pass) and _reads_own_reduction(node, program):
            return False
    return reducing


def _fits_range(
    instance: Instance, statement: tir.Statement, kernel: KernelNest, form: RowForm
) -> bool:
    """Whether the instance exists at exactly the points of the dimensions it uses."""
    dims = {d.name: d for d in (*kernel.parallel, *form.loops)}
    for iterator, at in instance.iterators.items():
        limits = statement.ranges[iterator]
        if runs_over(at, limits.low, limits.high, dims) is None:
            return False
    return {n for a in instance.iterators.values() for n in a.variables} >= {
        d.name for d in kernel.parallel
    }


def _accesses(
    instance: Instance, statement: tir.Statement, written: set[str]
) -> list[tuple[str, tuple[Affine, ...] | None]]:
    """Accesses of tensors that the kernel writes."""
    target = tuple(instance.iterators[i] for i in statement.indices)
    found: list[tuple[str, tuple[Affine, ...] | None]] = [(statement.target, target)]
    if instance.statement.endswith("_init"):
        return found
    for read in tir.walk(statement.value):
        if isinstance(read, tir.Read) and read.tensor in written:
            forms = [affine_form(s) for s in read.subscripts]
            known = [f.substitute(instance.iterators) for f in forms if f is not None]
            found.append((read.tensor, tuple(known) if len(known) == len(forms) else None))
    return found


def _placed(target: tuple[Affine, ...], inside: bool, along: set[str], form: RowForm) -> bool:
    """One element a row, or (inside a pass) one element a position."""
    used = frozenset().union(*(t.variables for t in target))
    if not used & along:
        return True
    moving = {d.name for d in form.loops if d.extent != Affine((), 1)}
    return inside and used >= moving and all(len(t.variables & along) <= 1 for t in target)


def _reads_own_reduction(node: Pass, program: tir.Program) -> bool:
    """Whether something in a pass reads what the pass is still reducing."""
    pairs = [(i, statement_of(i, program)) for i in node.instances]
    reduced = {s.target for i, s in pairs if reduces(i, s)}
    for instance, statement in pairs:
        if instance.statement.endswith("_init"):
            if statement.target in reduced:
                return True
            continue
        if not reduces(instance, statement) and statement.target in reduced:
            return True
        for read in tir.walk(statement.value):
            if isinstance(read, tir.Read) and read.tensor in reduced:
                return True
    return False
