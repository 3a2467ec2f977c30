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


_SECTIONS = (
    (r"^\S[^\n]*", "bold"),
    (r"(?<=\n\n)  \S[^\n]*", "cyan"),
    (r"\bpredicted\b", "yellow"),
    (r"<- chosen$", "green"),
)


def write_sections(text: str) -> None:
    """Write what `tcc explain` says to stdout, its titles and predictions marked."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(_styled(text, _SECTIONS), end="")


def write_coloured(text: str) -> None:
    """Write to stderr with colour; lines are never wrapped, or the carets would move."""
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    console.print(coloured(text), end="")


def coloured(text: str) -> Text:
    """A diagnostic with styles."""
    return _styled(text, _STYLES)


def _styled(text: str, styles: tuple[tuple[str, str], ...]) -> Text:
    result = Text(text)
    for pattern, style in styles:
        for match in re.finditer(pattern, text, re.MULTILINE):
            start, end = match.span("style" if "style" in match.groupdict() else 0)
            result.stylize(style, start, end)
    return result
