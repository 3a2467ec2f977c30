"""Pictures of tensors: which thread loads, computes with and stores which element."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log2, prod

import numpy as np
from markupsafe import Markup

from tcc.explain.colours import thread_colour
from tcc.explain.facts import KernelFacts
from tcc.explain.markup import element, figure, joined, svg, words
from tcc.explain.quantity import count, digits
from tcc.explain.regions import Cell, path, region_of, regions
from tcc.explain.touched import Touched, elements_of
from tcc.explain.trace import NOWHERE, Kind
from tcc.frontend import tir
from tcc.tune.lanes import Lanes as Array

MOST_CELLS = 192
WIDEST, TALLEST, NARROWEST = 388.0, 400.0, 190.0
FOLDED = 64
NOBODY, SEVERAL = -1, -2
MARGIN = 22.0
ASPECT = 1.5


@dataclass(frozen=True, eq=False)
class _View:
    """The box of a tensor that a block uses, as rows and columns of cells.

    `places` maps an element's offset to its cell; `label` says which box of which tensor.
    """

    rows: int
    columns: int
    places: Mapping[int, tuple[int, int]]
    label: str
    whole: bool


def pictures_of_tensors(
    facts: KernelFacts, program: tir.Program, sizes: Mapping[str, int]
) -> Markup:
    """A picture for every tensor that the block touches at known places."""
    rows = [r for r in facts.touched if r.elements]
    return joined(_picture(row, facts, program.tensors[row.tensor], sizes) for row in rows)


def _picture(
    row: Touched, facts: KernelFacts, tensor: tir.Tensor, sizes: Mapping[str, int]
) -> Markup:
    owner = _owners(row, facts)
    uses = facts.trace.uses.get(row.buffer) if row.kind is Kind.LOAD else None
    elements = np.unique(uses[:, 1]) if uses is not None else np.array(sorted(owner))
    view = _view(tensor, elements, sizes)
    cell = Cell.fitting(view.rows, view.columns, WIDEST, TALLEST).at(0, MARGIN)
    picture = svg(
        max(view.columns * cell.width + 2, NARROWEST),
        view.rows * cell.height + MARGIN + 2,
        element("g", *_base(owner, view, cell, facts.threads), class_=cell.fineness),
        *_uses(uses, view, cell),
        words(0, 12, view.label, class_="small"),
        label=f"which thread touches which element of {row.tensor}",
    )
    verb = "loads" if row.kind is Kind.LOAD else "stores"
    title = f"{row.tensor}: who {verb} what"
    return figure(picture, title, _caption(row, view, owner), "tensor")


def _caption(row: Touched, view: _View, owner: Mapping[int, int]) -> str:
    parts = [f"{count(row.elements, 'element')} of the block"]
    if row.width > 1:
        parts.append(f"{row.width} in one access")
    if row.kind is Kind.LOAD:
        parts.append(row.through)
        parts.append(f"a thread computes with {digits(row.used)} (dashed for one thread)")
        if row.sharing > 1:
            parts.append(f"{digits(row.sharing)} threads share an element")
    if SEVERAL in owner.values():
        parts.append("grey is loaded by several threads")
    if not view.whole:
        parts.append(f"cut at {MOST_CELLS} rows and columns")
    return ", ".join(parts)


def _owners(row: Touched, facts: KernelFacts) -> dict[int, int]:
    """The thread that loads or stores each element from or to global memory; SEVERAL."""
    pairs = []
    for access in facts.trace.accesses:
        if access.buffer.name == row.buffer and access.kind is row.kind:
            elements = elements_of(access)
            threads = np.broadcast_to(np.arange(len(elements))[:, None], elements.shape)
            on = elements != NOWHERE
            pairs.append(np.stack((elements[on], threads[on])))
    elements, threads = np.concatenate(pairs, axis=1)
    order = np.lexsort((threads, elements))
    elements, threads = elements[order], threads[order]
    distinct, first = np.unique(elements, return_index=True)
    last = np.append(first[1:], len(elements)) - 1
    owner = np.where(threads[first] == threads[last], threads[first], SEVERAL)
    return dict(zip(distinct.tolist(), owner.tolist(), strict=True))


def _view(tensor: tir.Tensor, elements: Array, sizes: Mapping[str, int]) -> _View:
    """The bounding box of some elements: the first dimensions down, the others across."""
    shape = [e.evaluate(sizes) for e in tensor.shape] or [1]
    at = np.stack(np.unravel_index(np.minimum(elements, np.prod(shape) - 1), shape))
    low, high = at.min(axis=1), at.max(axis=1) + 1
    extents = high - low
    rows, columns = np.zeros((2, len(elements)), np.int64)
    first = _split([int(e) for e in extents])
    for d, extent in enumerate(extents):
        if d < first:
            rows = rows * extent + at[d] - low[d]
        else:
            columns = columns * extent + at[d] - low[d]
    if not rows.any() and columns.max() >= 2 * FOLDED:
        rows, columns = columns // FOLDED, columns % FOLDED
    label = ", ".join(
        str(a) if b - a == 1 else f"{a}:{b}"
        for a, b in zip(low.tolist(), high.tolist(), strict=True)
    )
    inside = (rows < MOST_CELLS) & (columns < MOST_CELLS)
    cells = zip(columns[inside].tolist(), rows[inside].tolist(), strict=True)
    places = dict(zip(elements[inside].tolist(), cells, strict=True))
    return _View(
        int(rows[inside].max()) + 1,
        int(columns[inside].max()) + 1,
        places,
        f"{tensor.name}[{label}]",
        bool(inside.all()),
    )


def _split(extents: list[int]) -> int:
    """How many of the first dimensions go down, so that the picture is a bit wider than high."""

    def far(d: int) -> float:
        return abs(log2(prod(extents[d:]) / prod(extents[:d])) - log2(ASPECT))

    return min(range(len(extents)), key=far)


def _base(owner: Mapping[int, int], view: _View, cell: Cell, threads: int) -> Iterator[Markup]:
    grid = np.full((view.rows, view.columns), NOBODY, np.int64)
    for at, thread in owner.items():
        if at in view.places:
            column, row = view.places[at]
            grid[row, column] = thread
    yield element(
        "rect",
        x=0,
        y=MARGIN,
        width=view.columns * cell.width,
        height=view.rows * cell.height,
        class_="empty",
    )
    for thread, found in regions(grid).items():
        drawn = path(found, cell)
        if thread == SEVERAL:
            yield element("path", d=drawn, class_="several")
        elif thread != NOBODY:
            yield element(
                "path", d=drawn, fill=thread_colour(thread, threads), class_="t", data_t=thread
            )


def _uses(uses: Array | None, view: _View, cell: Cell) -> Iterator[Markup]:
    """For every thread the outline of what it computes with, shown for one thread at a time."""
    if uses is None:
        return
    mine: dict[int, list[tuple[int, int]]] = {}
    for thread, at in uses.tolist():
        if at in view.places:
            mine.setdefault(thread, []).append(view.places[at])
    for thread, cells in mine.items():
        drawn = path(region_of(cells), cell)
        yield element("path", d=drawn, class_="u", data_t=thread)
