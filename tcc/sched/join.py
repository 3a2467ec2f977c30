"""Share parallel loops inside a kernel between a statement and the users of its values."""

from __future__ import annotations

from collections.abc import Sequence

from tcc.affine import Affine, Var
from tcc.sched import tree
from tcc.sched.dependences import Dependences
from tcc.sched.legality import no_distance
from tcc.sched.tree import Band, Filter, Leaf, Member, Node


def join_loops(dependences: Dependences, node: Node) -> Node:
    """Join neighbouring parallel bands below a common band, where values pass between them.

    isl is asked for outer loops only; inside, it often leaves `H(j) = b(j)` and `H(j) += ...` in
    two loops over `j`, with all of `H` alive between them.

    Requires: the tree is tidy.
    Establishes: joined bands run over the same ranges, and their dependences have no distance.
    """
    match node:
        case Leaf():
            return node
        case Band(members, permutable, child):
            return Band(members, permutable, _Joiner(dependences).below(child))
        case tree.Sequence(children):
            parts = (Filter(f.statements, join_loops(dependences, f.child)) for f in children)
            return tree.Sequence(tuple(parts))


class _Joiner:
    def __init__(self, dependences: Dependences) -> None:
        self._dependences = dependences
        self._statements = dependences.scop.by_name

    def below(self, node: Node) -> Node:
        """The tree below some band, with its loops joined."""
        match node:
            case Leaf():
                return node
            case Band(members, permutable, child):
                return Band(members, permutable, self.below(child))
            case tree.Sequence(children):
                return tree.in_sequence(self._joined(children))

    def _joined(self, parts: Sequence[Filter]) -> list[Filter]:
        done: list[Filter] = []
        for part in parts:
            both = self._join(done[-1], part) if done else None
            if both is None:
                done.append(part)
            else:
                done[-1] = both
        return [Filter(f.statements, self.below(f.child)) for f in done]

    def _join(self, first: Filter, second: Filter) -> Filter | None:
        a, b = first.child, second.child
        if not isinstance(a, Band) or not isinstance(b, Band) or len(a.members) != len(b.members):
            return None
        names = (*first.statements, *second.statements)
        passes = any(
            d.source in first.statements and d.sink in second.statements
            for d in self._dependences.pairs
        )
        members = [
            Member({**m.partial, **n.partial}, m.coincident and n.coincident)
            for m, n in zip(a.members, b.members, strict=True)
        ]
        if not passes or not all(self._fits(m, names) for m in members):
            return None
        parts = (Filter(first.statements, a.child), Filter(second.statements, b.child))
        return Filter(names, Band(tuple(members), True, tree.in_sequence(parts)))

    def _fits(self, member: Member, names: Sequence[str]) -> bool:
        """Whether this is a parallel loop over one range for all the statements."""
        ranges = {self._range(n, member.partial[n]) for n in names}
        return (
            member.coincident
            and len(ranges) == 1
            and None not in ranges
            and no_distance(self._dependences, names, member.partial)
        )

    def _range(self, name: str, value: Affine) -> tuple[Affine, Affine] | None:
        """Bounds of a loop over a single index; None for others."""
        ranges = self._statements[name].source.ranges
        match value.terms:
            case ((Var(index), 1),) if index in ranges and not value.constant:
                return ranges[index].low, ranges[index].high
            case _:
                return None
