"""Shared memory rows without bank conflicts."""

from __future__ import annotations

from collections.abc import Sequence


def choose_padding(row: int, *, transposed: bool, unit: Sequence[int]) -> int:
    """The row length of a shared array: whole vectors, and 4 more elements where the copy
    transposes, so that neighbouring threads do not store to one bank.
    """
    width = max(unit, default=1)
    padded = -(-row // width) * width
    return padded + width if transposed else padded
