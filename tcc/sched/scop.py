"""The polyhedral model of a program: domains and access relations of its statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import assert_never

import islpy as isl

from tcc.affine import Affine, Extremum, Floor, Product, Var, var
from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.sched import islx
from tcc.sched.guards import Guard, guarded_reads
from tcc.source import Span


class Part(Enum):
    """What a statement of the model does to its target."""

    ASSIGN = "assign"
    """Stores the value (`=`, and `op=!` without a reduction index)."""

    INIT = "init"
    """Stores the identity of the reduction (`op=!`)."""

    UPDATE = "update"
    """Combines the value into the target (`op=`, `op=!`)."""


@dataclass(frozen=True, eq=False)
class Access:
    """One reference to a tensor, at logical subscripts.

    A dimension whose subscript is None in `subscripts` is no affine form of index variables and
    sizes; the relation then has the tensor's whole extent there. A read below `?:`, `&&` or `||`
    happens only for instances inside `guard`; `guard_exact` is false when the condition depends
    on data (or is too complex), and `guard` then contains more instances than those that read.
    """

    tensor: str
    subscripts: tuple[Affine | None, ...]
    relation: isl.Map  # { S[i, j] -> A[a, b] }, i and j in the statement's domain
    guard: isl.Set | None  # { S[i, j] }
    guard_exact: bool
    accumulates: bool  # the read of its own target that is part of an UPDATE
    span: Span

    @property
    def exact(self) -> bool:
        """Whether every subscript is in the relation as it is."""
        return None not in self.subscripts

    @cached_property
    def guarded(self) -> isl.Map:
        """The relation without the instances that certainly do not read."""
        if self.guard is None:
            return self.relation
        return self.relation.intersect_domain(self.guard)


@dataclass(frozen=True, eq=False)
class ScopStatement:
    """One statement of the model; `op=!` with a reduction index becomes INIT and UPDATE.

    `iterators` are the left-hand indices, then (except for INIT) the reduction indices. The
    first of `reads` of an UPDATE is its own target.
    """

    name: str
    source: tir.Statement
    part: Part
    space: islx.Space
    domain: isl.Set  # { S[i, j] }
    write: Access
    reads: tuple[Access, ...]

    @property
    def iterators(self) -> tuple[str, ...]:
        """Left-hand indices, then reduction indices."""
        return self.space.iterators

    @property
    def parallel(self) -> tuple[str, ...]:
        """The indices whose values may run at the same time, but for other statements.

        The left-hand indices; of an atomic update all, the combined ones first.
        """
        source = self.source
        return source.reductions + source.indices if source.atomic else source.indices

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Reads, then the write."""
        return (*self.reads, self.write)

    @property
    def is_reduction(self) -> bool:
        """Whether several instances combine into one element, one after the other."""
        return len(self.iterators) > len(self.parallel)


@dataclass(frozen=True, eq=False)
class Scop:
    """A program as sets: its statements in program order, all over the same parameters."""

    program: tir.Program
    parameters: islx.Parameters
    context: isl.Set  # { : }, sizes at least 1 and all preconditions
    statements: tuple[ScopStatement, ...]

    @cached_property
    def by_name(self) -> Mapping[str, ScopStatement]:
        """Statements by name, in program order."""
        return {s.name: s for s in self.statements}

    def tensor_bounds(self, tensor: str) -> list[tuple[Affine, Affine]]:
        """Half-open interval of logical indices of each dimension of a tensor."""
        return bounds(self.program.tensors[tensor])

    def tensor_box(self, tensor: str) -> isl.Set:
        """All elements of a tensor, { A[a, b] }."""
        return islx.box(self.parameters, tensor, self.tensor_bounds(tensor))


def build_scop(program: tir.Program) -> Scop:
    """The polyhedral model of a program.

    Requires: the program has passed the front end; each access has the tensor's rank.
    Establishes: every statement has a domain, one exact write relation with distinct index
    variables as subscripts, and a relation for every read.
    """
    parameters = islx.Parameters(program.sizes, _products(program))
    context = parameters.context()
    if program.preconditions:
        texts = [f"{parameters.text(p.expression)} >= 0" for p in program.preconditions]
        context = context.intersect(parameters.set(texts))
    statements = tuple(s for t in program.statements for s in _parts(program, parameters, t))
    return Scop(program, parameters, context, statements)


