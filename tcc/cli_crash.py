"""What happens when tcc itself is at fault: a reproducer is saved, and the message says where."""

from __future__ import annotations

import hashlib
import platform
import re
import shlex
import tempfile
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tcc import __version__
from tcc.cli_session import Session
from tcc.run.cache import default_directory


def report_crash(session: Session, fault: BaseException) -> None:
    """Save what is needed to repeat the fault, and say so on stderr."""
    trace = "".join(traceback.format_exception(fault))
    folder = _save(session, trace)
    what = str(fault).split("\n", 1)[0] or type(fault).__name__
    session.say(
        f"internal compiler error: {what}\n"
        "  = note: this is a fault in tcc, not in the program\n"
        f"  = note: {_versions()}\n"
        f"  = note: program, options, command and traceback are saved in {folder}\n"
        "  = help: please report it and attach that folder\n"
    )


def _save(session: Session, trace: str) -> Path:
    """The folder of the reproducer; the same fault goes to the same folder."""
    name = f"crash-{hashlib.sha256((session.command.text + trace).encode()).hexdigest()[:12]}"
    try:
        folder = default_directory() / "crashes" / name
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix=f"tcc-{name}-"))
    files = {"command.txt": shlex.join(("tcc", *session.words)), "traceback.txt": trace}
    files["versions.txt"] = _versions()
    for place, text in session.read.items():
        files[re.sub(r"[^\w.]", "_", Path(place).name) or "input"] = text
    for file, text in files.items():
        (folder / file).write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder


def _versions() -> str:
    names = ("islpy", "numpy", "jinja2")
    packages = ", ".join(f"{name} {_version(name)}" for name in names)
    return f"tcc {__version__}, {packages}, Python {platform.python_version()}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
