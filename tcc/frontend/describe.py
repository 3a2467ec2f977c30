"""The typed program as text for people: sizes, tensors, and the ranges of every statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tcc.frontend import tir


def describe(program: tir.Program) -> str:
    """Stable text with the user's names, one block for each thing; ends in a newline.

    Ranges are half-open. A tensor whose first element is not element 0 shows its intervals.
    """
    return "\n".join(_lines(program)) + "\n"


def _lines(program: tir.Program) -> Iterator[str]:
    yield f"def {program.name}"
    if program.sizes:
        yield f"  sizes  {', '.join(program.sizes)}"
    tensors = [
        (t.role.value, t.name, t.type.value, shape_text(t)) for t in program.tensors.values()
    ]
    yield from _table(tensors, "  ")
    for statement in program.statements:
        yield ""
        yield f"  {statement.name}  {statement.text}"
        yield from _table([*_ranges(statement)], "      ")
    if program.preconditions:
        yield ""
        yield "  requires"
        conditions = [(str(p), p.reason) for p in program.preconditions]
        yield from _table(conditions, "      ")


def shape_text(tensor: tir.Tensor) -> str:
    """The extents; intervals where the first element is not element 0: `(M, 1:N)`."""
    pairs = zip(tensor.origin, tensor.shape, strict=True)
    parts = [
        str(extent) if lo.is_constant and lo.value == 0 else f"{lo}:{lo + extent}"
        for lo, extent in pairs
    ]
    return f"({', '.join(parts)})"


def _ranges(statement: tir.Statement) -> Iterator[tuple[str, str, str]]:
    for name in statement.indices:
        yield name, _range(statement.ranges[name]), ""
    for name in statement.reductions:
        yield name, _range(statement.ranges[name]), "reduction"


def _range(range_: tir.Range) -> str:
    return f"{range_.low}:{range_.high}"


def _table(rows: Sequence[tuple[str, ...]], indent: str) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield (indent + "  ".join(cells)).rstrip()
