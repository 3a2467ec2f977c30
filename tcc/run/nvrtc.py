"""PTX and cubin from emitted text by NVRTC, on any machine: no GPU, driver or toolkit is needed.

NVRTC comes with the packages `cuda-bindings` and `nvidia-cuda-nvrtc`. The headers for the half
types and for asynchronous copies are bundled in it; they are unpacked once into the cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tcc.errors import ToolchainError
from tcc.run.cache import default_directory, writable

SOURCE_NAME = "kernel.cu"
ANOTHER = "  = help: name another architecture, or `pip install` another version of NVRTC\n"
_HEADERS = re.compile(r"^\s*#include <(?:cuda_fp16|cuda_bf16|cuda_pipeline|mma)\.h>", re.MULTILINE)


def compile_ptx(text: str, arch: str) -> str:
    """PTX for an architecture such as `sm_90`; the same text gives the same PTX.

    ToolchainError (E0703) when NVRTC is not installed, (E0704) with its log when it rejects the
    text or does not know the architecture.
    """
    nvrtc = _library()
    virtual = arch.replace("sm_", "compute_", 1)
    ptx = _compile(text, virtual, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    return ptx.rstrip(b"\0").decode()


def compile_cubin(text: str, arch: str) -> bytes:
    """A cubin for an architecture such as `sm_90`; errors as for `compile_ptx`."""
    nvrtc = _library()
    return _compile(text, arch, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)


def version() -> tuple[int, int]:
    """Major and minor version of the installed NVRTC."""
    status, major, minor = _library().nvrtcVersion()
    _expect(status, "nvrtcVersion")
    return major, minor


def _compile(
    text: str, arch: str, get_size: Callable[..., Any], get_data: Callable[..., Any]
) -> bytes:
    nvrtc = _library()
    options = [f"--gpu-architecture={arch}", "-std=c++17"]
    options += [f"-I{d}" for d in include_directories(text)]
    status, program = nvrtc.nvrtcCreateProgram(text.encode(), SOURCE_NAME.encode(), 0, [], [])
    _expect(status, "nvrtcCreateProgram")
    try:
        encoded = [o.encode() for o in options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise _rejected(arch, str(status.name), _read_log(program))
        return _read(program, get_size, get_data)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def include_directories(text: str) -> tuple[Path, ...]:
    """Where the CUDA headers that the text includes are; none when it includes none."""
    if not _HEADERS.search(text):
        return ()
    if hasattr(_library(), "nvrtcInstallBundledHeaders"):
        root = _bundled_headers(default_directory())
        return (root, root / "cccl")
    return _installed_headers()


@cache
def _bundled_headers(directory: Path) -> Path:
    """The headers in NVRTC itself, unpacked once (13.1 and later have them)."""
    nvrtc = _library()
    major, minor = version()
    target = directory / f"nvrtc-headers-{major}.{minor}"
    with writable(directory):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = nvrtc.NVRTC_INSTALL_HEADERS_SKIP_IF_EXISTS
    status, log = nvrtc.nvrtcInstallBundledHeaders(str(target).encode(), flags)
    _expect(status, "nvrtcInstallBundledHeaders", log)
    return target


def _installed_headers() -> tuple[Path, ...]:
    """The headers of CUDA's packages or of a toolkit; `cuda.pathfinder` comes with the bindings."""
    from cuda.pathfinder import find_nvidia_header_directory  # noqa: PLC0415  (part of the extra)

    found = [find_nvidia_header_directory(name) for name in ("cudart", "cccl")]
    if found[0] is None:
        major, minor = version()
        raise ToolchainError(
            f"error[E0703]: NVRTC {major}.{minor} finds no CUDA headers\n"
            "  = note: the text includes headers for half types or asynchronous copies\n"
            "  = help: install the package `nvidia-cuda-runtime`, or a newer NVRTC: "
            '`pip install --upgrade "tcc[nvrtc]"`\n'
        )
    return tuple(Path(f) for f in found if f is not None)


def _read_log(program: object) -> str:
    nvrtc = _library()
    log = _read(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
    return log.rstrip(b"\0 \n").decode(errors="replace")


def _read(program: object, get_size: Callable[..., Any], get_data: Callable[..., Any]) -> bytes:
    status, size = get_size(program)
    _expect(status, "the size of a result")
    data = bytes(size)
    (status,) = get_data(program, data)
    _expect(status, "a result")
    return data


def _expect(status: Any, what: str, log: object = None) -> None:  # noqa: ANN401
    if status != _library().nvrtcResult.NVRTC_SUCCESS:
        raise ToolchainError(
            f"error[E0704]: NVRTC fails: {what}: {status.name}\n"
            + (f"{log}\n" if log else "")
            + ANOTHER
        )


def _rejected(arch: str, status: str, log: str) -> ToolchainError:
    return ToolchainError(
        f"error[E0704]: NVRTC does not compile the text for `{arch}`: {status}\n{log}\n{ANOTHER}"
    )


@cache
def _library() -> ModuleType:
    """The bindings, with NVRTC itself behind them."""
    try:
        from cuda.bindings import nvrtc  # noqa: PLC0415  (an extra; only --ptx and --cubin need it)

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError, OSError) as problem:
        raise ToolchainError(
            f"error[E0703]: NVRTC is not installed: {problem}\n"
            '  = help: `pip install "tcc[nvrtc]"`; it needs no GPU\n'
        ) from problem
    module: ModuleType = nvrtc
    return module
