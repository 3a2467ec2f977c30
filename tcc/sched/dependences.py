"""Which statement instances must stay in order, from the memory they touch."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import islpy as isl

from tcc.sched import islx
from tcc.sched.scop import Access, Part, Scop, ScopStatement


class Kind(Enum):
    """What the two instances do to the element they share."""

    FLOW = "flow"
    ANTI = "anti"
    OUTPUT = "output"


@dataclass(frozen=True, eq=False)
class Dependence:
    """Pairs of instances that touch one element of `tensor`, the source first.

    `relaxed` marks the pairs of one UPDATE with itself: its operator is associative and
    commutative, so that they may run in any order, but not at the same time.
    """

    kind: Kind
    source: str
    sink: str
    tensor: str
    relation: isl.Map  # { S[i] -> T[j] }
    relaxed: bool = False


@dataclass(frozen=True, eq=False)
class Dependences:
    """All dependences of a program, in program order of source, then sink."""

    scop: Scop
    all: tuple[Dependence, ...]

    @cached_property
    def pairs(self) -> tuple[Dependence, ...]:
        """One dependence for each pair of statements, of all its kinds and tensors together.

        The kind and tensor are those of the first.
        """
        merged: dict[tuple[str, str, bool], Dependence] = {}
        for found in self.all:
            key = (found.source, found.sink, found.relaxed)
            if key not in merged:
                merged[key] = found
            elif not found.relation.is_subset(merged[key].relation):
                union = merged[key].relation.union(found.relation).coalesce()
                merged[key] = replace(merged[key], relation=union)
        return tuple(merged.values())

    def among(self, statements: Container[str]) -> tuple[Dependence, ...]:
        """The pairs that stay within these statements."""
        return tuple(d for d in self.pairs if d.source in statements and d.sink in statements)

    @cached_property
    def strict(self) -> tuple[Dependence, ...]:
        """The dependences whose order matters."""
        return tuple(d for d in self.all if not d.relaxed)

    @cached_property
    def validity(self) -> isl.UnionMap:
        """{ S[i] -> T[j] } that every schedule must keep in order."""
        return self._union(self.strict)

    @cached_property
    def coincidence(self) -> isl.UnionMap:
        """{ S[i] -> T[j] } that must have no distance along a parallel dimension."""
        return self._union(self.all)

    def _union(self, chosen: Iterable[Dependence]) -> isl.UnionMap:
        return islx.union_map(self.scop.parameters, (d.relation for d in chosen))


def compute_dependences(scop: Scop) -> Dependences:
    """All pairs of instances that touch one element, at least one writing it.

    Pairs with a statement between them that writes the element as well are left out: they follow
    from the pairs with that statement. Reads through data-dependent subscripts count as reads of
    everything they may reach.

    Requires: causality holds, so that no instance reads what another of its statement writes,
    but for the accumulation of an UPDATE.
    """
    found: list[Dependence] = []
    for tensor in scop.program.tensors:
        touching = [s for s in scop.statements if any(a.tensor == tensor for a in s.accesses)]
        found += _of_tensor(scop, tensor, touching)
    place = {s.name: k for k, s in enumerate(scop.statements)}
    found.sort(key=lambda d: (place[d.source], place[d.sink]))
    return Dependences(scop, tuple(found))


def text(dependences: Dependences) -> str:
    """One line for each dependence."""
    lines = [
        f"{d.source} -> {d.sink} {d.kind.value} {d.tensor}"
        f"{' (any order)' if d.relaxed else ''}: {d.relation}"
        for d in dependences.all
    ]
    return "\n".join(lines) + "\n"


def _of_tensor(scop: Scop, tensor: str, touching: list[ScopStatement]) -> Iterator[Dependence]:
    if all(s.write.tensor != tensor for s in touching):
        return
    for position, sink in enumerate(touching):
        if sink.part is Part.UPDATE and sink.write.tensor == tensor and sink.is_reduction:
            yield from _with_itself(scop, sink)
        yield from _into(scop, touching[:position], sink, tensor)


def _into(
    scop: Scop, earlier: list[ScopStatement], sink: ScopStatement, tensor: str
) -> Iterator[Dependence]:
    """Dependences on a sink, from the last earlier statement to the first that matters."""
    accesses = _relations(sink, tensor)
    open_ = _elements(accesses)  # { A[a] }, not yet written between source and sink
    for source in reversed(earlier):
        yield from _between(scop, source, sink, tensor, open_)
        if source.write.tensor == tensor:
            open_ = open_.subtract(source.write.relation.range()).coalesce()
            if open_.intersect_params(scop.context).is_empty():
                return


def _between(
    scop: Scop, source: ScopStatement, sink: ScopStatement, tensor: str, elements: isl.Set
) -> Iterator[Dependence]:
    writes, reads = _relations(source, tensor)
    later_writes, later_reads = _relations(sink, tensor)
    kinds = (
        (Kind.FLOW, writes, later_reads),
        (Kind.ANTI, reads, later_writes),
        (Kind.OUTPUT, writes, later_writes),
    )
    for kind, first, second in kinds:
        if first is None or second is None:
            continue
        touched = first.intersect_range(elements)
        relation = touched.apply_range(second.reverse()).intersect_params(scop.context)
        if not relation.is_empty():
            yield Dependence(kind, source.name, sink.name, tensor, relation.coalesce())


def _with_itself(scop: Scop, statement: ScopStatement) -> Iterator[Dependence]:
    """All ordered pairs of instances of an UPDATE that combine into one element."""
    write = statement.write.relation
    same = write.apply_range(write.reverse()).intersect_params(scop.context)
    order = statement.space.identity()
    relation = same.intersect(order.lex_lt_map(order)).coalesce()
    if not relation.is_empty():
        name = statement.name
        for kind in Kind:
            yield Dependence(kind, name, name, statement.write.tensor, relation, relaxed=True)


def _relations(statement: ScopStatement, tensor: str) -> tuple[isl.Map | None, isl.Map | None]:
    write = statement.write.relation if statement.write.tensor == tensor else None
    return write, _union([a for a in statement.reads if a.tensor == tensor])


def _union(accesses: list[Access]) -> isl.Map | None:
    """{ S[i] -> A[a] } of several accesses; None for none."""
    if not accesses:
        return None
    total = accesses[0].guarded
    for access in accesses[1:]:
        total = total.union(access.guarded)
    return total


def _elements(relations: tuple[isl.Map | None, isl.Map | None]) -> isl.Set:
    """{ A[a] } that a statement touches."""
    images = [r.range() for r in relations if r is not None]
    return images[0] if len(images) == 1 else images[0].union(images[1])