def bounds(tensor: tir.Tensor) -> list[tuple[Affine, Affine]]:
    """Half-open interval of logical indices of each dimension of a tensor."""
    return [(low, low + extent) for low, extent in zip(tensor.origin, tensor.shape, strict=True)]


def text(scop: Scop) -> str:
    """The model as stable text, one line each for domain, reads and write."""
    lines = [f"context {scop.context}"]
    for s in scop.statements:
        lines += [f"{s.name} {s.part.value}: {s.source.text}", f"  domain {s.domain}"]
        lines += [f"  read {a.guarded}{'' if a.exact else ' (contains)'}" for a in s.reads]
        lines.append(f"  write {s.write.relation}")
    return "\n".join(lines) + "\n"


def _parts(
    program: tir.Program, parameters: islx.Parameters, source: tir.Statement
) -> Iterator[ScopStatement]:
    builder = _Builder(program, parameters, source)
    if source.operator == "=" or (source.initialise and not source.reductions):
        # Without a reduction index, `op=!` combines the identity with one value: the value.
        # As one assignment it may also read the target, before that is overwritten.
        yield builder.statement(source.name, Part.ASSIGN)
        return
    if source.initialise:
        yield builder.statement(f"{source.name}_init", Part.INIT)
    yield builder.statement(source.name, Part.UPDATE)


@dataclass(frozen=True)
class _Builder:
    program: tir.Program
    parameters: islx.Parameters
    source: tir.Statement

    def statement(self, name: str, part: Part) -> ScopStatement:
        source = self.source
        iterators = source.indices if part is Part.INIT else source.indices + source.reductions
        space = islx.Space(self.parameters, name, iterators)
        domain = space.set(self._ranges(space))
        subscripts = tuple(var(i) for i in source.indices)
        write = self._access(space, domain, source.target, subscripts, source.target_span)
        reads: list[Access] = []
        if part is Part.UPDATE:
            reads.append(
                Access(write.tensor, subscripts, write.relation, None, True, True, write.span)
            )
        if part is not Part.INIT:
            reads += [
                self._access(
                    space, domain, r.tensor, tuple(map(affine_form, r.subscripts)), r.span, guard
                )
                for r, guard in guarded_reads(source.value, space)
            ]
        return ScopStatement(name, source, part, space, domain, write, tuple(reads))

    def _ranges(self, space: islx.Space) -> list[str]:
        return [
            f"{space.text(r.low)} <= {space.text(var(i))} < {space.text(r.high)}"
            for i, r in ((i, self.source.ranges[i]) for i in space.iterators)
        ]

    def _access(
        self,
        space: islx.Space,
        domain: isl.Set,
        tensor: str,
        subscripts: Sequence[Affine | None],
        span: Span,
        guard: Guard | None = None,
    ) -> Access:
        box = bounds(self.program.tensors[tensor])
        relation = space.relation(tensor, subscripts, box).intersect_domain(domain)
        return Access(
            tensor,
            tuple(subscripts),
            relation,
            None if guard is None else guard.instances,
            guard is None or guard.exact,
            False,
            span,
        )


def _products(program: tir.Program) -> tuple[Product, ...]:
    """Products of sizes anywhere in the program, in order of first appearance."""
    found: dict[Product, None] = {}
    for expression in _affines(program):
        found.update(dict.fromkeys(products_in(expression)))
    return tuple(found)


def products_in(expression: Affine) -> Iterator[Product]:
    """The products of sizes in an expression, at any depth."""
    for atom, _ in expression.terms:
        match atom:
            case Product():
                yield atom
            case Floor(numerator, _):
                yield from products_in(numerator)
            case Extremum(_, items):
                for item in items:
                    yield from products_in(item)
            case Var():
                pass
            case _:
                assert_never(atom)


def _affines(program: tir.Program) -> Iterator[Affine]:
    for tensor in program.tensors.values():
        yield from (*tensor.shape, *tensor.origin)
    for precondition in program.preconditions:
        yield precondition.expression
    for statement in program.statements:
        for index_range in statement.ranges.values():
            yield from (index_range.low, index_range.high)
        for expression in tir.walk(statement.value):
            form = affine_form(expression)
            if form is not None:
                yield form
