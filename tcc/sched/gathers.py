"""Rows that data picks: how wide a thread reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.sched.model import extent_of
from tcc.sched.nest import Dim, KernelNest, instances
from tcc.sched.reuse import Chain, Operand
from tcc.sched.windows import reads_of

ACCESS_BYTES = 16
WIDTHS = (4, 2, 1)
MANY_ROWS = 64
"""Rows from which one block each fills the SMs about as well as several."""
ROUNDS = (1, 2, 4)
"""Vectors of a row that a thread may have."""


def picks_rows(found: Iterable[Chain]) -> bool:
    """Whether reductions run over rows that a gather picks."""
    return any(True for _ in _rows(found))


def row_digits(
    found: Iterable[Chain], along: Dim, tensors: Mapping[str, tir.Tensor]
) -> tuple[tuple[int, int], ...]:
    """Register digits (outer, inner) along a dimension that walks gathered rows; none if none does.

    The inner digit is the widest access that every row begins at a multiple of; open row lengths
    count as such multiples, since the launcher asks for them.
    """
    widths = [
        w for o in _rows(found) if (w := _width(o, along, tensors[o.tensor].type.bytes)) is not None
    ]
    return tuple((n, max(widths)) for n in ROUNDS) if widths else ()


def whole_rows(found: Iterable[Chain], dims: tuple[Dim, ...]) -> str | None:
    """The last dimension where it walks gathered rows, and whole rows are enough for all SMs.

    A block of whole rows reads their indices once.
    """
    if not dims:
        return None
    name = dims[-1].name
    walks = any(o.forms[-1].coefficient(name) == 1 for o in _rows(found))
    rows = prod(extent_of(d.extent) for d in dims[:-1])
    return name if walks and rows >= MANY_ROWS else None


def copies_rows(kernel: KernelNest, program: tir.Program, along: Dim) -> bool:
    """Whether a dimension walks rows of memory that data picks, in some read."""
    return any(last.coefficient(along.name) == 1 for _, last in picked_rows(kernel, program))


def picked_rows(kernel: KernelNest, program: tir.Program) -> Iterator[tuple[str, Affine]]:
    """The tensors of which data picks rows, and where in these the kernel reads."""
    for instance in instances(kernel.body):
        for read in reads_of(instance, program):
            forms = [affine_form(s) for s in read.subscripts]
            last = forms[-1] if forms else None
            if last is not None and None in forms:
                yield read.tensor, last.substitute(instance.iterators)


def _rows(found: Iterable[Chain]) -> Iterator[Operand]:
    for chain in found:
        for operand in chain.operands:
            if operand.gather is not None and operand.gather.runs_along_memory:
                yield operand


def _width(operand: Operand, along: Dim, element_bytes: int) -> int | None:
    """Elements of the widest access; None where neighbours are not neighbours in memory."""
    *outer, last = operand.forms
    if last.coefficient(along.name) != 1 or any(f.coefficient(along.name) for f in outer):
        return None
    rest, length = last.without((along.name,)), operand.shape[-1]
    steps = [rest.constant, *(c for _, c in rest.terms)]
    if length.is_constant:
        steps.append(length.value)
    most = max(1, ACCESS_BYTES // element_bytes)
    return next(w for w in WIDTHS if w <= most and all(s % w == 0 for s in steps))
