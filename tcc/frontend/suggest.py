"""One "did you mean" at most: the known name that is nearest to a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that differs least, or None where none is near enough to be meant.

    Letter case counts nothing. Otherwise one edit is near enough in a name of three letters, two
    in one of six; an edit inserts, drops, replaces or swaps neighbours.
    """
    allowed = len(name) // 3
    best: tuple[int, str] | None = None
    for candidate in candidates:
        if candidate == name:
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
    """Optimal string alignment distance; `allowed + 1` stands for anything larger."""
    if abs(len(a) - len(b)) > allowed:
        return allowed + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return min(row[-1], allowed + 1)
