"""The checking build: the emitted text, unchanged, with a call to our checker at every access.

The compiler's `-fsanitize=thread,bounds,alignment` puts the calls in; the functions are ours
(templates/host/runtime_check.h), and no library of a sanitizer is linked. What else the compiler
knows is appended to the program: the lines of its code, the places of the shared arrays, and the
local variables that are read before they have a value.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import asdict, dataclass
from pathlib import Path

from tcc.artifact import Artifact
from tcc.run.cache import ObjectCache
from tcc.run.elf import Elf
from tcc.run.host_build import Flavour, build
from tcc.run.host_job import SharedArray
from tcc.run.line_table import line_rows
from tcc.run.toolchain import Compiler

_COMMON = (
    "-DTCC_CHECK",
    "-g1",
    "-gdwarf-4",
    "-ftrivial-auto-var-init=pattern",
    "-Wuninitialized",
)
# The bounds of constant indices cost nothing, so unroll: GCC does not know `#pragma unroll`.
_GCC = (
    "-fpeel-loops",
    "--param=max-completely-peeled-insns=5000",
    "--param=max-peel-branches=1000",
    "-fno-tree-vectorize",
    "-fsanitize=thread,bounds,alignment",
    "--param=tsan-instrument-func-entry-exit=0",
)
_CLANG = (
    "-Wno-everything",
    "-Wuninitialized",
    "-fno-vectorize",
    "-mllvm",
    "-slp-max-reg-size=128",
    "-mllvm",
    "-tsan-instrument-func-entry-exit=0",
    "-mllvm",
    "-tsan-instrument-read-before-write=1",
)
# Given to the compiler proper: its driver would link the libraries of the sanitizers.
_CLANG_SANITIZERS = (
    "-Xclang",
    "-fsanitize=thread,array-bounds,alignment",
    "-Xclang",
    "-fsanitize-recover=array-bounds,alignment",
)
_LENGTH = struct.Struct("<Q8s")
_MAGIC = b"tccsites"
_ARRAY_SYMBOL = re.compile(r"_ZZ(\d+)(\w+)")
_SYMBOL_TAIL = re.compile(r"E(\d+)(\w+)")
_UNINITIALISED = re.compile(r"^(?:\./)?kernel\.cu:(\d+):\d+: warning: .*?\W(\w+)\W is ")


@dataclass(frozen=True)
class Uninitialised:
    """A local variable that is read in a line before it has a value."""

    line: int
    name: str


@dataclass(frozen=True)
class CheckedProgram:
    """A program of the checking build; `lines` as `host_findings.Scene` has them."""

    path: Path
    lines: tuple[list[int], list[int]]
    arrays: tuple[SharedArray, ...]
    uninitialised: tuple[Uninitialised, ...]


def build_checked(
    artifact: Artifact, compiler: Compiler, cache: ObjectCache, flags: tuple[str, ...] = ()
) -> CheckedProgram:
    """The checking program of an artifact; compiled when it is not cached, with `flags` besides.

    ToolchainError with the compiler's log when it rejects the text.
    """
    path = build(artifact, compiler, cache, _flavour(compiler, flags))
    data = path.read_bytes()
    length, _ = _LENGTH.unpack(data[-_LENGTH.size :])
    facts = json.loads(data[-_LENGTH.size - length : -_LENGTH.size])
    return CheckedProgram(
        path,
        (facts["addresses"], facts["lines"]),
        tuple(SharedArray(**a) for a in facts["arrays"]),
        tuple(Uninitialised(**u) for u in facts["uninitialised"]),
    )


def _flavour(compiler: Compiler, flags: tuple[str, ...]) -> Flavour:
    special = _GCC if compiler.name == "g++" else (*_CLANG, *_CLANG_SANITIZERS)
    return Flavour((*_COMMON, *special, *flags), ("-w", "-DTCC_CHECK"), _append_facts)


def _append_facts(program: Path, log: str) -> None:
    """What the compiler knows, as JSON behind the program, with its length and a mark."""
    elf = Elf(program.read_bytes())
    rows = line_rows(elf)
    facts = {
        "addresses": [r.address for r in rows],
        "lines": [r.line if r.file.endswith("kernel.cu") else 0 for r in rows],
        "arrays": [asdict(a) for a in _arrays(elf)],
        "uninitialised": [
            {"line": int(m[1]), "name": m[2]}
            for m in map(_UNINITIALISED.match, log.splitlines())
            if m
        ],
    }
    data = json.dumps(facts, separators=(",", ":")).encode()
    with program.open("ab") as file:
        file.write(data + _LENGTH.pack(len(data), _MAGIC))


def _arrays(elf: Elf) -> list[SharedArray]:
    """The shared arrays of kernels, from names such as `_ZZ6kernelE8shared_A`."""
    found = []
    for symbol in elf.thread_local():
        head = _ARRAY_SYMBOL.fullmatch(symbol.name)
        if head is None:
            continue
        length = int(head[1])
        kernel, tail = head[2][:length], _SYMBOL_TAIL.fullmatch(head[2][length:])
        if tail is not None:
            name = tail[2][: int(tail[1])]
            found.append(SharedArray(kernel, name, symbol.offset, symbol.bytes))
    return sorted(found, key=lambda a: a.offset)
