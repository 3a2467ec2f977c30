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
    """The schedule is no nest of loops over sums of iterators; program order is used instead."""


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
    """What the loops above say about each statement: solved iterators and idle loops.

    The value of a solved iterator may contain earlier iterators that have no loop yet.
    """

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
        self._sums: dict[str, str] = {}  # the last index in the sum that a loop runs over

    # -- from a schedule tree --------------------------------------------------------------

    def kernel(self, node: tree.Node, names: tuple[str, ...]) -> _Draft:
        start = _Point({n: {} for n in names}, {n: {} for n in names})
        parallel, point, rest = self._parallel(node, names, start)
        if not parallel and any(self._statements[n].parallel for n in names):
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
            first, last = self._solve(statement, name, partial, open_, solved[statement])
            lows.append(first)
            highs.append(last)
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

    def _solve(
        self,
        statement: str,
        name: str,
        partial: Affine,
        open_: list[str],
        solved: dict[str, Affine],
    ) -> tuple[Affine, Affine]:
        """Solve the last open iterator of a sum for the loop variable; the range of the sum."""
        _check_sum(partial, [_own(i) for i in open_])
        iterator = open_[-1]
        own, sign = _own(iterator), partial.coefficient(_own(iterator))
        rest = partial.without((own,))
        low, high = self._range(statement, iterator, solved)
        low, high = self._within(statement, iterator, solved, low, high)
        first, last = (low, high - 1) if sign > 0 else (1 - high, -low)
        first = self._closed(statement, rest + first, solved, smallest=True)
        last = self._closed(statement, rest + last, solved, smallest=False)
        value = (var(name) - rest) * sign
        solved.update({i: at.substitute({own: value}) for i, at in solved.items()})
        solved[iterator] = value
        return first, last + 1

    def _range(
        self, statement: str, iterator: str, solved: Mapping[str, Affine]
    ) -> tuple[Affine, Affine]:
        """Range of an iterator over the loop variables; open iterators take their extremes."""
        limits = self._statements[statement].source.ranges[iterator]
        low = self._over_loops(statement, limits.low, solved)
        high = self._over_loops(statement, limits.high, solved)
        return (
            self._closed(statement, low, solved, smallest=True),
            self._closed(statement, high, solved, smallest=False),
        )

    def _closed(
        self, statement: str, form: Affine, solved: Mapping[str, Affine], *, smallest: bool
    ) -> Affine:
        """The least or the largest value of a form for all values of the open iterators in it."""
        for other in reversed(self._statements[statement].iterators):
            if _own(other) in form.variables:
                limits = Range(*self._range(statement, other, solved))
                form = _extreme(form, _own(other), limits, smallest=smallest)
        return form

    def _within(
        self,
        statement: str,
        iterator: str,
        solved: Mapping[str, Affine],
        low: Affine,
        high: Affine,
    ) -> tuple[Affine, Affine]:
        """The range of an iterator where iterators that hang on it are in their ranges, too."""
        own = _own(iterator)
        for other, value in solved.items():
            sign, rest = value.coefficient(own), value.without((own,))
            if abs(sign) != 1 or self._open(statement, rest):
                continue
            least, end = self._range(statement, other, solved)
            first, last = (least - rest, end - 1 - rest)
            if sign < 0:
                first, last = rest - (end - 1), rest - least
            low, high = maximum(low, first), minimum(high, last + 1)
        return low, high

    def _instance(self, name: str, point: _Point) -> Instance:
        statement = self._statements[name]
        missing = [i for i in statement.iterators if i not in point.solved[name]]
        if missing:
            raise Unstructured(f"no loop for {missing[0]}")
        iterators = {i: point.solved[name][i] for i in statement.iterators}
        return Instance(name, iterators, point.values[name], point.conditions.get(name, ()))

    def _dim_name(self, member: tree.Member, names: tuple[str, ...], point: _Point) -> str:
        """The name of the index that the loop runs over, or of all in a sum."""
        for statement in names:
            partial = member.partial[statement]
            used = [i for i in self._statements[statement].iterators if i in partial.variables]
            if used:
                open_ = [i for i in used if i not in point.solved[statement]]
                if not open_[1:]:
                    return fresh(used[-1], self._taken | point.names)
                name = fresh("_".join(open_), self._taken | point.names)
                self._sums[name] = open_[-1]
                return name
        return fresh("c", self._taken | point.names)

    def _output_order(self, parallel: Sequence[Dim], names: tuple[str, ...]) -> tuple[Dim, ...]:
        """Left-hand order of the statement with the most indices: contiguous dimension last."""
        widest = max((self._statements[n].parallel for n in reversed(names)), key=len, default=())
        place = {name: k for k, name in enumerate(widest)}
        return tuple(sorted(parallel, key=lambda d: place.get(self._sums.get(d.name, d.name), -1)))

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
        inner = [i for i in statement.iterators if i not in statement.parallel]
        parallel, loops = (
            tuple(Dim(i, source.ranges[i].low, source.ranges[i].high, outer) for i in names)
            for names, outer in ((statement.parallel, True), (inner, False))
        )
        own = {i: var(i) for i in statement.iterators}
        nodes: tuple[Node, ...] = (Instance(statement.name, own, own),)
        for dim in reversed(loops):
            nodes = (Loop(dim, nodes),)
        if init is not None:
            own = {i: var(i) for i in init.iterators}
            nodes = (Instance(init.name, own, own), *nodes)
        return _Draft(parallel, nodes)


def _own(iterator: str) -> str:
    """The name of an iterator that has no loop yet; no loop has it."""
    return f"{iterator}'"


def _check_sum(form: Affine, names: Sequence[str]) -> None:
    """A form is a sum of these variables, each once, and of something without them."""
    if form.without(names).variables.intersection(names):
        raise Unstructured("a loop runs over a quotient of an index")
    if any(abs(form.coefficient(n)) != 1 for n in names):
        raise Unstructured("a loop runs over a multiple of an index")


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
