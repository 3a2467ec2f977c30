"""Compiles emitted text, unchanged, to a program for this machine."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tcc.artifact import Argument, ArgumentKind, Artifact, Interface
from tcc.errors import RejectedText
from tcc.run.cache import ObjectCache, key_of
from tcc.run.linking import PLAIN, link_flags
from tcc.run.precompiled import precompiled
from tcc.run.toolchain import Compiler

SHIM = Path(__file__).resolve().parent.parent / "templates" / "host"
FLAGS = (
    "-std=c++17",
    "-O2",
    "-pipe",
    "-nostdinc++",
    "-ffp-contract=off",
    "-fno-exceptions",
    "-fno-math-errno",
    "-fno-rtti",
    "-fno-sanitize=all",
    "-fno-strict-aliasing",
    "-fno-threadsafe-statics",
    "-fno-trapping-math",
    "-fstack-clash-protection",
    "-fwrapv",
)
"""Integers wrap and floats round as on a GPU; no C++ library, so that the zig wheel is enough."""

_FAR_ADDRESS = "relocation truncated to fit"
_FAR_FLAGS = ("-fPIC", "-ftls-model=initial-exec")
"""Compilers follow paths that no thread takes, to addresses of shared memory 2 GB away."""

_GLUE = ("-c", "-o", "glue.o", "glue.cpp")

_DYNAMIC_SHARED = re.compile(r"\bextern\s+__shared__\b[^;\[\]]*?\b(\w+)\s*\[\s*\]\s*;")


@dataclass(frozen=True)
class Flavour:
    """A kind of program: flags for the emitted text besides FLAGS, and for the runtime.

    `finish` gets a fresh program and what the compiler said of it.
    """

    text_flags: tuple[str, ...] = ("-w",)
    runtime_flags: tuple[str, ...] = ("-w",)
    finish: Callable[[Path, str], None] | None = None


FAST = Flavour()
QUICK = Flavour(("-w", "-O1"))
"""For programs that run once or twice: they compile in two thirds of the time."""


def build(
    artifact: Artifact, compiler: Compiler, cache: ObjectCache, flavour: Flavour = FAST
) -> Path:
    """The program that runs an artifact's launcher on a job; compiled when it is not cached.

    ToolchainError with the compiler's log when it rejects the text.
    """
    glue = glue_text(artifact.interface, artifact.cuda_source)

    def compile_program(target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="tcc-") as name:
            folder = Path(name)
            (folder / "kernel.cu").write_text(artifact.cuda_source, encoding="utf-8")
            (folder / "glue.cpp").write_text(glue, encoding="utf-8")
            log = _Toolchain(compiler, cache, flavour).make(target, folder)
        if flavour.finish is not None:
            flavour.finish(target, log)

    key = key_of((*_key_parts(compiler), *flavour.text_flags, artifact.cuda_source, glue))
    return cache.get(key, ".exe", compile_program)


class _Toolchain:
    """Makes programs of one flavour."""

    def __init__(self, compiler: Compiler, cache: ObjectCache, flavour: Flavour) -> None:
        self._compiler = compiler
        self._flags = (*FLAGS, *flavour.text_flags, "-I.", f"-I{SHIM}")
        self._key = _key_parts(compiler)
        self._cache = cache
        self._runtime = _runtime(compiler, cache, flavour)

    def make(self, target: Path, folder: Path) -> str:
        """Compile the glue and link it with the runtime; what the compiler says of the text."""
        log = self._compile(folder)
        if not self._link(target, folder):
            log = self._compiler.run([*self._flags, *_FAR_FLAGS, *_GLUE], folder)
            self._run_linker(target, folder, PLAIN)
        return log

    def _compile(self, folder: Path) -> str:
        """With the precompiled header, unless it is of no use."""
        header = precompiled(self._compiler, self._cache, self._flags, self._key)
        if header is not None:
            with suppress(RejectedText):
                include = ("-include", str(header.with_suffix("")))
                return self._compiler.run([*self._flags, *include, *_GLUE], folder)
        log = self._compiler.run([*self._flags, *_GLUE], folder)
        if header is not None:
            header.unlink(missing_ok=True)  # the text is not at fault
        return log

    def _link(self, target: Path, folder: Path) -> bool:
        """False where addresses are too far away."""
        way = link_flags(self._compiler, self._cache, self._runtime, FLAGS, self._key)
        with suppress(RejectedText):
            self._run_linker(target, folder, way)
            return True
        try:
            self._run_linker(target, folder, PLAIN)
        except RejectedText as problem:
            if _FAR_ADDRESS not in str(problem):
                raise
            return False
        return True

    def _run_linker(self, target: Path, folder: Path, way: Sequence[str]) -> None:
        arguments = [*FLAGS, "-o", str(target), "glue.o", str(self._runtime), *way]
        self._compiler.run(arguments, folder)


def glue_text(interface: Interface, cuda_source: str) -> str:
    """C++ that includes the emitted text and calls its launcher on a job's buffers and sizes.

    The launcher gets another name, because a def may be called `write` or `main`; so do dynamic
    shared arrays, which the runtime defines.
    """
    names = [interface.function, *dict.fromkeys(_DYNAMIC_SHARED.findall(cuda_source))]
    renamed = ["tcc_launcher", *["tcc_dynamic_shared"] * (len(names) - 1)]
    macros = [f"#define {n} {r}" for n, r in zip(names, renamed, strict=True)]
    tensors = [a for a in interface.arguments if a.kind is not ArgumentKind.SIZE]
    sizes = [a for a in interface.arguments if a.kind is ArgumentKind.SIZE]
    has_workspace = any(a.kind is ArgumentKind.WORKSPACE for a in tensors)
    values = ", ".join(_value(a, tensors, sizes) for a in interface.arguments)
    size_list = ", ".join(_value(a, tensors, sizes) for a in sizes)
    bytes_call = f"{interface.function}_workspace_bytes({size_list})" if has_workspace else "0"
    return f"""\
#include <cuda_runtime.h>
struct AnyPointer {{
  void* address;
  template <class T> operator T*() const {{ return static_cast<T*>(address); }}
}};
{chr(10).join(macros)}
#include "kernel.cu"
extern "C" int tcc_call_launcher(void* const* buffers, const int* sizes) {{
  return {interface.function}({values}{", " if values else ""}nullptr);
}}
extern "C" size_t tcc_workspace_bytes(const int* sizes) {{ return {bytes_call}; }}
"""


def _value(argument: Argument, tensors: Sequence[Argument], sizes: Sequence[Argument]) -> str:
    if argument.kind is ArgumentKind.SIZE:
        return f"sizes[{sizes.index(argument)}]"
    return f"AnyPointer{{buffers[{tensors.index(argument)}]}}"


def _runtime(compiler: Compiler, cache: ObjectCache, flavour: Flavour) -> Path:
    """The runtime's object file."""
    flags = flavour.runtime_flags

    def compile_runtime(target: Path) -> None:
        source = str(SHIM / "runtime.cpp")
        compiler.run([*FLAGS, *flags, "-c", "-o", str(target), source], target.parent)

    return cache.get(key_of((*_key_parts(compiler), *flags, "runtime")), ".o", compile_runtime)


def _key_parts(compiler: Compiler) -> tuple[str, ...]:
    return (compiler.identity, *compiler.command, *FLAGS, _shim_text())


@cache
def _shim_text() -> str:
    """Everything under templates/host, for the key of what is compiled with it."""
    files = sorted(p for p in SHIM.iterdir() if p.suffix in (".h", ".cpp"))
    return "\0".join(f"{p.name}\0{p.read_text(encoding='utf-8')}" for p in files)
