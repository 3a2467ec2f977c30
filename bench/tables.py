"""Tables for terminals and for Markdown, and where they stand in a document."""

from __future__ import annotations

import re
from collections.abc import Sequence

Rows = Sequence[Sequence[str]]
NAMES = 2


def plain(head: Sequence[str], rows: Rows) -> str:
    """Aligned columns; the first NAMES to the left."""
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "".join(
        "  ".join(
            cell.ljust(width) if i < NAMES else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def markdown(head: Sequence[str], rows: Rows) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def part_of(text: str, name: str) -> str:
    """What stands between `<!-- measured: NAME -->` and `<!-- end -->`. ValueError as below."""
    found = re.findall(rf"<!-- measured: {re.escape(name)} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"the document has {len(found)} places for `{name}`")
    return str(found[0])


def rows_of(part: str) -> list[list[str]]:
    """The cells of the Markdown table in a part, its head left out."""
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines[2:]]


def replace_part(text: str, name: str, part: str) -> str:
    """The text with a new part between `<!-- measured: NAME -->` and `<!-- end -->`.

    ValueError when there is no such place.
    """
    pattern = rf"(<!-- measured: {re.escape(name)} -->\n).*?(?=<!-- end -->)"
    result, count = re.subn(pattern, lambda m: m[1] + part, text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the document has {count} places for `{name}`")
    return result
