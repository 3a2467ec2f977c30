"""A content-addressed cache of compiled objects on disk.

An entry is one file, `objects/KK/KEY-DIGEST.SUFFIX`: KEY names what it was made from, DIGEST is
the hash of its content, so that damage shows and is built anew. Files appear by an atomic
replace; several processes may write the same entry.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from tcc.errors import ToolchainError


def default_directory() -> Path:
    """`$TCC_CACHE_DIR`, else `tcc` in the user's cache directory."""
    chosen = os.environ.get("TCC_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tcc"


def key_of(parts: Iterable[str | bytes]) -> str:
    """The key of an entry made from these parts, in this order."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:40]


class ObjectCache:
    """The cache in one directory, which is made when it is first written to."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or default_directory()

    def get(self, key: str, suffix: str, build: Callable[[Path], None]) -> Path:
        """The entry's file; `build` writes a missing one to the path it is given.

        ToolchainError when the directory cannot be written; whatever `build` raises.
        """
        folder = self.directory / "objects" / key[:2]
        found = _intact(folder, key, suffix)
        if found is not None:
            return found
        with writable(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(suffix=suffix, prefix="new-", dir=folder)
            os.close(handle)
        fresh = Path(name)
        try:
            build(fresh)
            entry = folder / f"{key}-{_digest(fresh)}{suffix}"
            with writable(folder):
                fresh.replace(entry)
        finally:
            fresh.unlink(missing_ok=True)
        return entry


def _intact(folder: Path, key: str, suffix: str) -> Path | None:
    """An undamaged entry; damaged ones are removed, and what cannot be read is passed over."""
    for path in sorted(folder.glob(f"{key}-*{suffix}")):
        try:
            if path.name == f"{key}-{_digest(path)}{suffix}":
                return path
            path.unlink()
        except OSError:
            continue  # another process removed it, or it is of another user
    return None


def _digest(path: Path) -> str:
    status = path.stat()
    return _digest_of(path, status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest_of(path: Path, *_: int) -> str:
    """The hash of a file's content, once in a process for the same file in the same state."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Turns an OSError of a write into a ToolchainError (E0705) that names the directory."""
    try:
        yield
    except OSError as problem:
        raise unwritable(folder, problem.strerror) from problem


def unwritable(folder: Path, reason: str | None) -> ToolchainError:
    """The error (E0705) of a directory that cannot be written."""
    return ToolchainError(
        f"error[E0705]: the cache directory `{folder}` cannot be written: {reason}\n"
        "  = help: set `TCC_CACHE_DIR` to a directory of yours that has room\n"
    )
