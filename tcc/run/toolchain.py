"""Finds the compilers that tcc calls: a C++ compiler for the host device, nvcc."""

from __future__ import annotations

import errno
import importlib.util
import os
import platform
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tcc.errors import RejectedText, ToolchainError
from tcc.run.cache import unwritable
from tcc.run.process import run_tool

CXX_NAMES = ("g++", "clang++")
HOST_PLATFORMS = (("Linux", "x86_64"), ("Linux", "aarch64"))
FULL = os.strerror(errno.ENOSPC)
"""What compilers say of a full disk, which is no fault of the text."""
X86_64_V3 = frozenset(("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "abm"))
"""What `/proc/cpuinfo` says of a CPU that runs code for the level x86-64-v3."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: how to call it, and a text that changes when it is replaced.

    `command` ends in the flags that let it use what this machine's CPU can do.
    """

    name: str
    command: tuple[str, ...]
    identity: str

    def run(self, arguments: list[str], directory: Path) -> str:
        """Call it in a directory; what it says. ToolchainError with its log when it fails."""
        done = run_tool([*self.command, *arguments], directory)
        if done.returncode != 0 and FULL in done.stderr:
            raise unwritable(directory, FULL)
        if done.returncode != 0:
            raise RejectedText(
                f"error[E0702]: `{self.name}` rejects the emitted text\n"
                f"{done.stderr or done.stdout}"
                "  = help: this is a fault of tcc or of the compiler; try another compiler\n"
            )
        return done.stderr


def find_cxx() -> Compiler:
    """The compiler for the host device: g++ or clang++ from PATH, else the package `ziglang`.

    ToolchainError when there is none (E0701), or the host device cannot run here (E0709).
    """
    if (platform.system(), platform.machine()) not in HOST_PLATFORMS:
        raise ToolchainError(
            f"error[E0709]: no host device on {platform.system()} {platform.machine()}\n"
            "  = note: it runs on Linux, on x86-64 and AArch64\n"
            "  = help: use a container with Linux, or a GPU: `--device cuda`\n"
        )
    found = (c for c in (*map(_on_path, CXX_NAMES), zig()) if c is not None)
    compiler = next(found, None)
    if compiler is None:
        raise ToolchainError(
            "error[E0701]: no C++ compiler for the host device\n"
            f"  = note: {', '.join(f'`{n}`' for n in CXX_NAMES)} are not on PATH, "
            "and the package `ziglang` is not installed\n"
            '  = help: install one of them: `pip install "tcc[host]"` needs nothing else\n'
        )
    return compiler


def zig() -> Compiler | None:
    """The C++ compiler of the package `ziglang`."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    binary = Path(spec.submodule_search_locations[0]) / "zig"
    if not binary.exists():
        return None
    level = ("-mcpu=x86_64_v3",) if is_x86_64_v3() else ()
    return Compiler("zig c++", (str(binary), "c++", *level), _identity(binary))


def find_nvcc() -> str | None:
    """The path of nvcc, from PATH."""
    return shutil.which("nvcc")


@cache
def is_x86_64_v3() -> bool:
    """Whether this machine's CPU has AVX2 and fused multiply-add, and the rest of that level."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    line = next((x for x in text.splitlines() if x.startswith("flags")), "")
    return set(line.split()) >= X86_64_V3


def _on_path(name: str) -> Compiler | None:
    path = shutil.which(name)
    level = ("-march=x86-64-v3",) if is_x86_64_v3() else ()
    return None if path is None else Compiler(name, (path, *level), _identity(Path(path)))


def _identity(binary: Path) -> str:
    """Cheaper than asking for the version, and as good: it changes with every installation."""
    real = Path(os.path.realpath(binary))
    status = real.stat()
    return f"{real} {status.st_size} {status.st_mtime_ns}"
