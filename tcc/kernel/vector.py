"""How many consecutive elements one access may move: alignment proofs."""

from __future__ import annotations

from collections.abc import Sequence

from tcc.affine import Affine
from tcc.kernel import ir
from tcc.kernel.statements import VECTORS


def widths(type: object) -> tuple[int, ...]:
    """The vector widths of an element type, widest first."""
    return tuple(sorted((w for t, w in VECTORS if t is type), reverse=True))


def divides(width: int, form: Affine) -> bool:
    """Whether a form is a multiple of `width` at every point: all its coefficients are."""
    return form.constant % width == 0 and all(c % width == 0 for _, c in form.terms)


def rows_aligned(width: int, shape: Sequence[Affine]) -> bool:
    """Whether every row of a dense array starts at a multiple of `width`."""
    return not shape[:-1] or divides(width, shape[-1])


def access_width(
    buffer: ir.Buffer, index: Sequence[Affine], var: str, extent: int, limit: int = 16
) -> int:
    """The widest access along `var` (0 <= var < extent) at a row-major index.

    `var` must move the last subscript by one and nothing else; what remains must be aligned.
    """
    if not index or index[-1].coefficient(var) != 1:
        return 1
    rest = index[-1].without((var,))
    if var in rest.variables or any(var in i.variables for i in index[:-1]):
        return 1
    for width in widths(buffer.type):
        fits = width <= limit and extent % width == 0 and divides(width, rest)
        if fits and rows_aligned(width, buffer.shape):
            return width
    return 1
