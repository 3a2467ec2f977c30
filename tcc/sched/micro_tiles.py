"""Micro-tiles: the dimensions of which a thread has several points, to reuse what it reads.

An element that is read for a point serves all points along the dimensions that its tensor does
not use. A row and a column that differ in that make a tile; where both are short, so that their
points would not fill a block, a third dimension of this kind gets points, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import TypeAlias

from tcc.sched.model import extent_of
from tcc.sched.nest import Dim
from tcc.sched.reuse import Chain, Operand

Digits: TypeAlias = tuple[int, int]
"""Outer and inner register digit."""

DIGITS: tuple[Digits, ...] = ((2, 4), (4, 4), (1, 4), (1, 2), (1, 1))
"""Of the row and of the column."""
DEEP: tuple[Digits, ...] = ((1, 1), (1, 2), (1, 4))
"""Of a third dimension."""
MOST_POINTS = 128
DEEP_POINTS = range(16, 65)
"""Points of a thread in three dimensions."""
SHORT = 64 * 4
"""Points of all rows and columns from which two full warps have four of them each."""


def micro_tiles(
    dims: tuple[Dim, ...], found: tuple[Chain, ...], columns: Iterable[Digits]
) -> Iterator[dict[str, Digits]]:
    """Digits by dimension; the column's first, then those of a row and of a third dimension.

    `columns` are the choices for the column, which is the last dimension.
    """
    column = dims[-1]
    choices = tuple(columns)
    for row in rows_of(dims, found):
        third = _third(dims, row, found)
        for across, down, deep in product(choices, DIGITS, _digits_of(third)):
            points = prod((*across, *down, *deep))
            if points > MOST_POINTS or (row is None and prod(down) > 1):
                continue
            if prod(deep) > 1 and points not in DEEP_POINTS:
                continue
            tile = {column.name: across} | ({} if row is None else {row.name: down})
            yield tile if third is None else {**tile, third.name: deep}


def rows_of(dims: tuple[Dim, ...], found: tuple[Chain, ...]) -> list[Dim | None]:
    """Dimensions whose values share an operand that the column's values do not share."""
    column = dims[-1]
    operands = _operands(found)
    shared = [
        d for d in dims[:-1] if any(o.uses(column.name) and not o.uses(d.name) for o in operands)
    ]
    return list(shared) or list(dims[:-1][-1:]) or [None]


def _third(dims: tuple[Dim, ...], row: Dim | None, found: tuple[Chain, ...]) -> Dim | None:
    """The outermost other dimension along which an operand is the same, where there is need."""
    column = dims[-1]
    if row is None or extent_of(row.extent) * extent_of(column.extent) >= SHORT:
        return None
    others = [d for d in dims if d not in (row, column)]
    operands = [o for o in _operands(found) if o.forms]
    return next((d for d in others if any(not o.uses(d.name) for o in operands)), None)


def _digits_of(third: Dim | None) -> tuple[Digits, ...]:
    if third is None:
        return DEEP[:1]
    return tuple(d for d in DEEP if prod(d) <= extent_of(third.extent))


def _operands(found: tuple[Chain, ...]) -> list[Operand]:
    return [o for c in found for o in c.operands]
