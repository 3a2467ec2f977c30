"""The C++ compilers of this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tcc.run.toolchain import CXX_NAMES, Compiler, _on_path, zig


def compilers() -> list[Compiler]:
    """Every compiler that is here; clang also under a name with its version."""
    versions = {
        name
        for folder in os.get_exec_path()
        if Path(folder).is_dir()
        for name in os.listdir(folder)
        if name.startswith("clang++-")
    }
    names = [n for n in (*CXX_NAMES, *sorted(versions)) if shutil.which(n)]
    found = [c for c in (*map(_on_path, names), zig()) if c is not None]
    return list({c.identity: c for c in found}.values())
