"""The condition that keeps a read inside its tensor, as text to paste."""

from __future__ import annotations

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.scalar import ScalarType
from tcc.source import Span


def guarded_read(
    read: str, tensor: ScalarType, subscript: Affine, bound: Affine, *, is_upper: bool
) -> str:
    """`i + 1 < N ? A(i + 1) : 0`: the read where its subscript is inside, else zero."""
    condition = f"{subscript} < {bound}" if is_upper else f"{subscript} >= {bound}"
    if tensor is ScalarType.BOOL:
        return f"{condition} && {read}"
    return f"{condition} ? {read} : 0"


def in_context(text: str, value: tir.Expression, place: Span) -> str:
    """The text as it may stand in place of a part of a right side; in parentheses if needed."""
    while isinstance(value, tir.Cast):
        value = value.operand
    is_whole = isinstance(value, tir.Read) and value.span == place
    return text if is_whole else f"({text})"
