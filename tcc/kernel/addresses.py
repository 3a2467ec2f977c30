"""Subscripts put together where that makes an address shorter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tcc.affine import Affine, Floor
from tcc.kernel import ir

Index: TypeAlias = Affine | ir.Expression
LARGEST = 2**31 - 1


def merge_rows(
    shape: Sequence[Affine], index: Sequence[Index]
) -> tuple[tuple[Affine, ...], tuple[Index, ...]]:
    """Shape and subscripts with neighbouring dimensions as one where their divisions cancel.

    `A[x / 8][x % 8]` of rows of 8 is `A[x]`: threads that walk several loops as one do not
    compute a quotient and a remainder to multiply them again.
    """
    extents, subscripts = list(shape), list(index)
    for dim in range(len(extents) - 1, 0, -1):
        outer, inner = subscripts[dim - 1], subscripts[dim]
        if not (isinstance(outer, Affine) and isinstance(inner, Affine)):
            continue
        whole = outer * extents[dim] + inner
        rows = extents[dim - 1] * extents[dim]
        fits = rows.is_constant and rows.value <= LARGEST
        if fits and _divisions(whole) < _divisions(outer) + _divisions(inner):
            extents[dim - 1 : dim + 1] = [rows]
            subscripts[dim - 1 : dim + 1] = [whole]
    return tuple(extents), tuple(subscripts)


def _divisions(form: Affine) -> int:
    return sum(isinstance(atom, Floor) for atom, _ in form.terms)
