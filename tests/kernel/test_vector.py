"""Alignment proofs: no vector that could be misaligned or leave its row."""

from __future__ import annotations

import pytest

from tcc.affine import Affine, const, var
from tcc.kernel import ir
from tcc.kernel.vector import access_width, divides, rows_aligned, widths
from tcc.scalar import ScalarType as T

V, ROW, N = var("v"), var("t"), var("N")


def test_widths() -> None:
    assert widths(T.FLOAT32) == (4, 2)
    assert widths(T.FLOAT64) == (2,)
    assert widths(T.FLOAT16) == (4, 2)
    assert widths(T.INT8) == (4,)
    assert widths(T.BOOL) == ()


@pytest.mark.parametrize(
    ("width", "form", "whole"),
    [(4, V * 4 + 8, True), (4, V * 4 + 2, False), (4, V * 2, False), (2, N * 6, True)],
)
def test_divides(width: int, form: Affine, whole: bool) -> None:
    assert divides(width, form) is whole


def test_rows() -> None:
    assert rows_aligned(4, (N,))
    assert rows_aligned(4, (N, const(8)))
    assert not rows_aligned(4, (N, const(6)))
    assert rows_aligned(4, (N, N * 4))


def width(shape: tuple[Affine, ...], *index: Affine, extent: int = 4, limit: int = 16) -> int:
    buffer = ir.Buffer("A", ir.Space.GLOBAL, T.FLOAT32, shape)
    return access_width(buffer, index, "v", extent, limit)


def test_access_widths() -> None:
    rows = (N, const(12))
    assert width(rows, ROW, ROW * 4 + V) == 4
    assert width(rows, ROW, ROW * 2 + V) == 2
    assert width(rows, ROW, ROW + V) == 1
    assert width(rows, ROW, ROW * 4 + V + 1) == 1
    assert width(rows, ROW, ROW * 4 + V, extent=6) == 2
    assert width(rows, ROW, ROW * 4 + V, limit=2) == 2
    assert width((N, N), ROW, ROW * 4 + V) == 1, "rows of open length"
    assert width((N,), ROW * 4 + V) == 4
    assert width(rows, V, ROW * 4 + V) == 1, "moves two subscripts"
    assert width(rows, ROW, V * 2) == 1
    assert width(rows, ROW, V + V // 2) == 1
    assert width((), extent=4) == 1
