"""Calls of the command line on files from a stranger, and what must hold of each.

A call that breaks a promise is written to `cases/` as JSON: the words and the files. While
hypothesis shrinks an example the file is written again and again; what stays is the smallest.
`test_cases.py` repeats every file of the folder.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tcc.cli import main
from tests.fuzz.watched import strange, watched

CASES = Path(__file__).parent / "cases"
EXPECTED = (0, 1, 2, 3, 4)
LONGEST_S = 20.0
"""CPU time of one call."""
LONGEST_LINE = 2000
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What moves the cursor of a terminal, or turns the order of the text around."""
TELLING = ("cache", "check", "explain", "targets", "options", "passes")
"""Commands whose stdout people read."""


@dataclass(frozen=True)
class Call:
    """The words after `tcc`, and the files in the folder where it is called.

    `outputs` are the names that the call may write, besides the cache.
    """

    words: tuple[str, ...]
    files: Mapping[str, bytes]
    outputs: frozenset[str] = frozenset()

    def json(self, broken: str) -> str:
        """The text of a case file."""
        files = {name: b64encode(data).decode() for name, data in self.files.items()}
        data = {"broken": broken, "words": self.words, "files": files}
        return json.dumps(data | {"outputs": sorted(self.outputs)}, indent=2) + "\n"


def load(path: Path) -> Call:
    """The call of a case file."""
    data = json.loads(path.read_text())
    files = {name: b64decode(text) for name, text in data["files"].items()}
    return Call(tuple(data["words"]), files, frozenset(data["outputs"]))


def check(call: Call, folder: Path, kind: str) -> int:
    """Call `tcc`; its exit code. AssertionError, and a case file, for a promise that it breaks."""
    for name, data in call.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    before = _listing(folder)
    began = time.process_time()
    with _inside(folder) as streams, watched() as seen:
        code = main(call.words)
    took = time.process_time() - began
    err = streams[1].buffer.getvalue().decode("utf-8", "replace")
    broken = _broken(call, code, err, took, _listing(folder) - before)
    if call.words[0] in TELLING and CONTROL.search(streams[0].buffer.getvalue().decode()):
        broken = broken or "a control character on stdout"
    if found := strange(seen, folder):
        broken = broken or f"does {found[0]}"
    if broken:
        (CASES / f"{kind}.json").write_text(call.json(broken))
        raise AssertionError(f"{broken}\n{err}")
    return code


def _broken(call: Call, code: int, err: str, took_s: float, written: set[str]) -> str | None:
    """What does not hold; None when all does."""
    if code not in EXPECTED:
        return f"exit code {code}"
    if "Traceback" in err or "internal" in err:
        return "a trace on stderr"
    if took_s > LONGEST_S:
        return f"{took_s:.0f} s of CPU time"
    if written - call.outputs:
        return f"writes {', '.join(sorted(written - call.outputs))}"
    if code in (1, 2) and not err:
        return "fails without a word"
    if max(map(len, err.splitlines()), default=0) > LONGEST_LINE:
        return "a line without end"
    if CONTROL.search(err.replace("\r\n", "\n")):
        return "a control character on stderr"
    return None


def _listing(folder: Path) -> set[str]:
    """The files of a folder but for the cache."""
    found = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    return {str(p) for p in found if p.parts[0] != "cache"}


@contextmanager
def _inside(folder: Path) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """The folder as the working directory, its cache, and streams that are no terminals."""
    streams = tuple(io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    home = Path.cwd()
    environment = {"TCC_CACHE_DIR": str(folder / "cache")}
    with (
        patch.dict("os.environ", environment),
        patch.object(sys, "stdout", streams[0]),
        patch.object(sys, "stderr", streams[1]),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(), "utf-8")),
    ):
        os.chdir(folder)
        try:
            yield streams[0], streams[1]
        finally:
            os.chdir(home)
