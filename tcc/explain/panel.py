"""One of several pictures side by side, with the place that the next one enlarges."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from tcc.explain.markup import element, words

TITLE = 56.0


@dataclass(frozen=True)
class Panel:
    """A part of a picture: its left and right end, its top and bottom.

    `focus` is the right end, the top and the bottom of what the panel to the right enlarges.
    """

    drawn: Markup
    left: float
    right: float
    top: float
    bottom: float
    focus: tuple[float, float, float]


def title(x: float, what: str, how: str) -> Markup:
    """Two lines above a panel."""
    return words(x, 20, what, class_="title") + words(x, 38, how, class_="small")


def zoom(start: Panel, end: Panel) -> Markup:
    """The wedge from a place in one panel to the whole of the next."""
    x, top, bottom = start.focus
    right = end.left - 6
    shape = f"M{x:.1f} {top:.1f}L{right:.1f} {end.top:.1f}V{end.bottom:.1f}L{x:.1f} {bottom:.1f}z"
    return element("path", d=shape, class_="zoom")
