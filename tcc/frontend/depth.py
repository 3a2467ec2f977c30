"""How deep a syntax tree may be, and the room on the Python stack that passes get for it."""

from __future__ import annotations

import sys

from tcc.frontend.ast import Expression, children

MAX_NESTING = 200
"""Levels of parentheses, calls, casts, unary operators and conditionals in the text. clang
gives up at 256 levels of brackets."""
MAX_DEPTH = 320
"""Nodes on the longest path of an expression; an unparenthesised sum of n terms has depth n."""
RECURSION_LIMIT = 5000
"""Python frames: enough for a pass with six frames a level on a typed tree, where a cast can stand
between any two levels. At this depth comparing, hashing or copying a tree needs 3 MB of C stack."""


def make_room() -> None:
    """Raise Python's recursion limit, so that recursive passes need not think of it."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))


def too_deep(expression: Expression) -> Expression | None:
    """The first subexpression (left to right, inside out) deeper than MAX_DEPTH, if any.

    Uses no recursion: the expression may have any depth.
    """
    depth: dict[int, int] = {}
    pending = [(expression, False)]
    while pending:
        node, ready = pending.pop()
        below = children(node)
        if not ready:
            pending.append((node, True))
            pending += [(child, False) for child in reversed(below)]
            continue
        depth[id(node)] = 1 + max((depth[id(child)] for child in below), default=0)
        if depth[id(node)] > MAX_DEPTH:
            return node
    return None
