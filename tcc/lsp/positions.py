"""Offsets in a text, and positions as editors count them: line, and code units in the line."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
_BREAK = re.compile(r"\r\n|\n|\r")  # all that the Language Server Protocol counts as a line break
_BYTES_OF_UNIT = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 4}


@dataclass(frozen=True)
class Positions:
    """The positions in one text; lines and characters count from 0."""

    text: str
    encoding: Encoding = "utf-16"

    def of(self, offset: int) -> tuple[int, int]:
        """The position of a character offset."""
        line = bisect_right(self._starts, offset) - 1
        return line, self._units(self.text[self._starts[line] : offset])

    def offset(self, line: int, character: int) -> int:
        """The offset of a position; behind the last line or character it is the end of it."""
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        found = _BREAK.search(self.text, start)
        end = found.start() if found else len(self.text)
        while end > start and self._units(self.text[start:end]) > character:
            end -= 1
        return end

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return (0, *(found.end() for found in _BREAK.finditer(self.text)))

    def _units(self, text: str) -> int:
        codec = self.encoding if self.encoding == "utf-8" else f"{self.encoding}-le"
        return len(text.encode(codec, "surrogatepass")) // _BYTES_OF_UNIT[codec]
