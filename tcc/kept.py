"""Compilations that are kept: in this process, and on disk for the next one.

The key is the content: program, sizes, options, target, and the text of the compiler itself, so
that no version of it sees what another one made. Rejected programs are not kept.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from tcc.artifact import Artifact
from tcc.diagnostics import Diagnostic
from tcc.driver import Request, compile_program
from tcc.errors import ToolchainError
from tcc.kept_form import Malformed, from_bytes, to_bytes
from tcc.run.cache import ObjectCache, key_of
from tcc.sched.plan import Plan

T = TypeVar("T")
IN_MEMORY = 256
"""Kernels that a process remembers; the one that was not used for longest goes first."""
_SUFFIX = ".kernel"


@dataclass(frozen=True)
class Kept:
    """What is kept of a compilation."""

    artifact: Artifact | None
    reference: Artifact | None
    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...]


def compile_or_find(request: Request, store: ObjectCache | None = None) -> Kept:
    """What compiling gives, from disk where it was compiled before.

    A damaged entry is compiled anew; processes may write the same entry at once. Where the
    directory cannot be written nothing is kept. CompileError when the program is rejected.
    """
    made: list[Kept] = []

    def build(target: Path) -> None:
        made.append(_compile(request))
        target.write_bytes(to_bytes(made[0]))

    try:
        path = (store or ObjectCache()).get(request_key(request), _SUFFIX, build)
        return made[0] if made else from_bytes(path.read_bytes(), Kept)
    except (ToolchainError, FileNotFoundError, Malformed):
        return made[0] if made else _compile(request)


def request_key(request: Request) -> str:
    """The name of a request's entry."""
    options = request.options
    places = {**options.spans, **options.names}
    return key_of(
        (
            _fingerprint(),
            request.source.name,
            request.source.text,
            repr((request.entry, sorted(request.sizes.items()), request.target.name, options)),
            repr(request.naming),
            # Diagnostics point into the options file.
            repr([(path, s.start, s.end, s.source) for path, s in sorted(places.items())]),
        )
    )


class Recent(Generic[T]):
    """The values that were asked for last, by key; threads may share it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """The value of a key, made where it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self._values.setdefault(key, value)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
            return self._values.get(key, value)


def _compile(request: Request) -> Kept:
    made = compile_program(request)
    return Kept(made.artifact, made.reference, made.plan, made.diagnostics, made.notes)


@cache
def _fingerprint() -> str:
    """Names the compiler: its files, and the library that schedules."""
    total = hashlib.sha256(version("islpy").encode())
    root = Path(__file__).parent
    for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".j2", ".txt", ".h")):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()
