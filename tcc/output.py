"""Writes the outputs of a compilation: whole files only, and all of them or none."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def write_all(outputs: Mapping[Path, bytes]) -> None:
    """Write every file, replacing old ones; nobody ever sees half a file.

    New contents are complete on disk before the first old file is replaced, so that a missing
    folder, a full disk or Ctrl-C leaves everything as it was. Permissions of replaced files stay,
    links are followed, and what is no regular file (`/dev/null`, a pipe) is written to directly.
    OSError, with the name of the output, when one cannot be written.
    """
    staged: dict[Path, Path] = {}
    try:
        for path, data in outputs.items():
            try:
                if _is_special(path):
                    path.write_bytes(data)
                else:
                    final = Path(os.path.realpath(path))
                    staged[final] = _stage(path, final, data)
            except OSError as problem:  # a full disk has no name
                raise OSError(problem.errno, problem.strerror, str(path)) from problem
        for final, temporary in staged.items():
            temporary.replace(final)
    finally:
        for temporary in staged.values():
            with suppress(FileNotFoundError):
                temporary.unlink()


def check_writable(path: Path) -> None:
    """OSError when a file cannot be written here; nothing changes."""
    if not _is_special(path):
        _stage(path, Path(os.path.realpath(path)), b"").unlink()


def _is_special(path: Path) -> bool:
    if path.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(path))
    return path.exists() and not path.is_file()


def _stage(path: Path, final: Path, data: bytes) -> Path:
    """A temporary file beside the final one, with its contents and permissions."""
    if final.exists() and not os.access(final, os.W_OK):
        raise PermissionError(13, "Permission denied", str(path))
    temporary = final.parent / f".{final.name[:100]}.{secrets.token_hex(6)}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        if final.exists():
            temporary.chmod(final.stat().st_mode & 0o7777)
    except BaseException:
        temporary.unlink()
        raise
    return temporary
