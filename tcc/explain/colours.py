"""Colours of threads: a hue for each warp, from dark to light along its lanes."""

from __future__ import annotations

from tcc.tune.lanes import WARP

BLUE = "#2563eb"
RED = "#dc2626"
GREEN = "#15803d"
AMBER = "#b45309"
INK = "#1f2937"
FAINT = "#9ca3af"


def thread_colour(thread: int, threads: int) -> str:
    """The colour of a thread of a block; the same everywhere on the page."""
    warps = -(-threads // WARP)
    hue = (212 + 330 * (thread // WARP) / warps) % 360
    lightness = 46 + 38 * (thread % WARP) / (WARP - 1)
    return f"hsl({hue:.0f} 62% {lightness:.0f}%)"
