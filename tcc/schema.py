"""What an option may be: the kinds of values, declared once beside each option's field.

The fields of the option dataclasses, with their kinds and sentences, are the schema: the reader
of options files, `tcc options` and the documents all follow it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias, assert_never


@dataclass(frozen=True)
class Flag:
    """`true` or `false`."""


@dataclass(frozen=True)
class Integer:
    """A whole number in [low, high]; without `high` there is no upper bound."""

    low: int
    high: int | None = None


@dataclass(frozen=True)
class Number:
    """A finite number, at least `low` where that is given."""

    low: float | None = None


@dataclass(frozen=True)
class Text:
    """Text; `what` says of what."""

    what: str


@dataclass(frozen=True)
class Choice:
    """One of a few words or numbers."""

    words: tuple[str | int, ...]


@dataclass(frozen=True)
class Items:
    """A list of `shortest` to `longest` values; bounds in `each` override the item's own."""

    item: Kind
    shortest: int = 0
    longest: int | None = None
    each: tuple[Kind, ...] = ()

    def kind(self, position: int) -> Kind:
        """The kind of the item at a position."""
        return self.each[position] if position < len(self.each) else self.item


@dataclass(frozen=True)
class Table:
    """Names of the user's choice with a value each; `what` says what the names are."""

    what: str
    item: Kind


@dataclass(frozen=True)
class Section:
    """Options in a group of their own, described by a dataclass."""

    of: type


Kind: TypeAlias = Flag | Integer | Number | Text | Choice | Items | Table | Section


MANY = 64
"""Upper bounds beyond this are those of sizes, threads or blocks."""
PLACEHOLDER = "NAME"
"""Stands for a name of the user's choice in the path of an option."""


@dataclass(frozen=True)
class Entry:
    """One option: `path` is its place in the file, `mapping.tile`."""

    path: str
    kind: Kind
    default: str
    doc: str


def option(kind: Kind, doc: str, default: Any = None) -> Any:  # noqa: ANN401 - as in `field`
    """A dataclass field that is an option. None: not given, the compiler decides."""
    metadata = {"kind": kind, "doc": doc}
    if isinstance(kind, Section):
        return field(default_factory=kind.of, metadata=metadata)
    if isinstance(kind, Table) and default is None:
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def options_of(section: type) -> dict[str, Field[Any]]:
    """The options of a section by name, in the order of their declaration."""
    if not is_dataclass(section):
        raise TypeError(f"{section} has no fields")
    return {f.name: f for f in fields(section) if "kind" in f.metadata}


def entries(section: type, prefix: str = "") -> Iterator[Entry]:
    """Every option below a section, in the order of declaration."""
    for name, declared in options_of(section).items():
        kind = declared.metadata["kind"]
        if isinstance(kind, Section):
            yield from entries(kind.of, f"{prefix}{name}.")
            continue
        default = "" if not isinstance(declared.default, int | float) else f"{declared.default}"
        yield Entry(prefix + name, kind, default.lower(), declared.metadata["doc"])
        if isinstance(kind, Table) and isinstance(kind.item, Section):
            yield from entries(kind.item.of, f"{prefix}{name}.{PLACEHOLDER}.")


def describe(kind: Kind) -> str:
    """The kind in a few words, as it follows `needs`: `an integer from 1 to 1024`."""
    match kind:
        case Flag():
            return "`true` or `false`"
        case Integer(low, high):
            return f"an integer {_bounds(low, high)}"
        case Number(low):
            return "a number" if low is None else f"a number of at least {low:g}"
        case Text(what):
            return what
        case Choice(words):
            return f"{', '.join(f'`{w}`' for w in words[:-1])} or `{words[-1]}`"
        case Items(item, shortest, longest, _):
            return f"a list of {_count(shortest, longest)}{_plural(item)}"
        case Table(what, item):
            return f"{what}, each with {describe(item)}"
        case Section():
            return "options below it"
        case _:
            assert_never(kind)


def _bounds(low: int, high: int | None) -> str:
    return f"of at least {low}" if high is None else f"from {low} to {high}"


def _count(shortest: int, longest: int | None) -> str:
    if longest is None:
        return f"at least {shortest} " if shortest > 1 else ""
    return f"{longest} " if shortest == longest else f"{shortest} to {longest} "


def _plural(kind: Kind) -> str:
    match kind:
        case Integer(low, high):
            return f"integers {_bounds(low, high)}"
        case Number():
            return "numbers"
        case Items(item):
            return f"lists of {_plural(item)}"
        case Text(what):
            return f"{what.removeprefix('a ')}s"
        case Table(what, item):
            return f"tables of {what}, each with {describe(item)}"
        case Flag() | Choice() | Section():
            return "values"
        case _:
            assert_never(kind)


def example(kind: Kind) -> str:
    """A value of the kind, in flow style."""
    match kind:
        case Flag():
            return "true"
        case Integer(low, high):
            return str(max(low, 32 if high is None or high > MANY else 2))
        case Number(low):
            return str(low or 0.5)
        case Text():
            return PLACEHOLDER
        case Choice(words):
            return str(words[0])
        case Items(_, shortest, _, _):
            return f"[{', '.join(example(kind.kind(i)) for i in range(max(shortest, 1)))}]"
        case Table(_, item):
            return f"{{{PLACEHOLDER}: {example(item)}}}"
        case Section(of):
            name, declared = next(iter(options_of(of).items()))
            return f"{{{name}: {example(declared.metadata['kind'])}}}"
        case _:
            assert_never(kind)
