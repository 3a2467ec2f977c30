"""Elements of HTML and SVG. Every text and every attribute is escaped here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from markupsafe import Markup, escape

Child: TypeAlias = "Markup | str"
Value: TypeAlias = str | int | float | None

_EMPTY = frozenset(("meta", "br", "col"))


def element(tag: str, *children: Child, **attributes: Value) -> Markup:
    """An element; strings among the children are text, `Markup` is kept.

    Attributes that are None are left out; `class_` stands for `class`, `_` elsewhere for `-`.
    """
    given = ((_name(k), v) for k, v in attributes.items() if v is not None)
    opening = "".join(f' {name}="{escape(_spelled(value))}"' for name, value in given)
    if tag in _EMPTY:
        return Markup(f"<{tag}{opening}>")
    inside = "".join(escape(child) for child in children)
    return Markup(f"<{tag}{opening}>{inside}</{tag}>")


def joined(parts: Iterable[Child]) -> Markup:
    """Parts one after the other."""
    return Markup("").join(parts)


def table(head: Iterable[Child], rows: Iterable[Iterable[Child]], class_: str = "") -> Markup:
    """A table with a head; cells are text or markup."""
    top = element("tr", *(element("th", cell) for cell in head))
    body = (element("tr", *(element("td", cell) for cell in row)) for row in rows)
    return element("table", element("thead", top), element("tbody", *body), class_=class_ or None)


def figure(picture: Child, title: str, caption: Child = "", class_: str = "") -> Markup:
    """A picture under a title, with a caption below."""
    return element(
        "figure",
        element("h4", title),
        picture,
        element("figcaption", caption) if caption else "",
        class_=class_ or None,
    )


def svg(width: float, height: float, *children: Child, class_: str = "", label: str = "") -> Markup:
    """A picture of a size in pixels, which shrinks with the page; `label` says what it shows."""
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {_spelled(width)} {_spelled(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label or None,
        class_=class_ or None,
    )


def words(x: float, y: float, text: str, *, fill: str | None = None, **attributes: Value) -> Markup:
    """Text in a picture, in a colour of its own where `fill` names one."""
    style = None if fill is None else f"fill:{fill}"
    return element("text", text, x=x, y=y, style=style, **attributes)


def rect(x: float, y: float, width: float, height: float, **attributes: Value) -> Markup:
    """A rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Value) -> Markup:
    """A line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def _name(keyword: str) -> str:
    return keyword.rstrip("_").replace("_", "-")


def _spelled(value: Value) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
