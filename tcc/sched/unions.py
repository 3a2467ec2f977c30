"""Unions of thousands of isl values: each step copies what it has, so portions are joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import islpy as isl

U = TypeVar("U", isl.UnionSet, isl.UnionMap)
_PORTION = 1000
"""Values that are joined one after the other."""


def joined(empty: U, parts: Sequence[U]) -> U:
    """The union of all parts; `empty` has the parameters."""
    if len(parts) > _PORTION:
        portions = [parts[k : k + _PORTION] for k in range(0, len(parts), _PORTION)]
        parts = [joined(empty, portion) for portion in portions]
    total = empty
    for part in parts:
        total = total.union(part)
    return total
