"""Schedule tree to loop structure: kernels, their parallel dimensions, the loops inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tcc.affine import Affine, Extremum, Var, const, maximum, minimum, var
from tcc.frontend.tir import Range
from tcc.sched import tree
from tcc.sched.nest import Dim, Instance, KernelNest, Loop, Nest, Node
from tcc.sched.scop import Part, Scop, ScopStatement


class Unstructured(Exception):
    """The schedule is no nest of loops over single iterators; program order is used instead."""


def structure(scop: Scop, schedule: tree.Node) -> Nest:
    """Cut a schedule tree into kernels and recover its loops.

    Requires: every leaf of the tree orders its statements completely.
    Establishes: every statement instance runs at exactly one point of exactly one kernel; a
    kernel whose statements have left-hand indices has a parallel dimension.
    """
    builder = _Builder(scop)
    kernels: list[_Draft] = []
    notes: list[str] = []
    for names, node in _groups(schedule, tuple(s.name for s in scop.statements)):
        try:
            drafts = [builder.kernel(node, names)]
        except Unstructured as reason:
            notes.append(f"{', '.join(names)}: {reason}; in program order")
            drafts = builder.in_order(names)
        kernels += drafts
    return _finish(scop, _merge_serial(kernels), tuple(notes))


def program_order(scop: Scop) -> Nest:
    """One kernel a statement, in program order: parallel left-hand side, sequential reduction."""
    names = tuple(s.name for s in scop.statements)
    return _finish(scop, _merge_serial(_Builder(scop).in_order(names)), ())


def identity(scop: Scop) -> Nest:
    """The reference: one kernel, one thread, every statement as written."""
    body: list[Node] = []
    for draft in _Builder(scop).in_order(tuple(s.name for s in scop.statements)):
        nodes = draft.body
        for dim in reversed(draft.parallel):
            nodes = (Loop(dim, nodes),)
        body += nodes
    return Nest((KernelNest(f"{scop.program.name}_reference_kernel", (), tuple(body)),))


@dataclass(frozen=True)
class _Draft:
    parallel: tuple[Dim, ...]
    body: tuple[Node, ...]


@dataclass(frozen=True)
class _Point:
    """What the loops above say about each statement: solved iterators and idle loops."""

    solved: Mapping[str, Mapping[str, Affine]]
    values: Mapping[str, Mapping[str, Affine]]
    conditions: Mapping[str, tuple[Affine, ...]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()


def _groups(node: tree.Node, names: tuple[str, ...]) -> list[tuple[tuple[str, ...], tree.Node]]:
    if isinstance(node, tree.Sequence):
        return [g for f in node.children for g in _groups(f.child, f.statements)]
    return [(names, node)]


def _merge_serial(drafts: list[_Draft]) -> list[_Draft]:
    """Neighbours without parallel dimensions share one kernel."""
    merged: list[_Draft] = []
    for draft in drafts:
        if merged and not draft.parallel and not merged[-1].parallel:
            merged[-1] = _Draft((), merged[-1].body + draft.body)
        else:
            merged.append(draft)
    return merged


def _finish(scop: Scop, drafts: list[_Draft], notes: tuple[str, ...]) -> Nest:
    kernels = [KernelNest("", d.parallel, d.body) for d in drafts]
    return Nest(numbered(scop.program.name, kernels), notes)


def numbered(name: str, kernels: Sequence[KernelNest]) -> tuple[KernelNest, ...]:
    """The kernels named after their program, with numbers where there are several."""
    single = len(kernels) == 1
    return tuple(
        replace(k, name=f"{name}_kernel" if single else f"{name}_kernel{number}")
        for number, k in enumerate(kernels)
    )


class _Builder:
    def __init__(self, scop: Scop) -> None:
        self._statements = {s.name: s for s in scop.statements}
        self._taken = frozenset(scop.program.sizes) | frozenset(scop.program.tensors)

    # -- from a schedule tree --------------------------------------------------------------

    def kernel(self, node: tree.Node, names: tuple[str, ...]) -> _Draft:
        start = _Point({n: {} for n in names}, {n: {} for n in names})
        parallel, point, rest = self._parallel(node, names, start)
        if not parallel and any(self._statements[n].source.indices for n in names):
            raise Unstructured("the fused loops leave nothing parallel")
        body = rest(point)
        return _Draft(self._output_order(parallel, names), body)

    def _parallel(
        self, node: tree.Node, names: tuple[str, ...], point: _Point
    ) -> tuple[list[Dim], _Point, Callable[[_Point], tuple[Node, ...]]]:
        """Peel coincident members off nested bands."""
        dims: list[Dim] = []
        while isinstance(node, tree.Band):
            first = next(
                (k for k, m in enumerate(node.members) if not m.coincident), len(node.members)
            )
            taken = [
                m
                for k, m in enumerate(node.members)
                if m.coincident and (node.permutable or k < first)
            ]
            left = [m for m in node.members if m not in taken]
            for member in taken:
                dim, point = self._enter(member, names, point)
                dims.append(_apart(dim, dims))
            if left:
                remaining = tree.Band(tuple(left), node.permutable, node.child)
                return dims, point, lambda p, n=remaining: self._nodes(n, names, p)
            node = node.child
        return dims, point, lambda p, n=node: self._nodes(n, names, p)

    def _nodes(self, node: tree.Node, names: tuple[str, ...], point: _Point) -> tuple[Node, ...]:
        if isinstance(node, tree.Leaf):
            if len(names) != 1:
                raise Unstructured("statements are left unordered")
            return (self._instance(names[0], point),)
        if isinstance(node, tree.Sequence):
            return tuple(
                n for f in node.children for n in self._nodes(f.child, f.statements, point)
            )
        return self._loops(list(node.members), node.child, names, point)

    def _loops(
        self,
        members: list[tree.Member],
        child: tree.Node,
        names: tuple[str, ...],
        point: _Point,
    ) -> tuple[Node, ...]:
        if not members:
            return self._nodes(child, names, point)
        dim, inner = self._enter(members[0], names, point)
        return (Loop(dim, self._loops(members[1:], child, names, inner)),)

    def _enter(
        self, member: tree.Member, names: tuple[str, ...], point: _Point
    ) -> tuple[Dim, _Point]:
        """Turn one band member into a loop variable and solve an iterator of each statement."""
        name = self._dim_name(member, names, point)
        solved = {n: dict(point.solved[n]) for n in names}
        conditions = dict(point.conditions)
        lows: list[Affine] = []
        highs: list[Affine] = []
        for statement in names:
            partial = self._over_loops(statement, member.partial[statement], solved[statement])
            open_ = self._open(statement, partial)
            if not open_:
                conditions[statement] = (
                    *conditions.get(statement, ()),
                    var(name) - partial,
                )
                lows.append(partial)
                highs.append(partial + 1)
                continue
            iterator, sign = self._single(partial, open_)
            rest = partial.without((_own(iterator),))
            solved[statement][iterator] = (var(name) - rest) * sign
            low, high = self._range(statement, iterator, solved[statement])
            lows.append(rest + low if sign > 0 else rest - high + 1)
            highs.append(rest + high if sign > 0 else rest - low + 1)
        dim = Dim(name, minimum(*lows), maximum(*highs), member.coincident)
        values = {n: {**point.values[n], name: member.partial[n]} for n in names}
        return dim, _Point(solved, values, conditions, point.names | {name})

    def _over_loops(self, statement: str, form: Affine, solved: Mapping[str, Affine]) -> Affine:
        """A form over loop variables, and over the iterators that have no loop yet.

        A loop may have the name of another iterator of the statement: those are marked.
        """
        iterators = self._statements[statement].iterators
        return form.substitute({i: solved[i] if i in solved else var(_own(i)) for i in iterators})

    def _open(self, statement: str, partial: Affine) -> list[str]:
        return [i for i in self._statements[statement].iterators if _own(i) in partial.variables]

    def _single(self, partial: Affine, open_: list[str]) -> tuple[str, int]:
        own = _own(open_[0])
        if len(open_) > 1 or abs(partial.coefficient(own)) != 1:
            raise Unstructured("a loop runs over a combination of indices")
        if own in partial.without((own,)).variables:
            raise Unstructured("a loop runs over a quotient of an index")
        return open_[0], partial.coefficient(own)

    def _range(
        self, statement: str, iterator: str, solved: Mapping[str, Affine]
    ) -> tuple[Affine, Affine]:
        """Range of an iterator over the loop variables; open iterators take their extremes."""
        ranges = self._statements[statement].source.ranges
        low, high = ranges[iterator].low, ranges[iterator].high
        for other in reversed(self._statements[statement].iterators):
            if other not in solved:
                low = _extreme(low, other, ranges[other], smallest=True)
                high = _extreme(high, other, ranges[other], smallest=False)
        return self._over_loops(statement, low, solved), self._over_loops(statement, high, solved)

    def _instance(self, name: str, point: _Point) -> Instance:
        statement = self._statements[name]
        missing = [i for i in statement.iterators if i not in point.solved[name]]
        if missing:
            raise Unstructured(f"no loop for {missing[0]}")
        iterators = {i: point.solved[name][i] for i in statement.iterators}
        return Instance(name, iterators, point.values[name], point.conditions.get(name, ()))

    def _dim_name(self, member: tree.Member, names: tuple[str, ...], point: _Point) -> str:
        wanted = "c"
        for statement in names:
            partial = member.partial[statement]
            used = [i for i in self._statements[statement].iterators if i in partial.variables]
            if used:
                wanted = used[-1]
                break
        return fresh(wanted, self._taken | point.names)

    def _output_order(self, parallel: Sequence[Dim], names: tuple[str, ...]) -> tuple[Dim, ...]:
        """Left-hand order of the statement with the most indices: contiguous dimension last."""
        widest = max(
            (self._statements[n].source.indices for n in reversed(names)), key=len, default=()
        )
        place = {name: k for k, name in enumerate(widest)}
        return tuple(sorted(parallel, key=lambda d: place.get(d.name, -1)))

    # -- in program order ------------------------------------------------------------------

    def in_order(self, names: Iterable[str]) -> list[_Draft]:
        """One draft a source statement; an initialisation joins its update."""
        wanted = set(names)
        chosen = [s for s in self._statements.values() if s.name in wanted]
        drafts: list[_Draft] = []
        pending: ScopStatement | None = None
        for statement in chosen:
            if statement.part is Part.INIT:
                pending = statement
                continue
            before = pending if pending and pending.source is statement.source else None
            drafts.append(self._single_statement(statement, before))
            pending = None
        return drafts

    def _single_statement(self, statement: ScopStatement, init: ScopStatement | None) -> _Draft:
        source = statement.source
        dims = [
            Dim(i, source.ranges[i].low, source.ranges[i].high, k < len(source.indices))
            for k, i in enumerate(statement.iterators)
        ]
        own = {i: var(i) for i in statement.iterators}
        nodes: tuple[Node, ...] = (Instance(statement.name, own, own),)
        for dim in reversed(dims[len(source.indices) :]):
            nodes = (Loop(dim, nodes),)
        if init is not None:
            own = {i: var(i) for i in init.iterators}
            nodes = (Instance(init.name, own, own), *nodes)
        return _Draft(tuple(dims[: len(source.indices)]), nodes)


def _own(iterator: str) -> str:
    """The name of an iterator that has no loop yet; no loop has it."""
    return f"{iterator}'"


def _apart(dim: Dim, outer: Iterable[Dim]) -> Dim:
    """The dimension with a range that holds for all values of the parallel ones before it."""
    low, high = dim.low, dim.high
    for other in outer:
        limits = Range(other.low, other.high)
        low = _extreme(low, other.name, limits, smallest=True)
        high = _extreme(high, other.name, limits, smallest=False)
    return replace(dim, low=low, high=high)


def _extreme(bound: Affine, name: str, limits: Range, *, smallest: bool) -> Affine:
    """The least or the largest that a bound can be for all values of an index or loop variable."""
    if name not in bound.variables:
        return bound
    total = const(bound.constant)
    for atom, coefficient in bound.terms:
        part = Affine(((atom, 1),))
        down = (coefficient > 0) == smallest
        if atom == Var(name):
            part = limits.low if down else limits.high - 1
        elif isinstance(atom, Extremum):
            items = (_extreme(i, name, limits, smallest=down) for i in atom.items)
            part = (minimum if atom.kind == "min" else maximum)(*items)
        elif name in part.variables:
            raise Unstructured("a range is no sum of indices")
        total = total + part * coefficient
    return total


def fresh(wanted: str, taken: frozenset[str]) -> str:
    """`wanted`, or the first of `wanted_1`, `wanted_2`, ... that is not taken."""
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
