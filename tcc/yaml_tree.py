"""The part of YAML that options files use, as plain nodes with spans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tcc.source import Span

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Scalar:
    """A word, number or text; `plain` when it stands without quotes."""

    text: str
    plain: bool
    span: Span

    @property
    def is_null(self) -> bool:
        """True for nothing, `~` and `null`."""
        return self.plain and self.text in ("", "~", "null")

    @property
    def is_boolean(self) -> bool:
        """True for `true` and `false`; YAML 1.1's `yes` and `on` are words."""
        return self.plain and self.text in ("true", "false")

    @property
    def is_integer(self) -> bool:
        """True for decimal integers; YAML 1.1's `010`, `0x10` and `32:4` are words."""
        return self.plain and _INTEGER.fullmatch(self.text) is not None

    @property
    def is_number(self) -> bool:
        """True for decimal integers and fractions, with or without an exponent."""
        return self.plain and _NUMBER.fullmatch(self.text) is not None


@dataclass(frozen=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True)
class Table:
    """Keys with values, in the order of the file, repetitions included."""

    pairs: tuple[tuple[Node, Node], ...]
    span: Span


Node: TypeAlias = Scalar | Sequence | Table


def kind_of(node: Node) -> str:
    """What a node is, as it follows `this is`."""
    match node:
        case Scalar(is_null=True):
            return "empty"
        case Scalar(is_boolean=True, text=text):
            return f"`{text}`"
        case Scalar(is_integer=True):
            return "an integer"
        case Scalar(is_number=True):
            return "a number"
        case Scalar():
            return "text"
        case Sequence():
            return "a list"
        case Table():
            return "a table of `name: value`"
        case _:
            assert_never(node)
