"""Colour for diagnostics on a terminal; it repeats what the text says and adds nothing."""

from __future__ import annotations

import re

from rich.console import Console
from rich.text import Text

# Later styles lie over earlier ones.
_STYLES = (
    (r"^(?:error|warning|internal compiler error)[^\n]*", "bold"),
    (r"^(?:error|internal compiler error)(?:\[\w+\])?", "bold red"),
    (r"^warning(?:\[\w+\])?", "bold yellow"),
    (r"^ *(?:-->|:::)", "bold blue"),
    (r"^ *\d* \|", "bold blue"),
    (r"^\.\.\.$", "bold blue"),
    (r"(?<=^)(?: *= )(?:note|help)(?=:)", "bold"),
    (r"^help(?=:)", "bold"),
    (r"^ * \| [ |-]*(?P<style>\^+[^\n]*)", "bold red"),
)


def write_coloured(text: str) -> None:
    """Write to stderr with colour; lines are never wrapped, or the carets would move."""
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    console.print(coloured(text), end="")


def coloured(text: str) -> Text:
    """The text with styles."""
    result = Text(text)
    for pattern, style in _STYLES:
        for match in re.finditer(pattern, text, re.MULTILINE):
            start, end = match.span("style" if "style" in match.groupdict() else 0)
            result.stylize(style, start, end)
    return result
