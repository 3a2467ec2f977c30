"""One "did you mean" at most: the known name that is nearest to a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

LONGEST = 100
"""Letters of a name that is compared; names may be as long as a file."""
MOST_EDITS = 4
MOST_CANDIDATES = 300
"""A file of thousands of broken defs has as many unknown names, and an editor waits for all."""


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that differs least, or None where none is near enough to be meant.

    Letter case counts nothing. Otherwise one edit is near enough in a name of three letters, two
    in one of six, at most `MOST_EDITS`; an edit inserts, drops, replaces or swaps neighbours.
    Names of more than `LONGEST` letters, and candidates behind the first `MOST_CANDIDATES` are not
    looked at.
    """
    allowed = min(len(name) // 3, MOST_EDITS)
    if len(name) > LONGEST:
        return None
    best: tuple[int, str] | None = None
    for candidate in islice(candidates, MOST_CANDIDATES):
        if candidate == name or len(candidate) > LONGEST:
            continue
        distance = _distance(name.lower(), candidate.lower(), allowed)
        if distance <= allowed and (best is None or distance < best[0]):
            best = distance, candidate
    return None if best is None else best[1]


def suggestion(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """The help line for a misspelt name, or nothing."""
    found = closest(name, candidates)
    return () if found is None else (f"did you mean `{found}`?",)


def element_form(tensor: str, rank: int) -> str:
    """An element of a tensor as it may be written: `A(i, j)`."""
    letters = [*"ijklpqrs", *(f"i{k}" for k in range(rank))][:rank]
    return f"{tensor}({', '.join(letters)})" if rank else tensor


def _distance(a: str, b: str, allowed: int) -> int:
    """Optimal string alignment distance; `allowed + 1` stands for anything larger.

    Only cells within `allowed` of the diagonal are looked at, since all others are larger.
    """
    far = allowed + 1
    if abs(len(a) - len(b)) > allowed or len(set(a).symmetric_difference(b)) > 2 * allowed:
        return far
    older, before = [far] * (len(b) + 1), [min(j, far) for j in range(len(b) + 1)]
    for i, x in enumerate(a, 1):
        row = [far] * (len(b) + 1)
        row[0] = min(i, far)
        for j in range(max(1, i - allowed), min(len(b), i + allowed) + 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != b[j - 1]))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == b[j - 1]:
                cost = min(cost, older[j - 2] + 1)
            row[j] = min(cost, far)
        older, before = before, row
    return before[-1]
