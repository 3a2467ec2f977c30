"""How programs are linked: by gold where the compiler has it, without the C++ library.

gold takes half of the time of the usual linker, and a program that does not load the C++ library
also starts sooner. The runtime and the emitted text need nothing of it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tcc.errors import ToolchainError
from tcc.run.cache import ObjectCache, key_of
from tcc.run.toolchain import Compiler

PLAIN = ("-lm",)
"""What every compiler can do."""

_PLAIN_C = ("-nodefaultlibs", "-lm", "-lgcc", "-lc", "-lgcc")
_WAYS = (("-fuse-ld=gold", *_PLAIN_C), ("-fuse-ld=gold", *PLAIN))
_TRIAL = """\
extern "C" int tcc_call_launcher(void* const*, const int*) { return 0; }
extern "C" decltype(sizeof(0)) tcc_workspace_bytes(const int*) { return 0; }
"""


def link_flags(
    compiler: Compiler, cache: ObjectCache, runtime: Path, flags: Sequence[str], key: Sequence[str]
) -> tuple[str, ...]:
    """The end of a command that links `runtime`: the first of the ways that works.

    `flags` are those of every command, `key` is what the runtime is made from. g++ only; other
    compilers link in their own way.
    """
    if compiler.name != "g++":
        return PLAIN

    def find(target: Path) -> None:
        found = next((w for w in _WAYS if _links(compiler, runtime, flags, w)), PLAIN)
        target.write_text(json.dumps(found), encoding="utf-8")

    entry = cache.get(key_of((*key, *flags, "link")), ".json", find)
    return tuple(json.loads(entry.read_text(encoding="utf-8")))


def _links(compiler: Compiler, runtime: Path, flags: Sequence[str], way: Sequence[str]) -> bool:
    """Whether the compiler makes a program of the runtime in this way."""
    with tempfile.TemporaryDirectory(prefix="tcc-") as name:
        folder = Path(name)
        (folder / "trial.cpp").write_text(_TRIAL, encoding="utf-8")
        with suppress(ToolchainError):
            compiler.run([*flags, "-o", "trial", "trial.cpp", str(runtime), *way], folder)
            return True
    return False
