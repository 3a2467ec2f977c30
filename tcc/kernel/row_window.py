"""Rows of windows in registers of a thread: neighbouring points of a stencil share what they read.

The lanes of a thread (its inner digit of the last dimension) read overlapping parts of a row; the
thread fetches the whole part once, in vectors where they are aligned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tcc.affine import Affine, const, var
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.state import State
from tcc.kernel.vector import divides, rows_aligned
from tcc.sched.nest import Instance
from tcc.sched.plan import Staging
from tcc.sched.windows import WindowRow, window_forms, window_rows


@dataclass(frozen=True)
class _Kept:
    """A row in registers: one part for each point of the other register digits that move it.

    `digits` are these with their extents, outermost first. `pieces` are the elements where accesses
    begin, with their widths; `shift` is the place of the first element, so that vectors are aligned
    in the array, too.
    """

    row: WindowRow
    register: ir.Buffer
    digits: tuple[tuple[str, int], ...]
    pieces: tuple[tuple[int, int], ...]
    shift: int

    def place(self, element: Affine) -> tuple[Affine, ...]:
        """Where an element of the row is, for the current point."""
        return (*(var(name) for name, _ in self.digits), element + self.shift)


class RowWindows:
    """The rows that a kernel keeps in registers, and where their elements are."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lanes = state.frame.digits[-1] if state.frame.digits else None
        self._rows: Mapping[tuple[str, tuple[Affine, ...], tuple[int, ...]], _Kept] = {
            (r.tensor, r.forms, r.at): self._kept(r) for r in self._wanted()
        }

    def fetch(self) -> list[ir.Statement]:
        """Declarations, and loads of every element inside the tensors; zero for the others."""
        result: list[ir.Statement] = []
        for kept in self._rows.values():
            result += [ir.Declare(kept.register), *self._fetch(kept)]
        return result

    def load(self, read: tir.Read, instance: Instance) -> ir.Expression | None:
        """The element of a read from its row; None where that is not in registers."""
        state, lanes = self._state, self._lanes
        if not self._rows or lanes is None or lanes.inner is None:
            return None
        forms = window_forms(read, instance, state.nest, state.context.program)
        if not forms:
            return None
        *at, last = (f.constant for f in forms)
        kept = self._rows.get((read.tensor, tuple(f - f.constant for f in forms), tuple(at)))
        if kept is None:
            return None
        return ir.Load(kept.register, kept.place(var(lanes.inner) + (last - kept.row.low)))

    def _wanted(self) -> list[WindowRow]:
        """The rows along the lanes of tensors that the plan keeps in registers."""
        state, lanes = self._state, self._lanes
        tensors = {t for t, s in state.plan.staging if s is Staging.REGISTER}
        if lanes is None or lanes.inner is None or state.plan.row is not None or not tensors:
            return []
        along = lanes.dim.name
        return [
            r
            for r in window_rows(state.nest, state.context.program)
            if r.tensor in tensors
            and r.forms[-1].coefficient(along) == 1
            and not any(f.coefficient(along) for f in r.forms[:-1])
        ]

    def _kept(self, row: WindowRow) -> _Kept:
        state, lanes = self._state, self._lanes
        digits = tuple(
            digit
            for d in state.frame.digits
            if any(f.coefficient(d.dim.name) for f in row.forms)
            for digit in d.registers
            if lanes is None or digit[0] != lanes.inner
        )
        pieces = tuple(self._pieces(row))
        first, widest = max(pieces, key=lambda piece: piece[1])
        shift = -first % widest
        used = sum(width for _, width in pieces) + shift
        length = -(-used // widest) * widest
        name = state.names.fresh(f"row_{row.tensor}")
        type = state.buffer(row.tensor).type
        shape = (*(const(extent) for _, extent in digits), const(length))
        register = ir.Buffer(name, ir.Space.PRIVATE, type, shape)
        return _Kept(row, register, digits, pieces, shift)

    def _pieces(self, row: WindowRow) -> Iterator[tuple[int, int]]:
        """The elements of a row, as many at a time as their alignment allows."""
        element, length = 0, row.high - row.low + (self._lanes.plan.inner if self._lanes else 1)
        while element < length:
            width = self._width(row, element, length)
            yield element, width
            element += width

    def _fetch(self, kept: _Kept) -> list[ir.Statement]:
        """The pieces of a row at every point of the digits that move it."""
        body = [each for piece in kept.pieces for each in self._piece(kept, *piece)]
        for name, extent in reversed(kept.digits):
            body = [ir.For(name, const(0), const(extent), 1, True, tuple(body))]
        return body

    def _place(self, row: WindowRow, element: int) -> tuple[Affine, ...]:
        """Storage subscripts of an element of the row, counted from its first."""
        lanes = self._lanes
        zero = {lanes.inner: const(0)} if lanes is not None and lanes.inner is not None else {}
        offsets = (*row.at, row.low + element)
        return tuple(
            self._state.points.at(f + o).substitute(zero)
            for f, o in zip(row.forms, offsets, strict=True)
        )

    def _width(self, row: WindowRow, element: int, length: int) -> int:
        source = self._state.buffer(row.tensor)
        last = self._place(row, element)[-1]
        for width in self._state.widths(source.type):
            whole = divides(width, source.shape[-1]) and rows_aligned(width, source.shape)
            if element + width <= length and whole and divides(width, last):
                return width
        return 1

    def _piece(self, kept: _Kept, element: int, width: int) -> list[ir.Statement]:
        """A vector of a row: as its length divides the tensor's, it is inside or outside whole."""
        source = self._state.buffer(kept.row.tensor)
        place = self._place(kept.row, element)
        into = kept.place(const(element))
        move: ir.Statement = ir.Store(kept.register, into, ir.Load(source, place))
        if width > 1:
            move = ir.VectorMove(kept.register, into, source, place, width)
        inside = [
            condition
            for at, extent in zip(place, source.shape, strict=True)
            for condition in (at, extent - 1 - at)
        ]
        wanted = self._state.points.unproved(inside)
        if not wanted:
            return [move]
        zero = ir.Const(0, kept.register.type)
        lanes = (kept.place(const(element + k)) for k in range(width))
        zeros = (ir.Store(kept.register, place, zero) for place in lanes)
        return [ir.If(tuple(wanted), (move,), tuple(zeros))]
