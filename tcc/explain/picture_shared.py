"""Pictures of shared memory: the bank of every element, and what one warp asks of the banks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from markupsafe import Markup

from tcc.explain.banks import Site, sites
from tcc.explain.colours import thread_colour
from tcc.explain.facts import KernelFacts
from tcc.explain.markup import Child, element, figure, joined, rect, svg, table, words
from tcc.explain.quantity import count
from tcc.explain.regions import Cell, path, region_of, regions
from tcc.explain.trace import NOWHERE, OFFSET_BITS, Kind
from tcc.kernel import ir
from tcc.tune.lanes import BANK_BYTES, BANKS
from tcc.tune.lanes import Lanes as Array

CELL = 12.0
MOST_ROWS = 72
LEFT, TOP = 40.0, 78.0
WORD = Cell(CELL, CELL, LEFT, TOP)
BAR = 34.0
EMPTY = -1


def pictures_of_shared(facts: KernelFacts) -> Markup:
    """A picture for every shared array of a kernel that holds copies of a tensor."""
    arrays = [b for b in facts.kernel.shared if b.name in facts.trace.sources]
    return joined(_picture(b, facts) for b in arrays)


def _picture(buffer: ir.Buffer, facts: KernelFacts) -> Markup:
    codes, fillers = facts.trace.filled[buffer.name]
    length = buffer.shape[-1].value
    stages = ir.elements(buffer) // length
    codes, fillers = codes[:length], fillers[:length]
    rows = -(-length * buffer.type.bytes // (BANKS * BANK_BYTES))
    shown = min(rows, MOST_ROWS)
    places = sites(buffer, facts.trace)
    picture = svg(
        LEFT + BANKS * CELL + 2,
        TOP + shown * CELL + 2,
        *_frame(shown),
        element("g", *_elements(buffer, codes, fillers, shown, facts.threads)),
        _offsets(codes),
        *(_asked(k, site, shown) for k, site in enumerate(places)),
        label=f"the banks of {buffer.name}",
    )
    tensor = facts.names[facts.trace.sources[buffer.name]]
    caption = (
        f"{count(length, 'element')} a stage, {count(stages, 'stage')}; a row is "
        f"{BANKS * BANK_BYTES} bytes. Colours say which thread stores an element, hatched "
        "places are padding."
    )
    if shown < rows:
        caption += f" The first {shown} of {rows} rows."
    aside = element("div", _table(places), element("output", _HINT, class_="place"))
    body = element(
        "div",
        picture,
        aside,
        class_="beside",
        data_name=tensor,
        data_shape=",".join(map(str, _shape(buffer, facts))),
        data_bytes=buffer.type.bytes,
        data_frame=f"{LEFT},{TOP},{CELL}",
    )
    return figure(body, f"{buffer.name}: the bank of every element of {tensor}", caption)


_HINT = "Point at a place to see its element and its bank."


def _shape(buffer: ir.Buffer, facts: KernelFacts) -> list[int]:
    """Extents of the tensor that a shared array has copies of."""
    name = facts.trace.sources[buffer.name]
    source = next(b for b in facts.kernel.buffers if b.name == name)
    return [e.evaluate(facts.sizes) for e in source.shape]


def _frame(rows: int) -> Iterator[Markup]:
    yield words(LEFT, 12, "distinct words a bank is asked for by one warp", class_="small")
    for bank in range(0, BANKS, 4):
        x = LEFT + (bank + 0.5) * CELL
        yield words(x, TOP - 4, str(bank), text_anchor="middle", class_="small")
    for row in range(0, rows, 8):
        yield words(
            LEFT - 4, TOP + (row + 0.8) * CELL, str(row * BANKS), text_anchor="end", class_="small"
        )
    yield rect(LEFT, TOP, BANKS * CELL, rows * CELL, class_="padding")


def _elements(
    buffer: ir.Buffer, codes: Array, fillers: Array, rows: int, threads: int
) -> Iterator[Markup]:
    """Every element in the colour of the thread that stored it; two banks for 8 bytes."""
    per_word = max(1, BANK_BYTES // buffer.type.bytes)
    parts = max(1, buffer.type.bytes // BANK_BYTES)
    words_ = np.repeat(np.where(codes == NOWHERE, EMPTY, fillers), parts)[::per_word]
    grid = np.full(-(-len(words_) // BANKS) * BANKS, EMPTY, np.int64)
    grid[: len(words_)] = words_
    for thread, found in regions(grid.reshape(-1, BANKS)[:rows]).items():
        if thread != EMPTY:
            yield element(
                "path",
                d=path(found, WORD),
                fill=thread_colour(thread, threads),
                class_="t",
                data_t=thread,
            )


def _offsets(codes: Array) -> Markup:
    """The element of the tensor at every place, for the reader who points at one."""
    offsets = np.where(codes == NOWHERE, EMPTY, codes & ((1 << OFFSET_BITS) - 1))
    return element("metadata", ",".join(map(str, offsets.tolist())), class_="offsets")


def _asked(number: int, site: Site, rows: int) -> Markup:
    """What one warp touches at a site, and how often each bank: hidden but for one site."""
    inside = [(w % BANKS, w // BANKS) for w in site.words if w // BANKS < rows]
    counts = np.bincount(np.array(site.words, np.int64) % BANKS, minlength=BANKS)
    high = max(1, int(counts.max()))
    bars = (
        rect(
            LEFT + bank * CELL + 1,
            TOP - 18 - BAR * n / high,
            CELL - 2,
            BAR * n / high,
            class_="bar worse" if n > site.least else "bar",
        )
        for bank, n in enumerate(counts.tolist())
        if n
    )
    scale = words(LEFT - 4, TOP - 18 - BAR + 8, str(high), text_anchor="end", class_="small")
    cells = path(region_of(inside), WORD) if inside else ""
    return element(
        "g",
        element("path", d=cells, class_="asked"),
        *bars,
        scale,
        class_="site on" if number == 0 else "site",
        data_site=number,
    )


def _table(places: Sequence[Site]) -> Markup:
    """The sites, with the turns that a warp takes; the picture shows the one that is chosen."""
    rows = (
        (
            element("button", _name(site), data_site=k, class_="on" if k == 0 else None),
            str(site.turns),
            str(site.least),
            _verdict(site),
        )
        for k, site in enumerate(places)
    )
    return table(("one warp", "turns", "at best", ""), rows, "sites")


def _name(site: Site) -> str:
    verb = "stores" if site.kind is Kind.STORE else "loads"
    return f"{verb}, {count(site.width, 'element')} a lane"


def _verdict(site: Site) -> Child:
    if site.turns <= site.least:
        return element("span", "no conflict", class_="good")
    return element("span", f"{site.turns / site.least:.3g} times", class_="bad")
