"""Nodes of an options file to values of the option dataclasses, by their schema."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, assert_never

from tcc.diagnostics import Diagnostic, Label, Report, error
from tcc.options import MappingOptions, Options, VerifyOptions
from tcc.schema import (
    Choice,
    Flag,
    Integer,
    Items,
    Kind,
    Number,
    Section,
    Text,
    describe,
    example,
    options_of,
)
from tcc.schema import Table as Names
from tcc.source import Span
from tcc.yaml_tree import Node, Scalar, Sequence, Table, kind_of

LONGEST_NUMBER = 40
"""Digits; anything longer is out of every bound, and Python refuses to read 4300."""
# Names of the 2018 system that are no mere change of case.
_FORMER_NAMES = {
    "block": "threads",
    "grid": "blocks",
    "map_to_threads": "threads",
    "map_to_blocks": "blocks",
    "tiling": "tile",
    "tiles": "tile",
}
_SECTIONS = {"mapping": MappingOptions, "verify": VerifyOptions, "": Options}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names of the user's choice, and the options themselves."""
_FLAG_WORDS = {"yes": "true", "on": "true", "no": "false", "off": "false"}


def read_root(node: Node, report: Report) -> Options:
    """The options of a whole document."""
    reader = _Reader(report)
    options: Options | None = reader.value(Section(Options), node, "")
    return replace(options or Options(), spans=reader.spans, names=reader.names)


class _Refused(Exception):
    """A value that does not fit, with its diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class _Reader:
    """Reads values, reports what is wrong, remembers where each option stands."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.spans: dict[str, Span] = {}
        self.names: dict[str, Span] = {}

    def value(self, kind: Kind, node: Node, path: str) -> Any:  # noqa: ANN401 - the schema's types
        """The value; None when nothing is given, or when it does not fit, which is reported."""
        if isinstance(node, Scalar) and node.is_null:
            return None
        self.spans[path] = node.span
        try:
            return self._read(kind, node, path)
        except _Refused as refused:
            self._report.add(refused.diagnostic)
            return None

    def _read(self, kind: Kind, node: Node, path: str) -> Any:  # noqa: ANN401
        match kind:
            case Section(of):
                return of(**self._section(of, node, path))
            case Items():
                return self._items(kind, node, path)
            case Names():
                return self._names(kind, node, path)
            case Integer():
                return _integer(kind, node, path)
            case Number():
                return _number(kind, node, path)
            case Flag():
                return _flag(kind, node, path)
            case Choice():
                return _choice(kind, node, path)
            case Text():
                return _text(kind, node, path)
            case _:
                assert_never(kind)

    def _section(self, of: type, node: Node, path: str) -> dict[str, Any]:
        """The given options of a section, by name."""
        known = options_of(of)
        values: dict[str, Any] = {}
        for key, value in self._pairs(Section(of), node, path):
            if key.text not in known:
                self._report.add(_unknown(key, path, list(known)))
                continue
            read = self.value(known[key.text].metadata["kind"], value, _join(path, key.text))
            if read is not None:
                values[key.text] = read
        return values

    def _pairs(self, kind: Kind, node: Node, path: str) -> Iterator[tuple[Scalar, Node]]:
        """The pairs of a table that have readable, distinct keys."""
        if not isinstance(node, Table):
            subject = f"`{path}`" if path else "an options file"
            message = f"{subject} needs a table of `name: value`"
            raise _wrong(message, node, (_example(path, kind),))
        seen: dict[str, Span] = {}
        for key, value in node.pairs:
            if not isinstance(key, Scalar) or NAME.fullmatch(key.text) is None:
                help = ("write a letter, then letters, digits and `_`",)
                self._report.add(_wrong("a key needs to be a name", key, help).diagnostic)
            elif key.text in seen:
                first = Label(seen[key.text], "first value")
                message = f"`{_join(path, key.text)}` is given twice"
                self._report.add(
                    error(
                        "E0504",
                        message,
                        key.span,
                        "second value",
                        secondary=(first,),
                        help=("remove one of them",),
                    )
                )
            else:
                seen[key.text] = key.span
                yield key, value

    def _items(self, kind: Items, node: Node, path: str) -> tuple[Any, ...] | None:
        if not isinstance(node, Sequence):
            raise _misfit(path, kind, node, _in_brackets(node, path))
        count = len(node.items)
        if count < kind.shortest or (kind.longest is not None and count > kind.longest):
            raise _out_of_bounds(path, kind, node, f"this has {count}", _example(path, kind))
        for item in node.items:
            if isinstance(item, Scalar) and item.is_null:
                help = ("write a value, or take the place out",)
                raise _wrong(f"`{path}` needs a value at every place", item, help)
        places = enumerate(node.items)
        read = [self.value(kind.kind(i), item, f"{path}[{i}]") for i, item in places]
        return None if None in read else tuple(read)

    def _names(self, kind: Names, node: Node, path: str) -> dict[str, Any]:
        pairs = list(self._pairs(kind, node, path))
        self.names |= {_join(path, k.text): k.span for k, _ in pairs}
        read = {k.text: self.value(kind.item, v, _join(path, k.text)) for k, v in pairs}
        return {name: value for name, value in read.items() if value is not None}


