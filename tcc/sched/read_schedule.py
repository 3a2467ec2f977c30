"""isl's schedule tree to plain data."""

from __future__ import annotations

from typing import cast

import islpy as isl

from tcc.errors import InternalError
from tcc.sched import tree
from tcc.sched.islx import set_names
from tcc.sched.scop import Scop

_Type = isl.schedule_node_type


def read_schedule(scop: Scop, schedule: isl.Schedule) -> tree.Filter:
    """The schedule of (some of) the program's statements as a tree over their iterators.

    Establishes: every band has a value for each statement below it, every leaf has one statement;
    what isl leaves unordered is in program order.
    """
    root = schedule.get_root()
    return _Reader(scop).part(root, set_names(root.domain_get_domain()))


class _Reader:
    def __init__(self, scop: Scop) -> None:
        self._spaces = {s.name: s.space for s in scop.statements}
        self._place = {s.name: k for k, s in enumerate(scop.statements)}

    def part(self, node: isl.ScheduleNode, names: tuple[str, ...]) -> tree.Filter:
        ordered = self._ordered(names)
        return tree.Filter(ordered, self._node(node.child(0), ordered))

    def _node(self, node: isl.ScheduleNode, names: tuple[str, ...]) -> tree.Node:
        kind = node_type(node)
        if kind == _Type.leaf:
            each = [tree.Filter((n,), tree.Leaf()) for n in names]
            return tree.in_sequence(each)
        if kind == _Type.band:
            return self._band(node, names)
        if kind in (_Type.sequence, _Type.set):
            parts = [self._filter(node.child(k)) for k in range(node.n_children())]
            if kind == _Type.set:
                parts.sort(key=lambda f: self._place[f.statements[0]])
            return tree.Sequence(tuple(parts))
        raise InternalError(f"a schedule has a node of type {kind}")

    def _filter(self, node: isl.ScheduleNode) -> tree.Filter:
        if node_type(node) != _Type.filter:
            raise InternalError("a child of a sequence is no filter")
        return self.part(node, set_names(node.filter_get_filter()))

    def _band(self, node: isl.ScheduleNode, names: tuple[str, ...]) -> tree.Node:
        count = node.band_n_member()
        below = self._node(node.child(0), names)
        if count == 0:
            return below
        members = tuple(self._member(node, k) for k in range(count))
        return tree.Band(members, bool(node.band_get_permutable()), below)

    def _member(self, node: isl.ScheduleNode, position: int) -> tree.Member:
        pieces = node.band_get_partial_schedule().get_at(position).get_pw_aff_list()
        values = {}
        for k in range(pieces.n_pw_aff()):
            piece = pieces.get_at(k)
            name = str(piece.get_domain_space().get_tuple_name(isl.dim_type.set))
            values[name] = self._spaces[name].affine(piece)
        partial = {name: values[name] for name in self._ordered(tuple(values))}
        return tree.Member(partial, bool(node.band_member_get_coincident(position)))

    def _ordered(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(names, key=lambda n: self._place[n]))


def node_type(node: isl.ScheduleNode) -> isl.schedule_node_type:
    """The node's type, to be asked before its fields: a wrong type answers -1 (islpy says int)."""
    return cast(isl.schedule_node_type, node.get_type())
