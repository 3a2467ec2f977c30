"""Which tensors of a kernel live in registers: the accumulators and the values passed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.kernel.context import Context, Lowered
from tcc.kernel.prove import holds
from tcc.sched.nest import Instance, KernelNest, instances
from tcc.sched.scop import Part

Subscripts = tuple[Affine, ...]
Ranges = dict[str, tuple[Affine, Affine]]


@dataclass(frozen=True)
class Promotion:
    """One tensor kept in registers for the whole kernel.

    `subscripts` are logical, over the parallel dimensions; `writer` is an instance whose range
    holds those of all that touch it, `same` where all have this range; `load`/`store` tell whether
    its values come from and go to memory.
    """

    tensor: str
    subscripts: Subscripts
    writer: Instance
    same: bool
    load: bool
    store: bool


def promotions(
    context: Context,
    kernel: KernelNest,
    users: Mapping[str, frozenset[str]],
    *,
    keep_stored: bool,
) -> tuple[Promotion, ...]:
    """The tensors of which every parallel point uses one element of its own.

    `users` names the kernels that touch each tensor. `keep_stored` also keeps those that are
    written once and not read, so that their stores can be vectors.
    Requires: parallel points are independent (checked by isl on the nest).
    """
    order = list(instances(kernel.body))
    written: dict[str, None] = {}
    for instance in order:
        written[context.statements[instance.statement].statement.target] = None
    found = [_promotion(context, kernel, order, t, users, keep_stored) for t in written]
    return tuple(p for p in found if p is not None)


def reads(lowered: Lowered) -> list[tir.Read]:
    """The reads on the right side; an initialisation has none."""
    if lowered.part is Part.INIT:
        return []
    return [e for e in tir.walk(lowered.statement.value) if isinstance(e, tir.Read)]


def write_subscripts(lowered: Lowered, instance: Instance) -> Subscripts:
    """Logical subscripts of the element an instance writes."""
    return tuple(instance.iterators[i] for i in lowered.statement.indices)


def _promotion(
    context: Context,
    kernel: KernelNest,
    order: list[Instance],
    tensor: str,
    users: Mapping[str, frozenset[str]],
    keep_stored: bool,
) -> Promotion | None:
    writers = [i for i in order if context.statements[i.statement].statement.target == tensor]
    if any(context.statements[i.statement].statement.atomic for i in writers):
        return None  # other points combine into the same element
    subscripts = write_subscripts(context.statements[writers[0].statement], writers[0])
    parallel = {d.name for d in kernel.parallel}
    if not all(s.variables <= parallel | set(context.program.sizes) for s in subscripts):
        return None
    touching = [i for i in order if _accesses(context, i, tensor)]
    covering = _defines(context, touching[0], tensor)
    if any(i.conditions for i in touching):
        return None
    same = _in_one_range(context, touching, parallel, within=False)
    if not same and not (covering and _in_one_range(context, touching, parallel, within=True)):
        return None
    for instance in touching:
        if any(s != subscripts for s in _accesses(context, instance, tensor)):
            return None
    once = len(touching) == 1 and not keep_stored
    if once and context.statements[touching[0].statement].part is Part.ASSIGN:
        return None  # stored once, never read: nothing to keep
    half = context.tensor(tensor).type.is_half
    if half and not _is_single_reduction(context, order, tensor):
        return None
    temporary = context.tensor(tensor).role is tir.Role.TEMPORARY
    store = not temporary or users[tensor] != frozenset((kernel.name,))
    return Promotion(tensor, subscripts, writers[0], same, not covering, store)


def _in_one_range(
    context: Context, touching: list[Instance], parallel: set[str], *, within: bool
) -> bool:
    """Every instance that touches the tensor runs at the parallel points of the first one.

    `within`: or at some of them.
    """
    first, *others = (_parallel_range(context, i, parallel) for i in touching)
    if first is None:
        return False
    return all(r == first or (within and r and _contains(context, first, r)) for r in others)


def _contains(context: Context, outer: Ranges, inner: Ranges) -> bool:
    """Whether a box of parallel points holds another one, for all sizes."""
    if outer.keys() != inner.keys():
        return False
    room = [
        context.size(form)
        for dim, (low, high) in inner.items()
        for form in (low - outer[dim][0], outer[dim][1] - high)
    ]
    return all(holds(form, (), context.size_ranges) for form in room)


def _parallel_range(context: Context, instance: Instance, parallel: set[str]) -> Ranges | None:
    """The range of each parallel dimension in which the instance runs, where that is simple."""
    lowered = context.statements[instance.statement]
    found: dict[str, tuple[Affine, Affine]] = {}
    for iterator in lowered.iterators:
        at = instance.iterators[iterator]
        used = [d for d in at.variables if d in parallel]
        if not used:
            continue
        shift = at.without(used)
        if len(used) != 1 or at.coefficient(used[0]) != 1 or used[0] in shift.variables:
            return None
        limits = lowered.statement.ranges[iterator]
        found[used[0]] = (limits.low - shift, limits.high - shift)
    return found


def _accesses(context: Context, instance: Instance, tensor: str) -> list[Subscripts | None]:
    lowered = context.statements[instance.statement]
    found: list[Subscripts | None] = []
    if lowered.statement.target == tensor:
        found.append(write_subscripts(lowered, instance))
    for read in reads(lowered):
        if read.tensor == tensor:
            forms = [affine_form(s) for s in read.subscripts]
            known = tuple(f.substitute(instance.iterators) for f in forms if f is not None)
            found.append(known if len(known) == len(forms) else None)
    return found


def _is_single_reduction(context: Context, order: list[Instance], tensor: str) -> bool:
    """Only the initialisation and update of one reduction touch the tensor.

    A half tensor accumulates in float32 and rounds once; any other reader must see it rounded.
    """
    touching = [i for i in order if _accesses(context, i, tensor)]
    statements = {context.statements[i.statement].statement.name for i in touching}
    last = context.statements[touching[-1].statement]
    own_reads = any(r.tensor == tensor for r in reads(last))
    return len(statements) == 1 and last.part is Part.UPDATE and not own_reads


def _defines(context: Context, instance: Instance, tensor: str) -> bool:
    lowered = context.statements[instance.statement]
    if lowered.statement.target != tensor or lowered.part is Part.UPDATE:
        return False
    return all(r.tensor != tensor for r in reads(lowered))
