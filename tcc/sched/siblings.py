"""Kernels over rows that read the same input: one kernel reads it once for all their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tcc.affine import Affine, var
from tcc.frontend import tir
from tcc.sched.nest import Dim, Instance, KernelNest, Loop, Node, instances
from tcc.sched.reuse import source_of
from tcc.sched.windows import reads_of


def join_siblings(
    kernels: tuple[KernelNest, ...], program: tir.Program, wanted: Callable[[KernelNest], bool]
) -> tuple[KernelNest, ...]:
    """Join neighbours that have the same parallel loops and walk the same rows of one input.

    `wanted` says whether a joined kernel is a good one. isl fuses along dependences, and siblings
    have none: it leaves the sum, the least and the largest of one vector to three kernels.

    Requires: `kernels` are in launch order. Whether the result is legal is left to a check.
    """
    joined: list[KernelNest] = []
    for kernel in kernels:
        both = _joined(joined[-1], kernel) if joined else None
        if both is not None and _share(joined[-1], kernel, program) and wanted(both):
            joined[-1] = both
        else:
            joined.append(kernel)
    return tuple(joined)


def _share(first: KernelNest, second: KernelNest, program: tir.Program) -> bool:
    """Whether both read a tensor that neither writes, and neither needs what the other writes."""
    reads = [_reads(k, program) for k in (first, second)]
    writes = [_writes(k, program) for k in (first, second)]
    apart = not (writes[0] & (reads[1] | writes[1]) or writes[1] & reads[0])
    return apart and bool(reads[0] & reads[1])


def _reads(kernel: KernelNest, program: tir.Program) -> set[str]:
    return {r.tensor for i in instances(kernel.body) for r in reads_of(i, program)}


def _writes(kernel: KernelNest, program: tir.Program) -> set[str]:
    return {source_of(i.statement, program).target for i in instances(kernel.body)}


def _joined(first: KernelNest, second: KernelNest) -> KernelNest | None:
    """The bodies one after the other, with their only loops as one; None where these differ."""
    if len(first.parallel) != len(second.parallel):
        return None
    names: dict[str, str] = {}
    for own, other in zip(first.parallel, second.parallel, strict=True):
        if (own.low, own.high) != (other.low, other.high):
            return None
        names[other.name] = own.name
    body = _body(first.body, second.body, names)
    return None if body is None else replace(first, body=body)


def _body(
    first: tuple[Node, ...], second: tuple[Node, ...], names: Mapping[str, str]
) -> tuple[Node, ...] | None:
    """Statements before the loops, the loops as one, statements after them."""
    places = [[k for k, n in enumerate(body) if isinstance(n, Loop)] for body in (first, second)]
    if places == [[], []]:
        return (*first, *(_renamed(n, names) for n in second if isinstance(n, Instance)))
    if [len(p) for p in places] != [1, 1]:
        return None
    (a,), (b,) = places
    own, other = first[a], second[b]
    if not (isinstance(own, Loop) and isinstance(other, Loop)):
        return None
    if not _same_range(own.dim, other.dim, names):
        return None
    inside = _body(own.body, other.body, {**names, other.dim.name: own.dim.name})
    if inside is None:
        return None
    before = [_renamed(n, names) for n in second[:b] if isinstance(n, Instance)]
    after = [_renamed(n, names) for n in second[b + 1 :] if isinstance(n, Instance)]
    return (*first[:a], *before, Loop(own.dim, inside), *first[a + 1 :], *after)


def _same_range(own: Dim, other: Dim, names: Mapping[str, str]) -> bool:
    return (own.low, own.high) == (_under(other.low, names), _under(other.high, names))


def _renamed(instance: Instance, names: Mapping[str, str]) -> Instance:
    """The instance under other names of its loops."""
    return Instance(
        instance.statement,
        {i: _under(a, names) for i, a in instance.iterators.items()},
        {names[d]: a for d, a in instance.values.items()},
        tuple(_under(c, names) for c in instance.conditions),
    )


def _under(form: Affine, names: Mapping[str, str]) -> Affine:
    return form.substitute({old: var(new) for old, new in names.items()})
