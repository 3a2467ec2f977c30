"""Rewrite isl's schedule tree into the form that mapping expects, without changing its loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tcc.affine import Affine, const
from tcc.sched import tree
from tcc.sched.dependences import Dependences
from tcc.sched.legality import no_distance
from tcc.sched.loop_form import PLAIN, LoopForm, LoopForms, factors_of
from tcc.sched.tree import Band, Filter, Leaf, Member, Node

Done = Mapping[str, frozenset[str] | None]
"""By statement, the iterators that loops further out decide; None where that is not clear.

A loop over a sum of iterators decides the last of them, once the others have loops.
"""


def tidy(
    dependences: Dependences, node: Node, forms: LoopForms = PLAIN, *, share: bool = True
) -> Node:
    """Separate what isl interleaves in one loop only by shifting it.

    isl orders the phases of a fused group by offsets in a sequential member, `j` and `N + j` and
    `2*N + j`; a loop over all of it would run mostly idle. Without `share`, no two statements keep
    a sequential loop in common. `forms` says which parallel and which sequential loops statements
    may share.

    Requires: the tree keeps every dependence.
    Establishes: parallel members are in bands outside of sequential ones; the statements of a
    sequential band run over the same range; a statement that shares no more loops has its own
    ones as in the source; the parts of a sequence are in program order as far as dependences let.
    """
    names = [s.name for s in dependences.scop.statements]
    return _Tidier(dependences, forms, share).node(node, names, dict.fromkeys(names, frozenset()))


class _Tidier:
    def __init__(self, dependences: Dependences, forms: LoopForms, share: bool) -> None:
        self._dependences = dependences
        self._forms = forms
        self._share = share
        self._statements = dependences.scop.by_name
        self._place = {s: k for k, s in enumerate(self._statements)}

    def node(self, node: Node, names: Sequence[str], done: Done) -> Node:
        alone = done[names[0]] if len(names) == 1 else None
        if alone is not None:
            return tree.own_loops(self._statements[names[0]], alone)
        if isinstance(node, Leaf):
            return node
        if isinstance(node, tree.Sequence):
            parts = [
                Filter(f.statements, self.node(f.child, f.statements, done)) for f in node.children
            ]
            return tree.in_sequence(self._in_program_order(tree.flatten(parts)))
        return self._band(node.members, node.permutable, node.child, names, done)

    def _band(
        self,
        members: Iterable[Member],
        permutable: bool,
        child: Node,
        names: Sequence[str],
        done: Done,
    ) -> Node:
        """The parallel members outside, and below them the sequential ones."""
        parallel: list[Member] = []
        sequential: list[Member] = []
        for member in members:
            free = member.coincident and self._has_outer_form(member.partial)
            outer = free and (permutable or not sequential)
            (parallel if outer else sequential).append(member)
        inside = self._after(parallel, names, done)
        below = self._inner(sequential, permutable, child, names, inside)
        if not parallel:
            return below
        if isinstance(below, Band) and below.coincident_count == len(below.members):
            return Band((*parallel, *below.members), True, below.child)
        return Band(tuple(parallel), True, below)

    def _inner(
        self,
        members: Sequence[Member],
        permutable: bool,
        child: Node,
        names: Sequence[str],
        done: Done,
    ) -> Node:
        """Below parallel loops: first those that only their form keeps from being parallel."""
        shared = [m for m in members if permutable and m.coincident and self._is_shared(m, names)]
        if not shared:
            return (
                self._sequential(members, permutable, child, names, done)
                if members
                else self.node(child, names, done)
            )
        rest = [m for m in members if m not in shared]
        below = self._inner(rest, permutable, child, names, self._after(shared, names, done))
        loops = [found for m in shared if (found := self._loop(m, names)) is not None]
        return Band(tuple(loops), True, below) if loops else below

    def _is_shared(self, member: Member, names: Sequence[str]) -> bool:
        """Whether several statements run over the same range in a loop."""
        shapes = {self._shape(n, member.partial[n]) for n in names}
        return self._share and len(names) > 1 and len(shapes) == 1 and shapes.isdisjoint(names)

    def _has_outer_form(self, partial: Mapping[str, Affine]) -> bool:
        return all(self._allows(self._forms.outer, n, value) for n, value in partial.items())

    def _allows(self, form: LoopForm, name: str, value: Affine) -> bool:
        """Whether a loop of this form may run over a statement's value."""
        factors = factors_of(value - self._shift(name, value))
        return factors is not None and form.allows(factors)

    def _sequential(
        self,
        members: Sequence[Member],
        permutable: bool,
        child: Node,
        names: Sequence[str],
        done: Done,
    ) -> Node:
        """One band for each group of statements that share their sequential loops."""
        parts = []
        for group in self._groups(members, names):
            loops = [found for m in members if (found := self._loop(m, group)) is not None]
            inside = _below(child, group)
            if not loops or (len(group) == 1 and done[group[0]] is not None):
                made = self.node(inside, group, done)
            elif any(m.coincident for m in loops):
                made = self._band(loops, permutable, inside, group, done)
            else:
                deeper = self.node(inside, group, self._after(loops, group, done))
                made = Band(tuple(loops), permutable, deeper)
            parts.append(Filter(tuple(group), made))
        return tree.in_sequence(self._in_program_order(tree.flatten(parts)))

    def _after(self, members: Sequence[Member], names: Sequence[str], done: Done) -> Done:
        """What is done below these loops."""
        inside = dict(done)
        for member in members:
            for name in names:
                before = inside[name]
                inside[name] = None if before is None else self._decided(name, member, before)
        return inside

    def _decided(self, name: str, member: Member, before: frozenset[str]) -> frozenset[str] | None:
        """The iterators that are decided below a loop, with those decided before."""
        value = member.partial[name]
        moving = value - self._shift(name, value)
        factors = factors_of(moving)
        if factors is None or any(abs(f) != 1 for f in factors):
            return None
        if not factors:
            return before
        new = [i for i in self._statements[name].iterators if i in moving.variables - before]
        return before | {new[-1]} if new else None

    def _loop(self, member: Member, group: Sequence[str]) -> Member | None:
        """The member for one group, without its offset; None where nothing varies in it."""
        shift = self._shift(group[0], member.partial[group[0]])
        partial = {n: member.partial[n] - shift for n in group}
        if all(v == const(0) for v in partial.values()):
            return None
        apart = member.coincident or no_distance(self._dependences, group, partial)
        return Member(partial, apart and self._has_outer_form(partial))

    def _shift(self, name: str, value: Affine) -> Affine:
        """The part of a value that is the same for all instances."""
        iterators = set(self._statements[name].iterators)
        fixed = tuple((a, c) for a, c in value.terms if not Affine(((a, 1),)).variables & iterators)
        return Affine(fixed, value.constant)

    def _groups(self, members: Sequence[Member], names: Sequence[str]) -> list[list[str]]:
        """Statements with equal loops together, where no other one must run between them."""
        groups: list[list[str]] = []
        shapes: list[object] = []
        for name in sorted(names, key=self._place.__getitem__):
            shape = [self._shape(name, m.partial[name]) for m in members]
            shared = self._share and any(isinstance(part, tuple) for part in shape)
            alike = [k for k, other in enumerate(shapes) if shared and other == shape]
            between = self._before([name], groups) if alike else set()
            fits = [
                k
                for k in alike
                if not any(k in self._before(groups[h], groups) for h in between - {k})
            ]
            if fits:
                groups[fits[-1]].append(name)
            else:
                groups.append([name])
                shapes.append(shape)
        return groups

    def _before(self, names: Sequence[str], groups: Sequence[Sequence[str]]) -> set[int]:
        """Positions of the groups that feed these statements, directly or not."""
        found: set[int] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            feeding = [k for k, g in enumerate(groups) if k not in found and self._feeds(g, name)]
            found.update(feeding)
            pending += [s for k in feeding for s in groups[k]]
        return found

    def _feeds(self, group: Sequence[str], name: str) -> bool:
        return any(d.source in group and d.sink == name for d in self._dependences.pairs)

    def _shape(self, name: str, value: Affine) -> object:
        """Equal for statements that share the loop: same first and last value."""
        shift = self._shift(name, value)
        if value == shift:
            return shift
        if not self._allows(self._forms.inner, name, value):
            return name
        first, last = shift, shift
        for index, factor in ((i, value.coefficient(i)) for i in value.variables):
            limits = self._statements[name].source.ranges.get(index)
            if limits is not None:
                ends = limits.low * factor, (limits.high - 1) * factor
                first, last = first + ends[factor < 0], last + ends[factor > 0]
        return first, last

    def _in_program_order(self, parts: Sequence[Filter]) -> list[Filter]:
        """A topological order that always takes the part with the earliest statement next."""
        waiting = sorted(parts, key=lambda f: self._place[f.statements[0]])
        ordered: list[Filter] = []
        while waiting:
            ready = next(f for f in waiting if not self._blocked(f, waiting))
            waiting.remove(ready)
            ordered.append(ready)
        return ordered

    def _blocked(self, part: Filter, waiting: Sequence[Filter]) -> bool:
        return any(
            d.sink in part.statements and any(d.source in w.statements for w in waiting)
            for d in self._dependences.pairs
            if d.source not in part.statements
        )


def _restricted(member: Member, names: Iterable[str]) -> Member:
    return replace(member, partial={n: member.partial[n] for n in names})


def _below(node: Node, names: Sequence[str]) -> Node:
    """The part of a tree that concerns these statements."""
    if isinstance(node, Leaf):
        return node
    if isinstance(node, Band):
        members = tuple(_restricted(m, names) for m in node.members)
        return Band(members, node.permutable, _below(node.child, names))
    kept = [(f, [s for s in f.statements if s in names]) for f in node.children]
    return tree.in_sequence(Filter(tuple(s), _below(f.child, s)) for f, s in kept if s)
