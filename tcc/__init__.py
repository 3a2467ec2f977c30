"""Compiles tensor comprehensions to standalone CUDA C++.

The stages, in order, with what each hands on:

    source        text and spans                     frontend/   text → syntax tree → typed program
    diagnostics   findings as data, render as text   sched/      integer sets, schedule, plan
    options       what a user may ask for            kernel/     kernel IR → CUDA text → artifact
    target        the GPUs, as numbers               run/        executes and verifies artifacts
    driver        the list of passes                 cli, api    the two ways in

The public names are loaded when they are first used, so that `import tcc` costs nothing: Ctrl-C
before the command can answer it would be a traceback.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; `typing` takes longer to load than all of this
if TYPE_CHECKING:
    from tcc.api import Kernel, compile
    from tcc.errors import (
        CompileError,
        InternalError,
        RunError,
        TccError,
        ToolchainError,
        UsageError,
        WrongResult,
    )

__version__ = "0.1.0"
__all__ = [
    "CompileError",
    "InternalError",
    "Kernel",
    "RunError",
    "TccError",
    "ToolchainError",
    "UsageError",
    "WrongResult",
    "__version__",
    "compile",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module `tcc` has no attribute `{name}`")
    from importlib import import_module

    module = import_module("tcc.api" if name in ("Kernel", "compile") else "tcc.errors")
    value: object = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
