"""Charts of a search: its course, and how the times of the candidates are distributed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log10

from markupsafe import Markup

from tcc.explain.colours import AMBER, BLUE, FAINT, GREEN, INK
from tcc.explain.markup import element, line, rect, svg, words
from tcc.explain.quantity import time
from tcc.tune.record import State
from tcc.tune.tuner import Tried, Tuning

WIDTH, HEIGHT = 560.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 16.0, 18.0, 40.0
BINS = 32
TICKS = (1.0, 2.0, 5.0)
MOST_LABELS = 9


def curve(tuning: Tuning) -> Markup:
    """Every candidate with a time over the seconds of the search; the best so far as a line."""
    timed = [t for t in tuning.tried if t.looks_us is not None]
    scale = _Scale([t.looks_us or 1.0 for t in timed], vertical=True)
    seconds = max([t.at_s for t in timed], default=1.0) or 1.0

    def x(at_s: float) -> float:
        return LEFT + at_s / seconds * (WIDTH - LEFT - RIGHT)

    parts = [*_rows(scale), *_dots(timed, x, scale), *_best(tuning, timed, x, scale)]
    parts += [
        words(LEFT, HEIGHT - BOTTOM + 16, "0 s", text_anchor="middle", class_="small"),
        words(x(seconds), HEIGHT - BOTTOM + 16, f"{seconds:.0f} s", text_anchor="end"),
        words((LEFT + WIDTH) / 2, HEIGHT - 6, "time of the search", text_anchor="middle"),
    ]
    return svg(WIDTH, HEIGHT, *parts, label="the times of the candidates in the order they came")


def distribution(tuning: Tuning) -> Markup:
    """How many candidates have which time: verified ones, and those that were pruned."""
    timed = [t for t in tuning.tried if t.looks_us is not None]
    scale = _Scale([t.looks_us or 1.0 for t in timed], vertical=False)
    bins = [[0, 0] for _ in range(BINS)]
    for one in timed:
        bins[scale.bin(one.looks_us or 1.0)][one.evaluation.state is not State.DONE] += 1
    most = max(sum(b) for b in bins) or 1
    parts = [*_columns(scale, most), *_bars(bins, most)]
    marked = (tuning.default, "default", AMBER), (tuning.best, "best", GREEN)
    for chosen, name, colour in marked:
        if chosen is not None and chosen.time_us is not None:
            at = scale.pixel(chosen.time_us)
            parts.append(line(at, TOP, at, HEIGHT - BOTTOM, stroke=colour, stroke_width=1.5))
            height = TOP + (10 if name == "best" else 24)
            parts.append(words(at + 4, height, name, fill=colour, class_="small"))
    parts.append(words((LEFT + WIDTH) / 2, HEIGHT - 6, "time of a candidate", text_anchor="middle"))
    return svg(WIDTH, HEIGHT, *parts, label="how many candidates have which time")


class _Scale:
    """Microseconds to pixels, by their logarithm."""

    def __init__(self, values: Sequence[float], *, vertical: bool) -> None:
        self._vertical = vertical
        low, high = min(values, default=1.0), max(values, default=10.0)
        self._low = log10(low) - 0.05
        self._span = max(log10(high) + 0.05 - self._low, 0.1)

    def share(self, value: float) -> float:
        """From 0 for the least to 1 for the most."""
        return min(1.0, max(0.0, (log10(value) - self._low) / self._span))

    def pixel(self, value: float) -> float:
        """The place of a time."""
        if self._vertical:
            return HEIGHT - BOTTOM - self.share(value) * (HEIGHT - TOP - BOTTOM)
        return LEFT + self.share(value) * (WIDTH - LEFT - RIGHT)

    def bin(self, value: float) -> int:
        """The column of a time."""
        return min(BINS - 1, int(self.share(value) * BINS))

    def ticks(self) -> list[float]:
        """Round values on the scale; only powers of ten where there are many."""
        decades = range(floor(self._low), ceil(self._low + self._span) + 1)
        found = [t * 10.0**d for d in decades for t in TICKS]
        inside = [v for v in found if self._low <= log10(v) <= self._low + self._span]
        powers = [v for v in inside if log10(v) % 1 < 1e-9]  # noqa: PLR2004 - rounding
        return inside if len(inside) <= MOST_LABELS else powers


def _rows(scale: _Scale) -> Iterator[Markup]:
    for value in scale.ticks():
        y = scale.pixel(value)
        yield line(LEFT, y, WIDTH - RIGHT, y, class_="grid")
        yield words(LEFT - 6, y + 4, time(value), text_anchor="end", class_="small")


def _dots(timed: Sequence[Tried], x: Callable[[float], float], scale: _Scale) -> Iterator[Markup]:
    for one in timed:
        done = one.evaluation.state is State.DONE
        note = f"{one.number}: {one.origin}, {time(one.looks_us or 0.0)}"
        yield element(
            "circle",
            element("title", note),
            cx=x(one.at_s),
            cy=scale.pixel(one.looks_us or 1.0),
            r=2.6,
            fill=BLUE if done else FAINT,
            opacity=0.75,
        )


def _best(
    tuning: Tuning, timed: Sequence[Tried], x: Callable[[float], float], scale: _Scale
) -> Iterator[Markup]:
    """The best so far, and the default as a dashed line."""
    if tuning.default is not None and tuning.default.time_us is not None:
        y = scale.pixel(tuning.default.time_us)
        yield line(LEFT, y, WIDTH - RIGHT, y, stroke=AMBER, stroke_dasharray="5 4")
        yield words(WIDTH - RIGHT, y - 5, "default", fill=AMBER, text_anchor="end", class_="small")
    best: float | None = None
    path = ""
    for one in timed:
        if one.time_us is not None and (best is None or one.time_us < best):
            best = one.time_us
            at = f"{x(one.at_s):.1f}"
            path += (
                f"M{at} {scale.pixel(best):.1f}" if not path else f"H{at}V{scale.pixel(best):.1f}"
            )
    if path:
        yield element(
            "path", d=f"{path}H{WIDTH - RIGHT:.1f}", fill="none", stroke=GREEN, stroke_width=2
        )


def _columns(scale: _Scale, most: int) -> Iterator[Markup]:
    bottom = HEIGHT - BOTTOM
    for value in scale.ticks():
        x = scale.pixel(value)
        yield line(x, TOP, x, bottom, class_="grid")
        yield words(x, bottom + 16, time(value), text_anchor="middle", class_="small")
    yield words(LEFT - 6, TOP + 4, str(most), text_anchor="end", class_="small")
    yield words(LEFT - 6, bottom + 4, "0", text_anchor="end", class_="small")
    yield line(LEFT, bottom, WIDTH - RIGHT, bottom, stroke=INK)


def _bars(bins: Sequence[Sequence[int]], most: int) -> Iterator[Markup]:
    step = (WIDTH - LEFT - RIGHT) / BINS
    unit = (HEIGHT - TOP - BOTTOM) / most
    for place, (done, pruned) in enumerate(bins):
        x, bottom = LEFT + place * step, HEIGHT - BOTTOM
        yield rect(x + 0.5, bottom - done * unit, step - 1, done * unit, fill=BLUE)
        top = bottom - (done + pruned) * unit
        yield rect(x + 0.5, top, step - 1, pruned * unit, fill=FAINT, opacity=0.5)
