"""Source lines with underlines and labels below them; knows tabs, wide and invisible characters."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tcc.diagnostics import Label
from tcc.source import Source

TAB = "    "
LONGEST = 160
"""Columns of a source line that are shown; a longer line is cut to the part around its labels."""
BEFORE = 40
"""Columns kept to the left of the first label when a line is cut."""
_PICTURES = {c: chr(0x2400 + c) for c in range(0x20)} | {ord("\t"): TAB, 0x7F: "\u2421"}
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories that steer a terminal or reorder text: shown raw, they could hide the program."""


@dataclass(frozen=True)
class Marked:
    """A label and the character that underlines it."""

    label: Label
    mark: str


@dataclass(frozen=True)
class _Underline:
    """Columns [start, stop) of one shown line."""

    start: int
    stop: int
    mark: str
    text: str


def shown(text: str) -> str:
    """The text as a terminal may show it: nothing in it moves the cursor or hides characters."""
    text = text.translate(_PICTURES)
    return text if text.isascii() else "".join(_cell(c) for c in text)


def snippet(labels: Sequence[Marked], pad: str) -> Iterator[str]:
    """The lines that carry labels, underlined; `pad` is as wide as the largest line number."""
    source = labels[0].label.span.source
    by_line: dict[int, list[Marked]] = defaultdict(list)
    for marked in labels:
        by_line[marked.label.span.line].append(marked)
    previous = None
    for number in sorted(by_line):
        if previous is not None and number == previous + 2:
            yield _numbered(pad, previous + 1, _cut(shown(source.line(previous + 1)), 0))
        elif previous is not None and number > previous + 2:
            yield "..."
        yield from _marked_line(source, number, by_line[number], pad)
        previous = number


def _marked_line(source: Source, number: int, labels: list[Marked], pad: str) -> Iterator[str]:
    text = source.line(number)
    marks = [_underline(text, source.line_starts[number - 1], m) for m in labels]
    line = shown(text)
    first = min(u.start for u in marks)
    left = max(0, first - BEFORE) if _width(line) > LONGEST else 0
    yield _numbered(pad, number, _cut(line, left))
    for row in _rows([_shift(u, left) for u in marks]):
        yield f"{pad} | {row}".rstrip()


def _underline(text: str, line_start: int, marked: Marked) -> _Underline:
    """The columns of a label on its first line; at least one."""
    begin = marked.label.span.start - line_start
    end = min(max(marked.label.span.end - line_start, begin), len(text))
    start = _width(shown(text[:begin]))
    stop = max(_width(shown(text[:end])), start + 1)
    return _Underline(start, stop, marked.mark, shown(marked.label.text))


def _shift(underline: _Underline, left: int) -> _Underline:
    """The same columns in a line whose first `left` columns became `...`."""
    if not left:
        stop = min(underline.stop, max(LONGEST + 3, underline.start + 1))
        return _Underline(underline.start, stop, underline.mark, underline.text)
    start = min(underline.start - left, LONGEST) + 3
    stop = max(min(underline.stop - left, LONGEST) + 3, start + 1)
    return _Underline(start, stop, underline.mark, underline.text)


def _rows(underlines: list[_Underline]) -> Iterator[str]:
    """One row of marks with the last label, then the others right to left, each under a bar."""
    items = sorted(underlines, key=lambda u: (u.start, u.stop))
    marks = [" "] * max(u.stop for u in items)
    for item in sorted(items, key=lambda u: u.mark, reverse=True):
        for column in range(item.start, item.stop):
            if marks[column] != "^":
                marks[column] = item.mark
    *hanging, last = [u for u in items if u.text] or items
    yield f"{''.join(marks)} {last.text}".rstrip()
    if hanging:
        yield _at([(u.start, "|") for u in hanging])
    while hanging:
        *hanging, item = hanging
        bars = [(u.start, "|") for u in hanging if u.start != item.start]
        yield _at([*bars, (item.start, item.text)])


def _at(items: list[tuple[int, str]]) -> str:
    row = ""
    for column, text in dict(items).items():
        row = row.ljust(column) + text
    return row


def _numbered(pad: str, number: int, line: str) -> str:
    return f"{number:>{len(pad)}} | {line}".rstrip()


def _cut(line: str, left: int) -> str:
    """At most LONGEST columns of a line from column `left` on, with `...` where text is missing."""
    if _width(line) <= LONGEST:
        return line
    kept, column = "", 0
    for character in line:
        if left <= column < left + LONGEST:
            kept += character
        column += _width(character)
    end = "..." if column > left + LONGEST else ""
    return f"{'...' if left else ''}{kept}{end}"


def _cell(character: str) -> str:
    return "\ufffd" if unicodedata.category(character) in _INVISIBLE else character


def _width(text: str) -> int:
    """Terminal columns: two for wide characters, none for those that combine."""
    if text.isascii():
        return len(text)
    return sum(_columns(c) for c in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
