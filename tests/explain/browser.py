"""Pages opened in a real browser: Debian's Chromium, without a window and without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = "needs the program chromium"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--force-device-scale-factor=1",
)
TIMEOUT_S = 120
_CONSOLE = re.compile(r"^\[.*:CONSOLE.*$", re.MULTILINE)


@dataclass(frozen=True)
class Opened:
    """The document after its scripts ran, and what the console said."""

    document: str
    console: tuple[str, ...]


def open_page(page: Path) -> Opened:
    """Load a page and run its scripts."""
    done = _run("--dump-dom", page.as_uri())
    return Opened(done.stdout, tuple(_CONSOLE.findall(done.stderr)))


def screenshot(page: Path, picture: Path, width: int, height: int) -> None:
    """A PNG of the upper part of a page."""
    _run(f"--screenshot={picture}", f"--window-size={width},{height}", page.as_uri())


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None, MISSING
    with tempfile.TemporaryDirectory() as profile:
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
