"""From emitted text to machine instructions: NVRTC or nvcc, then `cuobjdump`.

`cuobjdump` and the `nvdisasm` that it calls come with the packages `nvidia-cuda-cuobjdump` and
`nvidia-cuda-nvdisasm`, or with a toolkit on PATH.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tcc.errors import RejectedText, ToolchainError
from tcc.run import nvrtc
from tcc.run.cache import ObjectCache, key_of
from tcc.run.process import run_tool
from tcc.run.toolchain import find_nvcc

_FUNCTION = re.compile(r"\s*Function : (\S+)")
_LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
_GUARD = re.compile(r"@!?U?P\w+\s+")
_USAGE = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
_TARGET = re.compile(r"0x([0-9a-f]+)")


@dataclass(frozen=True)
class Instruction:
    """One instruction; `opcode` with its modifiers, `LDG.E.128.CONSTANT`."""

    address: int
    opcode: str
    text: str

    @property
    def target(self) -> int | None:
        """The address that a branch goes to, where the text has it."""
        found = _TARGET.search(self.text) if self.opcode.split(".")[0] == "BRA" else None
        return int(found[1], 16) if found else None


@dataclass(frozen=True)
class Code:
    """The instructions of one kernel, and what the assembler says it uses.

    `local_bytes` counts the stack and local memory of a thread.
    """

    kernel: str
    instructions: tuple[Instruction, ...]
    registers: int
    local_bytes: int


@dataclass(frozen=True)
class Tools:
    """What disassembles: the two programs, and a text that changes when they do."""

    cuobjdump: Path
    nvdisasm: Path

    @property
    def identity(self) -> str:
        """Names the very files."""
        stats = [p.stat() for p in (self.cuobjdump, self.nvdisasm)]
        return " ".join(f"{s.st_size}.{s.st_mtime_ns}" for s in stats)

    def run(self, cubin: Path) -> str:
        """Instructions and resources of all kernels of a cubin, as `cuobjdump` prints them."""
        path = f"{self.nvdisasm.parent}{os.pathsep}{os.defpath}"
        done = subprocess.run(
            [self.cuobjdump, "-sass", "-res-usage", cubin],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": path},
        )
        if done.returncode != 0:
            raise ToolchainError(
                f"error[E0702]: `cuobjdump` fails\n{done.stderr}"
                "  = help: install another version of `nvidia-cuda-cuobjdump`\n"
            )
        return done.stdout + done.stderr


@cache
def find_tools() -> Tools:
    """The disassembler, from its packages or from PATH. ToolchainError when there is none."""
    found = [_in_packages(n) or _on_path(n) for n in ("cuobjdump", "nvdisasm")]
    if found[0] is None or found[1] is None:
        raise ToolchainError(
            "error[E0703]: no disassembler: `cuobjdump` and `nvdisasm` are neither installed "
            "as packages nor on PATH\n"
            "  = help: `pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm`; no GPU is needed\n"
        )
    return Tools(found[0], found[1])


def compiler_name() -> str:
    """What makes cubins here, with its version. ToolchainError when nothing does."""
    try:
        return "NVRTC {}.{}".format(*nvrtc.version())
    except ToolchainError:
        nvcc = find_nvcc()
        if nvcc is None:
            raise
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"V([\d.]+)", text)
    return f"nvcc {found[1] if found else 'of an unknown version'}"


def disassemble(text: str, arch: str, kept: ObjectCache | None = None) -> dict[str, Code]:
    """The machine code of every kernel of an emitted text, by name.

    Disassembled text is kept in the cache of compiled objects. ToolchainError when a tool is
    missing or rejects the text.
    """
    tools, compiler = find_tools(), compiler_name()

    def build(target: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cubin = Path(folder) / "kernel.cubin"
            _write_cubin(text, arch, cubin)
            target.write_text(tools.run(cubin))

    key = key_of(("sass", compiler, tools.identity, arch, text))
    return parse((kept or ObjectCache()).get(key, ".sass", build).read_text())


def parse(listing: str) -> dict[str, Code]:
    """The kernels in the output of `cuobjdump -sass -res-usage`."""
    bodies: dict[str, list[Instruction]] = {}
    body: list[Instruction] = []
    for line in listing.splitlines():
        if named := _FUNCTION.match(line):
            body = bodies.setdefault(named[1], [])
        elif found := _LINE.match(line):
            operation = _GUARD.sub("", found[2], count=1)
            opcode = operation.split()[0]
            body.append(Instruction(int(found[1], 16), opcode, operation))
    usage = {m[1]: m for m in _USAGE.finditer(listing)}
    return {
        name: Code(
            name, tuple(body), int(usage[name][2]), int(usage[name][3]) + int(usage[name][5])
        )
        for name, body in bodies.items()
    }


def _write_cubin(text: str, arch: str, cubin: Path) -> None:
    nvcc = find_nvcc()
    try:
        cubin.write_bytes(nvrtc.compile_cubin(text, arch))
        return
    except ToolchainError as problem:
        if nvcc is None or "E0703" not in str(problem):
            raise
    source = cubin.with_suffix(".cu")
    source.write_text(text)
    command = [nvcc, "-std=c++17", "-cubin", f"-arch={arch}", "-o", str(cubin), str(source)]
    done = run_tool(command)
    if done.returncode != 0:
        raise RejectedText(
            f"error[E0702]: `nvcc` rejects the emitted text\n{done.stderr}"
            "  = help: this is a fault of tcc or of `nvcc`; try another version of it\n"
        )


def _on_path(name: str) -> Path | None:
    found = shutil.which(name)
    return Path(found) if found else None


def _in_packages(name: str) -> Path | None:
    """A program of one of NVIDIA's packages: `nvidia/cu13/bin/NAME`, newest first."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    found = sorted((p for r in roots for p in Path(r).glob(f"*/bin/{name}")), reverse=True)
    return next((p for p in found if os.access(p, os.X_OK)), None)
