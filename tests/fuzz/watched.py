"""Sees every file that Python opens for writing, every process and every connection it makes."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.chmod",
           "os.truncate", "os.utime", "shutil.rmtree")  # fmt: skip
CALLS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect",
         "socket.bind", "ctypes.dlopen", "urllib.Request", "webbrowser.open")  # fmt: skip
_watching: list[list[str]] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
    if opens or event in CHANGES:
        _watching[-1].append(f"writes {_path(arguments[0])}")
    elif event in CALLS:
        _watching[-1].append(f"{event} {arguments[0]}")


sys.addaudithook(_hook)  # cannot be removed; does nothing outside of `watched`


def _path(given: object) -> str:
    if isinstance(given, int):
        return f"descriptor {given}"
    return str(Path(os.path.abspath(os.fsdecode(given))))  # type: ignore[arg-type]


@contextmanager
def watched() -> Iterator[list[str]]:
    """What happens in the block: `writes PATH`, and what runs or connects."""
    seen: list[str] = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.pop()


def strange(seen: list[str], folder: Path) -> list[str]:
    """What tcc has no business to do when it is called in a folder, besides running compilers."""
    places = (str(folder), f"{tempfile.gettempdir()}{os.sep}", os.devnull)
    return [event for event in seen if not _is_expected(event, places)]


def _is_expected(event: str, places: tuple[str, ...]) -> bool:
    what, _, path = event.partition(" ")
    if what == "writes":
        return path.startswith((*places, "descriptor")) or "__pycache__" in path
    if what == "ctypes.dlopen":
        return True
    return what == "subprocess.Popen" and (
        Path(path).name in ("g++", "clang++", "cc", Path(sys.executable).name, "nvcc")
        or path.startswith(places[0])
    )
