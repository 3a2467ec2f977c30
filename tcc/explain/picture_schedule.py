"""The schedule tree as nested boxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from markupsafe import Markup

from tcc.explain.markup import element
from tcc.sched.tree import Band, Leaf, Node, Sequence


def picture_schedule(node: Node, texts: Mapping[str, str]) -> Markup:
    """The tree; `texts` has what a statement's leaf says."""
    return element("div", _node(node, tuple(texts), texts), class_="tree")


def _node(node: Node, statements: tuple[str, ...], texts: Mapping[str, str]) -> Markup:
    match node:
        case Leaf():
            lines = (element("code", texts[s]) for s in statements)
            return element("div", *lines, class_="leaf")
        case Band(members, permutable, child):
            loops = []
            for member in members:
                values = dict.fromkeys(str(e) for e in member.partial.values())
                kind = "parallel" if member.coincident else "sequential"
                loops.append(element("span", " / ".join(values), class_=kind, title=kind))
            name = "band, permutable" if permutable else "band"
            head = element("div", element("small", name), *loops, class_="loops")
            return element("div", head, _node(child, statements, texts), class_="band")
        case Sequence(children):
            parts = (_node(c.child, c.statements, texts) for c in children)
            return element("div", *(element("div", p) for p in parts), class_="sequence")
        case _:
            assert_never(node)
