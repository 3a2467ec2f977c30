"""The arguments of a call as a source text, so that diagnostics can point into it.

Each array is a line `A: float32(3, 4)`, each given size a line `N = 4`; an array that is needed
and not given is a line `A: missing`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tcc.run.device import Array
from tcc.source import Source, Span

_Range = tuple[int, int]


class Listing:
    """The text `<arrays>` and where everything is in it."""

    def __init__(
        self, wanted: tuple[str, ...], arrays: Mapping[str, Array], sizes: Mapping[str, int]
    ) -> None:
        self.arrays = arrays
        self._names: dict[str, _Range] = {}
        self._types: dict[str, _Range] = {}
        self._shapes: dict[str, _Range] = {}
        self._extents: dict[str, list[_Range]] = {}
        self._sizes: dict[str, _Range] = {}
        self._text = ""
        for name in dict.fromkeys((*wanted, *arrays)):
            self._write_array(name, arrays.get(name))
        for name, value in sizes.items():
            self._write(f"{name} = ")
            self._sizes[name] = self._write(str(value))
            self._write("\n")
        self._source = Source("<arrays>", self._text or "\n")

    def name_span(self, name: str) -> Span:
        """The array's name."""
        return self._span(self._names[name])

    def type_span(self, name: str) -> Span:
        """The array's element type."""
        return self._span(self._types[name])

    def shape_span(self, name: str) -> Span:
        """The array's shape with its parentheses."""
        return self._span(self._shapes[name])

    def extent_span(self, name: str, dimension: int) -> Span:
        """The extent of one dimension of an array."""
        return self._span(self._extents[name][dimension])

    def size_span(self, name: str) -> Span:
        """The value of a given size."""
        return self._span(self._sizes[name])

    def _write_array(self, name: str, array: Array | None) -> None:
        self._names[name] = self._write(name)
        self._write(": ")
        if array is None:
            self._write("missing\n")
            return
        self._types[name] = self._write(str(array.dtype))
        begin, _ = self._write("(")
        self._extents[name] = []
        for dimension, extent in enumerate(array.shape):
            self._write(", " if dimension else "")
            self._extents[name].append(self._write(str(extent)))
        _, end = self._write(")")
        self._shapes[name] = (begin, end)
        self._write("\n")

    def _write(self, text: str) -> _Range:
        begin = len(self._text)
        self._text += text
        return begin, len(self._text)

    def _span(self, where: _Range) -> Span:
        return Span(self._source, *where)
