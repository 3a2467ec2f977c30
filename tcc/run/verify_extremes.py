"""Inputs for minima and maxima: the extreme moves from place to place.

A kernel that loses a part of a minimum gives a wrong result only where the extreme lies in that
part: of a scalar result, one place for each draw. What kernels lose has structure: a thread, a
warp, the first or last turn of a loop, a part of a sum that is cut into parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tcc.frontend import tir
from tcc.run.device import Array
from tcc.run.reference import index_box

PLACES = 128
"""Places that one minimum or maximum should have its extreme at; of shorter ones, all."""
WARP = 32
VECTOR = 4


def reduced_dims(program: tir.Program) -> dict[str, tuple[int, ...]]:
    """By tensor, the dimensions along which a minimum or maximum is taken, of it or of what is
    computed from it; tensors without such a dimension are left out.
    """
    found: dict[str, set[int]] = {}
    for statement in reversed(program.statements):
        along = {statement.indices[d] for d in found.get(statement.target, ())}
        if statement.operator in ("min", "max"):
            along |= set(statement.reductions)
        for read in tir.walk(statement.value):
            if isinstance(read, tir.Read):
                dims = {d for d, s in enumerate(read.subscripts) if _names(s) & along}
                found.setdefault(read.tensor, set()).update(dims)
    return {name: tuple(sorted(dims)) for name, dims in found.items() if dims}


def _names(subscript: tir.Expression) -> set[str]:
    return {e.name for e in tir.walk(subscript) if isinstance(e, tir.Index)}


def longest(program: tir.Program, sizes: Mapping[str, int]) -> int:
    """Terms of the longest minimum or maximum; 0 where there is none."""
    return max((r for _, r in _extents(program, sizes)), default=0)


def draws(program: tir.Program, sizes: Mapping[str, int]) -> int:
    """How many draws put the extreme of every minimum and maximum at enough places.

    Results of one tensor have theirs at different places in the same draw.
    """
    needed = (min(terms, PLACES) / results for results, terms in _extents(program, sizes))
    return math.ceil(max(needed, default=0))


def _extents(program: tir.Program, sizes: Mapping[str, int]) -> list[tuple[int, int]]:
    """Results and terms of each statement that takes a minimum or maximum."""
    found = []
    for statement in program.statements:
        if statement.operator in ("min", "max") and statement.reductions:
            extents = [max(1, high - low) for low, high in index_box(statement, sizes)]
            kept = len(statement.indices)
            found.append((math.prod(extents[:kept]), math.prod(extents[kept:])))
    return found


def place(values: Array, dims: tuple[int, ...], extremes: tuple[float, float], turn: int) -> Array:
    """With the lowest and the highest value once in each slice along `dims`.

    In the first turn those are the first and the last element of the first slice. Neighbouring
    slices are a turn apart.
    """
    if not values.size:
        return values
    kept = [d for d in range(values.ndim) if d not in dims]
    ordered = np.transpose(values, (*kept, *dims))
    slices = ordered.reshape(math.prod(values.shape[d] for d in kept), -1).copy()
    rows, length = np.arange(len(slices)), slices.shape[1]
    turns = turn + rows
    slices[rows, _position(turns ^ 2, length)] = extremes[1]
    slices[rows, _position(turns, length)] = extremes[0]
    return np.transpose(slices.reshape(ordered.shape), np.argsort((*kept, *dims)))


def _position(turns: Array, length: int) -> Array:
    """In turn, an element of another warp from the start on, the same where threads take vectors,
    of another lane from the end on, and of another part.
    """
    if length <= PLACES:
        return turns % length
    k = turns // 4 % WARP
    places = (WARP * k, VECTOR * WARP * k + 1, length - 1 - (WARP + 1) * k, k * length // WARP + k)
    return np.asarray(np.choose(turns % 4, places) % length)
