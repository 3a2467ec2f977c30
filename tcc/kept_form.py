"""Data classes as bytes and back: what is read has the stated types, and nothing of it is run.

Whoever can write to the cache directory can also write a right checksum, so an entry is read like
a stranger's file: by an unpickler that knows the classes which the wanted one is made of, and then
taken apart and put together anew, field by field.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import EllipsisType, NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
_RAISED_BY_UNPICKLERS = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""An unpickler does as it is told, by arguments of any type and number."""


class Malformed(Exception):
    """Bytes that are no value of the wanted class."""


def to_bytes(value: object) -> bytes:
    """A value of data classes, enumerations, tuples, mappings and plain values, as bytes."""
    return pickle.dumps(value, protocol=5)


def from_bytes(data: bytes, wanted: type[T]) -> T:
    """The value of a class that `to_bytes` made these bytes of. Malformed for all other bytes."""
    try:
        found = _Reader(io.BytesIO(data), wanted).load()
        return _Form().rebuilt(found, wanted)  # type: ignore[no-any-return]  # as is checked
    except _RAISED_BY_UNPICKLERS as problem:
        raise Malformed(str(problem)) from problem


class _Reader(pickle.Unpickler):
    """Makes instances of the classes that a class is made of, and of no others."""

    def __init__(self, data: io.BytesIO, wanted: type) -> None:
        super().__init__(data)
        self._classes = _classes(wanted)

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401
        """A class by its module and name."""
        if (module, name) == ("builtins", "getattr"):
            return _member
        if (module, name) == ("builtins", "frozenset"):  # a cached property; it is left out
            return frozenset
        if (module, name) not in self._classes:
            raise pickle.UnpicklingError(f"an entry holds {module}.{name}")
        return self._classes[module, name]


def _member(kind: object, name: str) -> Enum:
    """A member of an enumeration; Python 3.11 before 3.11.4 keeps it as `getattr(kind, name)`."""
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        raise pickle.UnpicklingError(f"an entry holds an attribute of {kind}")
    return kind[name]


class _Form:
    """Puts values together anew; a part that occurs in many places is looked at once."""

    def __init__(self) -> None:
        self._done: dict[tuple[int, Any], Any] = {}

    def rebuilt(self, value: Any, wanted: Any) -> Any:  # noqa: ANN401 - types as values
        """A value made of the fields of this one. TypeError where a part has another type."""
        key = id(value), wanted
        if key not in self._done:
            self._done[key] = _BEGUN
            self._done[key] = self._made(value, wanted)
        if self._done[key] is _BEGUN:
            raise TypeError("a value that holds itself")
        return self._done[key]

    def _made(self, value: Any, wanted: Any) -> Any:  # noqa: ANN401
        origin = get_origin(wanted)
        if origin in (Union, UnionType):
            return self.rebuilt(value, _choice(value, wanted))
        _check_class(value, _plain(wanted))
        if isinstance(wanted, type) and is_dataclass(wanted):
            return wanted(**{n: self.rebuilt(vars(value)[n], h) for n, h in _hints(wanted)})
        if origin is tuple:
            return self._tuple(value, get_args(wanted))
        if origin is Mapping:
            key, held = get_args(wanted)
            return {self.rebuilt(k, key): self.rebuilt(v, held) for k, v in value.items()}
        return value

    def _tuple(self, value: tuple[Any, ...], wanted: tuple[Any, ...]) -> tuple[Any, ...]:
        if wanted[-1] is Ellipsis:
            return tuple(self.rebuilt(item, wanted[0]) for item in value)
        return tuple(self.rebuilt(v, w) for v, w in zip(value, wanted, strict=True))


_BEGUN = object()


def _check_class(value: object, kind: type) -> None:
    if type(value) is not kind:
        raise TypeError(f"{type(value).__name__} in place of {kind.__name__}")


def _plain(wanted: Any) -> type:  # noqa: ANN401
    """The class that instances of a type have."""
    origin = get_origin(wanted) or wanted
    return dict if origin is Mapping else origin


def _choice(value: object, wanted: Any) -> Any:  # noqa: ANN401
    """The member of a union that a value is an instance of."""
    for kind in get_args(wanted):
        if type(value) is _plain(kind):
            return kind
    raise TypeError(f"{type(value).__name__} in place of {wanted}")


@cache
def _hints(kind: type) -> tuple[tuple[str, Any], ...]:
    """The fields of a data class with their types."""
    hints = get_type_hints(kind)
    return tuple((field.name, hints[field.name]) for field in fields(kind))


@cache
def _classes(wanted: type) -> Mapping[tuple[str, str], type]:
    """The data classes and enumerations that a class is made of, itself included, by name."""
    found: dict[Any, None] = {}
    left: list[Any] = [wanted]
    while left:
        kind = left.pop()
        if kind not in found:
            found[kind] = None
            left += _parts(kind)
    classes = [k for k in found if isinstance(k, type)]
    own = [k for k in classes if is_dataclass(k) or issubclass(k, Enum)]
    return {(k.__module__, k.__qualname__): k for k in own}


def _parts(kind: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(kind, type) and is_dataclass(kind):
        yield from (hint for _, hint in _hints(kind))
    yield from (a for a in get_args(kind) if not isinstance(a, EllipsisType | NoneType))
