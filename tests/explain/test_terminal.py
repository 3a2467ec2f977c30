"""The terminal view: colour for people, the same text for everything else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

from tests.doc_blocks import ROOT

COMMAND = [sys.executable, "-m", "tcc", "explain", str(ROOT / "specs" / "jacobi2d.tc")]
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def on_a_terminal(**environment: str) -> str:
    """What the command writes to a terminal."""
    reader, writer = pty.openpty()
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    done = subprocess.Popen(
        COMMAND, stdout=writer, stderr=subprocess.DEVNULL, env=plain | environment
    )
    os.close(writer)
    parts = []
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(reader)
    assert done.wait(120) == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_a_terminal_gets_colour_and_the_same_words():
    coloured = on_a_terminal(TERM="xterm")
    assert "\x1b[" in coloured
    piped = subprocess.run(COMMAND, capture_output=True, text=True, check=True, timeout=120).stdout
    assert "\x1b[" not in piped
    assert _ESCAPE.sub("", coloured) == piped
    assert on_a_terminal(TERM="xterm", NO_COLOR="1") == piped
    assert "A(i" in piped, "brackets and subscripts are kept"
