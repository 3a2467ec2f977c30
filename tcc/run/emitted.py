"""What an emitted text says of its own lines: kernels, statements, shared arrays, temporaries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tcc.kernel.spelling import C_TYPES

_KERNEL = re.compile(r'^extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(')
_COMMENT = re.compile(r"^\s+// (.*)$")
_SHARED = re.compile(r"^\s*__shared__ (?:__align__\(\d+\) )?([\w ]*\w) (\w+)((?:\[\d+\])*);")
_DYNAMIC = re.compile(r"^\s*extern __shared__ (?:__align__\(\d+\) )?([\w ]*\w) \w+\[\];")
_CARVED = re.compile(
    r"^\s*([\w ]*\w)\* (\w+) = reinterpret_cast<\1\*>\(static_cast<char\*>\(workspace\)"
)
_BYTES = {text: type.bytes for type, text in C_TYPES.items()}


@dataclass(frozen=True)
class SharedText:
    """A declaration of a shared array: its extents and the bytes of an element."""

    shape: tuple[int, ...]
    element_bytes: int


class EmittedText:
    """The text of a `.cu` file, by 1-based lines."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")

    def statement(self, line: int) -> str | None:
        """The statement of the program that a line of a kernel belongs to: the comment above."""
        for at in range(min(line, len(self._lines)) - 1, -1, -1):
            comment = _COMMENT.match(self._lines[at])
            if comment:
                return comment[1]
            if _KERNEL.match(self._lines[at]):
                return None
        return None

    def kernel(self, line: int) -> str:
        """The kernel that a line is in; empty when it is in none."""
        above = reversed(self._lines[:line])
        return next((m[1] for m in map(_KERNEL.match, above) if m), "")

    @cached_property
    def shared(self) -> dict[tuple[str, str], SharedText]:
        """The shared arrays by kernel and name."""
        found: dict[tuple[str, str], SharedText] = {}
        kernel = ""
        for line in self._lines:
            start = _KERNEL.match(line)
            if start:
                kernel = start[1]
            array = _SHARED.match(line)
            if array:
                shape = tuple(int(e) for e in re.findall(r"\d+", array[3]))
                found[kernel, array[2]] = SharedText(shape, _BYTES.get(array[1], 1))
        return found

    @cached_property
    def shared_granule(self) -> int:
        """Bytes of the smallest element of a shared array."""
        dynamic = [_BYTES.get(m[1], 1) for m in map(_DYNAMIC.match, self._lines) if m]
        return min([*(a.element_bytes for a in self.shared.values()), *dynamic], default=4)

    @cached_property
    def temporaries(self) -> dict[str, int]:
        """Bytes of an element of each temporary in the workspace, by its name in the text."""
        carved = filter(None, map(_CARVED.match, self._lines))
        return {m[2]: _BYTES.get(m[1], 1) for m in carved}
