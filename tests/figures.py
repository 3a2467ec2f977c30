"""The drawings of docs/how-it-works.md: `make docs` writes them to docs/pictures."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

from markupsafe import Markup

import tcc
from tcc.explain.colours import thread_colour
from tcc.explain.facts import explain
from tcc.explain.markup import element, line, rect, svg, words
from tcc.explain.picture_space import picture_space
from tcc.explain.space import space
from tests.doc_blocks import ROOT

FOLDER = ROOT / "docs" / "pictures"
BLUE, GREEN, RED, GREY, INK = "#2563eb", "#15803d", "#dc2626", "#e5e7eb", "#1f2937"
SMALL_PLAN = """
mapping:
  plan:
    matmul_kernel:
      parallel:
        m: [block.y, outer 2, thread.y 4, inner 2]
        n: [block.x, thread.x 8, inner 2]
      loops:
        k: [tile 8]
      staging: {A: shared, B: shared}
"""


def drawing(width: float, height: float, *parts: Markup, label: str) -> str:
    """A file of its own: with the styles that the page of a report has, and a white ground."""
    style = (files("tcc") / "templates" / "explain.css").read_text("utf-8")
    font = 'svg { font-family: system-ui, "DejaVu Sans", sans-serif; }'
    ground = rect(0, 0, width, height, fill="#fff")
    made = svg(width, height, element("style", Markup(style + font)), ground, *parts, label=label)
    return str(made).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1) + "\n"


def flow() -> str:
    """From text to a kernel that runs, and back to the search."""
    rows = (
        ("a program", "text", "what each element is"),
        ("typed program", "ranges, shapes", "the meaning: the oracle runs this"),
        ("integer sets", "instances, accesses, dependences", "what must stay in order"),
        ("schedule tree", "loops, parallel or not", "one for all sizes"),
        ("plan", "blocks, threads, registers, staging", "the only thing that is searched"),
        ("kernel IR", "loops over affine accesses", "copies, barriers, vectors"),
        ("CUDA C++", "one file, one function", "what nvcc gets"),
    )
    parts: list[Markup] = []
    for number, (name, what, why) in enumerate(rows):
        y = 14 + number * 66
        parts += _box(20, y, 270, 46, name, what)
        parts.append(words(310, y + 27, why, class_="small"))
        if number:
            parts += _arrow(155, y - 20, 155, y)
    right = (
        (278, "search", "proposes plans, keeps the best"),
        (344, "time model", "predicts from the kernel IR"),
        (410, "host device", "the same text as C++: verified"),
        (476, "GPU", "through NVRTC: verified, measured"),
    )
    for y, name, what in right:
        parts += _box(610, y, 260, 46, name, what)
    for y1, y2 in ((367, 367), (433, 433), (441, 490)):
        parts += _arrow(470, y1, 606, y2)
    parts += [*_arrow(606, 301, 530, 301), *_arrow(740, 344, 740, 324)]
    return drawing(890, 536, *parts, label="the stages of the compiler")


def ranges() -> str:
    """The range of w in I(w + kw): the largest box whose every point reads inside I."""
    size, taps, cell, left, top = 9, 3, 34.0, 150.0, 40.0
    parts = [
        words(20, 20, "O(w) +=! I(w + kw) * K(kw),  I has 9 elements, K has 3", class_="title")
    ]
    for kw in range(taps):
        parts.append(
            words(left - 12, top + 30 + (kw + 0.6) * cell, f"kw = {kw}", text_anchor="end")
        )
        for w in range(size):
            good, inside = w + kw < size, w <= size - taps
            fill = "#bbf7d0" if inside else "#fee2e2" if not good else "#f3f4f6"
            x, y = left + w * cell, top + 30 + kw * cell
            parts.append(rect(x, y, cell, cell, fill=fill, stroke="#fff"))
            colour = INK if good else RED
            parts.append(
                words(x + cell / 2, y + 22, str(w + kw), text_anchor="middle", fill=colour)
            )
    parts += (
        words(left + (w + 0.5) * cell, top + 22, str(w), text_anchor="middle", class_="small")
        for w in range(size)
    )
    parts.append(words(left - 12, top + 22, "w =", text_anchor="end"))
    box = (size - taps + 1) * cell
    parts.append(rect(left, top + 30, box, taps * cell, fill="none", stroke=GREEN, stroke_width=3))
    bottom = top + 30 + taps * cell
    parts.append(
        words(
            left,
            bottom + 22,
            "w in 0:N - KW + 1: the largest range in which no read leaves I",
            fill=GREEN,
        )
    )
    parts.append(
        words(
            left,
            bottom + 42,
            "red reads would leave I; grey ones would not, but their column would",
            class_="small",
        )
    )
    return drawing(620, bottom + 56, *parts, label="how the range of an index is inferred")


def dependences() -> str:
    """Instances of a matrix-vector product: rows are independent, a row accumulates."""
    parts = [words(20, 22, "Y(m) +=! A(m, k) * X(k)", class_="title")]
    left, top, step = 110.0, 66.0, 58.0
    for m in range(4):
        y = top + m * step
        parts.append(words(left - 40, y + 4, f"m = {m}", text_anchor="end"))
        for k in range(6):
            x = left + k * step
            if k:
                parts += _arrow(x - step + 12, y, x - 13, y, colour="#9ca3af")
            parts.append(element("circle", cx=x, cy=y, r=11, fill=thread_colour(40 * m, 160)))
    parts.append(words(left - 10, top - 26, "k = 0", class_="small"))
    parts.append(words(left + 5 * step - 10, top - 26, "k = 5", class_="small"))
    x = left + 5 * step + 40
    parts.append(words(x, top + 30, "No arrow leads from row to row:", fill=GREEN))
    parts.append(words(x, top + 50, "m is parallel.", fill=GREEN))
    parts.append(words(x, top + 100, "Along k each update waits for"))
    parts.append(words(x, top + 120, "the one before, in any order:"))
    parts.append(words(x, top + 140, "a reduction."))
    return drawing(720, top + 4 * step, *parts, label="dependences of a matrix-vector product")


def digits() -> str:
    """The digits of a small product."""
    source = (ROOT / "specs" / "gemm.tc").read_text("utf-8")
    kernel = tcc.compile(source, sizes={"M": 64, "N": 64, "K": 32}, options=SMALL_PLAN)
    found = explain(kernel.request, kernel.compilation)
    facts = found.kernels[0]
    cut = space(facts.nest, facts.plan, found.program, found.sizes)
    inside = picture_space(cut, 13)
    return drawing(1060, 350, element("g", inside, transform="translate(10 8)"), label="digits")


def banks() -> str:
    """A column of a tile in shared memory, without and with one word of padding."""
    parts: list[Markup] = []
    cell, banks_, rows = 15.0, 16, 8
    for number, (pad, title, verdict, colour) in enumerate(
        (
            (0, "rows of 16 words: a column is in one bank", "8 threads, 8 turns", RED),
            (1, "rows of 17 words: every row is shifted by one bank", "8 threads, 1 turn", GREEN),
        )
    ):
        left, top = 30 + number * 330.0, 60.0
        parts.append(words(left, 22, title))
        parts.append(words(left, 42, verdict, fill=colour))
        for word in range(rows * (banks_ + pad)):
            row, at = divmod(word, banks_ + pad)
            x, y = left + word % banks_ * cell, top + word // banks_ * cell
            if at == banks_:
                fill = "#d1d5db"
            else:
                fill = colour if at == 3 else "#e0e7ff" if row % 2 else "#eef2ff"
            parts.append(rect(x, y, cell, cell, fill=fill, stroke="#fff"))
    parts.append(
        words(
            30,
            60 + 9 * cell + 26,
            "16 banks for the picture, a GPU has 32; grey words are padding",
            class_="small",
        )
    )
    return drawing(680, 60 + 9 * cell + 40, *parts, label="banks with and without padding")


def fibers() -> str:
    """How the host device runs a block: each thread up to the barrier, then the next."""
    parts = [words(20, 22, "One block on the host device: 4 threads, 2 barriers", class_="title")]
    left, top, row = 110.0, 56.0, 34.0
    for thread in range(4):
        y = top + thread * row
        parts.append(words(left - 16, y + 20, f"thread {thread}", text_anchor="end"))
        for part in range(3):
            x = left + part * 4 * 44 + thread * 44
            parts.append(rect(x, y, 42, 24, fill=thread_colour(40 * thread, 160), rx=4))
    bottom = top + 4 * row
    for barrier in (1, 2):
        x = left + barrier * 4 * 44 - 1
        parts.append(line(x, top - 8, x, bottom, stroke=RED, stroke_width=2))
        parts.append(words(x, bottom + 16, "__syncthreads()", text_anchor="middle", fill=RED))
    parts += _arrow(left, bottom + 34, left + 12 * 44, bottom + 34)
    parts.append(words(left + 5 * 44, bottom + 54, "time, on one CPU core", class_="small"))
    return drawing(680, bottom + 66, *parts, label="threads of a block as fibers")


FIGURES: dict[str, Callable[[], str]] = {
    "how-flow": flow,
    "how-ranges": ranges,
    "how-dependences": dependences,
    "how-digits": digits,
    "how-banks": banks,
    "how-fibers": fibers,
}


def _box(x: float, y: float, width: float, height: float, name: str, what: str) -> list[Markup]:
    return [
        rect(x, y, width, height, fill="#eff6ff", stroke="#93c5fd", rx=8),
        words(x + 12, y + 19, name, font_weight=600),
        words(x + 12, y + 36, what, class_="small"),
    ]


def _arrow(x1: float, y1: float, x2: float, y2: float, colour: str = "#6b7280") -> list[Markup]:
    length = max(1e-6, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
    dx, dy = (x2 - x1) / length * 7, (y2 - y1) / length * 7
    head = f"M{x2:.1f} {y2:.1f}l{-dx - dy / 2:.1f} {-dy + dx / 2:.1f}l{dy:.1f} {-dx:.1f}z"
    return [
        line(x1, y1, x2 - dx, y2 - dy, stroke=colour, stroke_width=1.6),
        element("path", d=head, fill=colour),
    ]