def _integer(kind: Integer, node: Node, path: str) -> int:
    if not isinstance(node, Scalar) or not node.is_integer:
        raise _misfit(path, kind, node, _decimal(node))
    value = int(node.text) if len(node.text) <= LONGEST_NUMBER else None
    if value is None or value < kind.low or (kind.high is not None and value > kind.high):
        below = node.text.startswith("-") or (value is not None and value < kind.low)
        nearest = kind.low if below or kind.high is None else kind.high
        raise _out_of_bounds(path, kind, node, "out of bounds", f"write `{nearest}`")
    return value


def _number(kind: Number, node: Node, path: str) -> float:
    if not isinstance(node, Scalar) or not node.is_number:
        raise _misfit(path, kind, node)
    value = float(node.text)
    if not math.isfinite(value) or (kind.low is not None and value < kind.low):
        raise _out_of_bounds(path, kind, node, "out of bounds", _example(path, kind))
    return value


def _flag(kind: Flag, node: Node, path: str) -> bool:
    if isinstance(node, Scalar) and node.is_boolean:
        return node.text == "true"
    word = _FLAG_WORDS.get(node.text.lower()) if isinstance(node, Scalar) else None
    raise _misfit(path, kind, node, (f"write `{word}`",) if word else ())


def _choice(kind: Choice, node: Node, path: str) -> str | int:
    if not isinstance(node, Scalar):
        raise _misfit(path, kind, node)
    for word in kind.words:
        if node.text == str(word) and (node.plain or isinstance(word, str)):
            return word
    near = _close(node.text, [str(w) for w in kind.words])
    help = (f"write `{near}`" if near else _example(path, kind),)
    message = f"`{path}` cannot be `{node.text}`"
    raise _Refused(error("E0506", message, node.span, f"needs {describe(kind)}", help=help))


def _text(kind: Text, node: Node, path: str) -> str:
    if not isinstance(node, Scalar) or not node.text:
        raise _misfit(path, kind, node)
    return node.text


def _misfit(path: str, kind: Kind, node: Node, help: tuple[str, ...] = ()) -> _Refused:
    """A value of another kind; `help` says how to write what is meant, where that is known."""
    return _wrong(f"`{path}` needs {describe(kind)}", node, help or (_example(path, kind),))


def _wrong(message: str, node: Node, help: tuple[str, ...]) -> _Refused:
    return _Refused(error("E0502", message, node.span, f"this is {kind_of(node)}", help=help))


def _out_of_bounds(path: str, kind: Kind, node: Node, label: str, help: str) -> _Refused:
    message = f"`{path}` needs {describe(kind)}"
    return _Refused(error("E0503", message, node.span, label, help=(help,)))


def _example(path: str, kind: Kind) -> str:
    """A value of the kind, as it is written behind the name; without it inside of a list."""
    name = path.rpartition(".")[2]
    before = f"{name}: " if NAME.fullmatch(name) else ""
    return f"for example: `{before}{example(kind)}`"


def _unknown(key: Scalar, path: str, known: list[str]) -> Diagnostic:
    better = _similar(key.text, path, known)
    where = f"`{path}` accepts" if path else "the top level accepts"
    notes = () if better else (f"{where} {', '.join(f'`{k}`' for k in known)}",)
    label = f"not an option of `{path}`" if path else "not an option of the top level"
    help = (better or "remove it; `tcc options` lists what there is",)
    return error("E0501", f"unknown option `{key.text}`", key.span, label, notes=notes, help=help)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _in_brackets(node: Node, path: str) -> tuple[str, ...]:
    """How to write `4` or `4,8,8` as a list."""
    parts = node.text.split(",") if isinstance(node, Scalar) else []
    if not parts or not all(part.strip().isdigit() for part in parts):
        return ()
    return (f"write `{path.rpartition('.')[2]}: [{', '.join(p.strip() for p in parts)}]`",)


def _decimal(node: Node) -> tuple[str, ...]:
    """How to write an integer that YAML 1.1 would have read in octal."""
    digits = node.text.lstrip("0") if isinstance(node, Scalar) and node.plain else ""
    return (f"write `{digits}`",) if digits.isascii() and digits.isdigit() else ()


def _similar(key: str, path: str, known: list[str]) -> str | None:
    """The one suggestion for an unknown option."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).replace("-", "_").lower()
    name = _FORMER_NAMES.get(snake, snake)
    if name in known:
        return f"write `{name}`"
    for section, of in _SECTIONS.items():
        if section != path and name in options_of(of):
            return f"move it below `{section}:`" if section else "move it to the left margin"
    near = _close(key, known)
    return f"write `{near}`" if near else None


def _close(word: str, words: list[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word[:64], words, n=1)), None)
