"""Pictures of what bounds a kernel: the roofline, and what fills an SM."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, log2

from markupsafe import Markup

from tcc.explain.colours import AMBER, BLUE, GREEN, INK
from tcc.explain.facts import Explanation, KernelFacts
from tcc.explain.markup import element, line, rect, svg, words
from tcc.explain.quantity import count, percent, si, time
from tcc.target import Target

WIDTH, HEIGHT = 505.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 16.0, 30.0, 44.0
NAMES, LEVEL_ROW, LIMIT_ROW = 130.0, 32.0, 40.0
RATE_DECADES = 10
"""Powers of two below the peak that the roofline shows."""


class _Scale:
    """Operations by byte, and operations by second, to pixels: both by their logarithm."""

    def __init__(self, facts: KernelFacts, target: Target) -> None:
        ridge = target.peak_gflops / target.dram_gb_per_s
        seen = max(facts.work.intensity, 2.0**-6)
        self.low = floor(min(log2(seen) - 1, log2(ridge) - 5))
        self.high = ceil(max(log2(seen) + 1, log2(ridge) + 3))
        self.peak = log2(target.peak_gflops)

    def x(self, intensity: float) -> float:
        """Operations by byte."""
        share = (log2(intensity) - self.low) / (self.high - self.low)
        return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT)

    def y(self, gflops: float) -> float:
        """10^9 operations by second."""
        share = (log2(max(gflops, 1e-6)) - (self.peak - RATE_DECADES)) / (RATE_DECADES + 0.7)
        return HEIGHT - BOTTOM - min(1.0, max(0.0, share)) * (HEIGHT - TOP - BOTTOM)


def roofline(facts: KernelFacts, explanation: Explanation) -> Markup:
    """The roofline of the target with the kernel on it; none of it is measured."""
    target = explanation.target
    scale = _Scale(facts, target)
    parts = [*_grid(scale, target), *_roofs(scale, target), *_kernel(facts, scale)]
    return svg(WIDTH, HEIGHT, *parts, label="the roofline with the kernel on it")


def _grid(scale: _Scale, target: Target) -> Iterator[Markup]:
    bottom = HEIGHT - BOTTOM
    for power in range(scale.low, scale.high + 1, 2):
        x = scale.x(2.0**power)
        yield line(x, TOP, x, bottom, class_="grid")
        label = str(2**power) if power >= 0 else f"1/{2**-power}"
        yield words(x, bottom + 16, label, text_anchor="middle", class_="small")
    for step in range(0, RATE_DECADES + 1, 2):
        rate = target.peak_gflops / 2**step
        yield line(LEFT, scale.y(rate), WIDTH - RIGHT, scale.y(rate), class_="grid")
        label = si(rate * 1e9, "FLOP/s")
        yield words(
            LEFT - 5,
            scale.y(rate) + 4,
            label.replace("FLOP/s", ""),
            text_anchor="end",
            class_="small",
        )
    yield words(WIDTH - RIGHT, HEIGHT - 8, "operations by byte", text_anchor="end", class_="small")
    yield words(4, 14, "FLOP/s", class_="small")


def _roofs(scale: _Scale, target: Target) -> Iterator[Markup]:
    ridge = target.peak_gflops / target.dram_gb_per_s
    first = 2.0**scale.low
    start = max(first, target.peak_gflops / 2**RATE_DECADES / target.dram_gb_per_s)
    top = scale.y(target.peak_gflops)
    yield line(
        scale.x(start),
        scale.y(start * target.dram_gb_per_s),
        scale.x(ridge),
        top,
        stroke=INK,
        stroke_width=2,
    )
    yield line(scale.x(ridge), top, WIDTH - RIGHT, top, stroke=INK, stroke_width=2)
    peak = f"fp32, {si(target.peak_gflops * 1e9, 'FLOP/s')}"
    yield words(WIDTH - RIGHT, top - 6, peak, text_anchor="end", class_="small")
    at = 2 ** ((log2(start) + log2(ridge)) / 2)
    x, y = scale.x(at), scale.y(at * target.dram_gb_per_s)
    label = f"DRAM, {si(target.dram_gb_per_s * 1e9, 'B/s')}"
    yield words(x - 8, y - 8, label, text_anchor="end", class_="small")


def _kernel(facts: KernelFacts, scale: _Scale) -> Iterator[Markup]:
    if not facts.work.operations:
        return
    x = scale.x(facts.work.intensity)
    best = scale.y(facts.work.operations / facts.roof.time_us / 1e3)
    predicted = facts.prediction.time_us
    yield line(x, best, x, HEIGHT - BOTTOM, stroke=BLUE, stroke_dasharray="3 3")
    yield element("circle", cx=x, cy=best, r=5, fill="#fff", stroke=BLUE, stroke_width=2)
    side = "end" if x > WIDTH * 0.6 else "start"
    away = -10 if side == "end" else 10
    yield words(
        x + away,
        best + 18,
        f"at best {time(facts.roof.time_us)}",
        text_anchor=side,
        class_="small",
    )
    y = scale.y(facts.work.operations / predicted / 1e3)
    yield element("circle", cx=x, cy=y, r=6, fill=BLUE)
    label = f"predicted {time(predicted)}, {percent(facts.roof.time_us / predicted)} of the roof"
    yield words(x + away, max(y, best + 18) + 36, label, text_anchor=side, fill=BLUE)


def level_bars(facts: KernelFacts) -> Markup:
    """How long each part of the GPU is busy, beside the time of the kernel."""
    found = facts.prediction
    rows = [(level.name, level.time_us) for level in found.levels]
    room = WIDTH - NAMES - 70
    parts: list[Markup] = []
    for number, (name, busy) in enumerate([*rows, ("the kernel", found.time_us)]):
        y = 6 + number * LEVEL_ROW
        colour = BLUE if number == len(rows) else AMBER if name == found.bound else GREEN
        width = max(1.0, room * busy / found.time_us)
        parts.append(words(0, y + 16, name))
        parts.append(rect(NAMES, y, width, 22, fill=colour, rx=2))
        parts.append(words(NAMES + width + 6, y + 16, time(busy), class_="small"))
    edge = NAMES + room
    bottom = 6 + (len(rows) + 1) * LEVEL_ROW
    parts.append(line(edge, 0, edge, bottom, stroke=BLUE, stroke_dasharray="3 3"))
    return svg(WIDTH, bottom + 4, *parts, label="how long each part of the GPU is busy")


def occupancy_bars(facts: KernelFacts) -> Markup:
    """How full an SM is of each resource, a part for every resident block."""
    blocks = facts.prediction.resident_blocks
    parts: list[Markup] = []
    for number, limit in enumerate(facts.limits):
        y = 8 + number * LIMIT_ROW
        room = WIDTH - NAMES - 20
        own = room * limit.per_block / limit.total
        colour = AMBER if limit.blocks == facts.limits[0].blocks else GREEN
        parts.append(words(0, y + 18, limit.resource))
        parts.append(rect(NAMES, y, room, 24, class_="room"))
        parts += (
            rect(NAMES + k * own + 0.5, y + 2, max(own - 1, 0.5), 20, fill=colour, rx=2)
            for k in range(blocks)
        )
        used = limit.per_block * blocks
        text = f"{used} of {limit.total}; {count(limit.blocks, 'block')} would fit"
        parts.append(words(NAMES + 8, y + 36, text, class_="small"))
    height = 16 + len(facts.limits) * LIMIT_ROW
    return svg(WIDTH, height, *parts, label="what the resident blocks use of an SM")
