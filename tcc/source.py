"""Source text and spans: every later stage points into these, none copies text."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Source:
    """One input: a `.tc` file, a `.yaml` file, or the command line."""

    name: str
    text: str

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Offset of the first character of each line."""
        return (0, *(i + 1 for i, c in enumerate(self.text) if c == "\n"))

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and column (in characters) of a character offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Text of a 1-based line, without its line break."""
        start = self.line_starts[number - 1]
        return self.text[start:].split("\n", 1)[0].rstrip("\r")

    def find(self, needle: str, nth: int = 0) -> Span:
        """Span of the nth occurrence of needle; for tests and examples."""
        at = -1
        for _ in range(nth + 1):
            at = self.text.index(needle, at + 1)
        return Span(self, at, at + len(needle))


@dataclass(frozen=True)
class Span:
    """Half-open range [start, end) of character offsets in one source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """1-based line of the first character."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """1-based column of the first character."""
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        """The characters the span covers."""
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))
