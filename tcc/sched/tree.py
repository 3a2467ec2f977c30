"""Schedule trees as plain data: the execution order of a program's statement instances.

node     := Band | Sequence | Leaf
band     := member*, node        loops around everything below, outermost first
sequence := filter*              children one after the other
filter   := statements, node     only these statements go on below
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tcc.affine import Affine, const, var
from tcc.sched.scop import Scop, ScopStatement


@dataclass(frozen=True)
class Member:
    """One loop of a band: for each statement below, its value over iterators and sizes.

    A coincident member carries no dependence: its values may run at the same time.
    """

    partial: Mapping[str, Affine]
    coincident: bool


@dataclass(frozen=True)
class Band:
    """Loops around `child`; the members of a permutable band may be interchanged and tiled."""

    members: tuple[Member, ...]
    permutable: bool
    child: Node

    @property
    def coincident_count(self) -> int:
        """Number of leading coincident members."""
        flags = [m.coincident for m in self.members]
        return flags.index(False) if False in flags else len(flags)


@dataclass(frozen=True)
class Filter:
    """The part of a sequence that runs these statements."""

    statements: tuple[str, ...]
    child: Node


@dataclass(frozen=True)
class Sequence:
    """Children in execution order; their statements are disjoint."""

    children: tuple[Filter, ...]


@dataclass(frozen=True)
class Leaf:
    """Nothing more to order."""


Node: TypeAlias = Band | Sequence | Leaf


def program_order(scop: Scop) -> Node:
    """Source statement after source statement, each with its left-hand indices outermost.

    An initialisation shares the left-hand loops of its update.
    """
    return in_sequence(source_statements(scop))


def source_statements(scop: Scop) -> list[Filter]:
    """Each statement of the source on its own, an initialisation together with its update."""
    clusters: dict[str, list[ScopStatement]] = {}
    for statement in scop.statements:
        clusters.setdefault(statement.source.name, []).append(statement)
    return [
        Filter(tuple(s.name for s in parts), _cluster_loops(parts)) for parts in clusters.values()
    ]


def in_sequence(parts: Iterable[Filter]) -> Node:
    """The parts one after the other; a sequence in a sequence is flattened, of one needs none."""
    flat = flatten(parts)
    return flat[0].child if len(flat) == 1 else Sequence(tuple(flat))


def flatten(parts: Iterable[Filter]) -> list[Filter]:
    """The parts with those of sequences directly below in their place."""
    flat: list[Filter] = []
    for part in parts:
        flat += part.child.children if isinstance(part.child, Sequence) else (part,)
    return flat


def times(node: Node, statements: Iterable[str]) -> dict[str, tuple[Affine, ...]]:
    """The time vector of each statement, all of one length.

    A sequence contributes the position of the child, a band the values of its members.
    """
    vectors = {s: _time(node, s) for s in statements}
    longest = max((len(v) for v in vectors.values()), default=0)
    return {s: v + (const(0),) * (longest - len(v)) for s, v in vectors.items()}


def text(node: Node) -> str:
    """The tree as stable, indented text."""
    return "\n".join(_lines(node)) + "\n"


def own_loops(statement: ScopStatement, done: Container[str] = ()) -> Node:
    """The loops of one statement, without those over `done`: left-hand indices, then reduction.

    Its instances depend on each other only through their accumulation, which has no order.
    """
    left = [i for i in statement.iterators if i not in done]
    outer = [Member({statement.name: var(i)}, True) for i in left if i in statement.parallel]
    inner = [Member({statement.name: var(i)}, False) for i in left if i not in statement.parallel]
    below = Band(tuple(inner), True, Leaf()) if inner else Leaf()
    return Band(tuple(outer), True, below) if outer else below


def _cluster_loops(parts: list[ScopStatement]) -> Node:
    shared = parts[0].parallel
    names = [s.name for s in parts]
    below = in_sequence([Filter((s.name,), own_loops(s, shared)) for s in parts])
    members = tuple(Member(dict.fromkeys(names, var(i)), True) for i in shared)
    return Band(members, True, below) if members else below


def _time(node: Node, statement: str) -> tuple[Affine, ...]:
    match node:
        case Leaf():
            return ()
        case Band(members, _, child):
            return (*(m.partial[statement] for m in members), *_time(child, statement))
        case Sequence(children):
            for position, part in enumerate(children):
                if statement in part.statements:
                    return (const(position), *_time(part.child, statement))
            raise KeyError(statement)
        case _:
            assert_never(node)


def _lines(node: Node) -> Iterator[str]:
    match node:
        case Leaf():
            yield "leaf"
        case Band(members, permutable, child):
            yield "band permutable" if permutable else "band"
            for member in members:
                values = ", ".join(f"{s}: {e}" for s, e in member.partial.items())
                yield f"  {'coincident' if member.coincident else 'sequential'} {values}"
            yield from (f"  {line}" for line in _lines(child))
        case Sequence(children):
            yield "sequence"
            for part in children:
                yield f"  filter {', '.join(part.statements)}"
                yield from (f"    {line}" for line in _lines(part.child))
        case _:
            assert_never(node)
