"""The host's header, compiled once for all emitted texts that are compiled with the same flags.

Reading it takes half of the time in which g++ compiles a small kernel. Other compilers read the
header as it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tcc.errors import ToolchainError
from tcc.run.cache import ObjectCache, key_of
from tcc.run.toolchain import Compiler

SUFFIX = ".gch"
"""g++ takes `FILE.gch` where it is told to include FILE."""

_HEADER = "#include <cuda_runtime.h>\n"
_TRIAL = "dim3 tcc_trial;\n"


def precompiled(
    compiler: Compiler, cache: ObjectCache, flags: Sequence[str], key: Sequence[str]
) -> Path | None:
    """`FILE.gch`, for `-include FILE` before a text; None where that is of no use.

    `flags` are all that the text is compiled with, the folder of the header included; `key` is
    what else the header depends on.
    """
    if compiler.name != "g++":
        return None

    def precompile(target: Path) -> None:
        """Leaves the file empty when the compiler does not take what it made."""
        with tempfile.TemporaryDirectory(prefix="new-", dir=target.parent) as name:
            folder = Path(name)
            (folder / "header.h").write_text(_HEADER, encoding="utf-8")
            (folder / "trial.cpp").write_text(_TRIAL, encoding="utf-8")
            with suppress(ToolchainError):
                make = ["-x", "c++-header", "-o", f"header{SUFFIX}", "header.h"]
                compiler.run([*flags, *make], folder)
                # There is no file `header`: only the precompiled one can be included.
                compiler.run([*flags, "-include", "header", "-fsyntax-only", "trial.cpp"], folder)
                (folder / f"header{SUFFIX}").replace(target)

    entry = cache.get(key_of((*key, *flags, "header")), SUFFIX, precompile)
    return entry if entry.stat().st_size else None
