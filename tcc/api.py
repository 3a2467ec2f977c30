"""The Python API: compile a program, read what came out, run it on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tcc.artifact import Artifact, Launch
from tcc.driver import Compilation, Request, compile_program
from tcc.errors import InternalError, UsageError
from tcc.frontend.tir import Role
from tcc.inputs import options_of_data, options_of_source, read_source, target_of
from tcc.manifest import manifest
from tcc.options import Options
from tcc.source import Source

if TYPE_CHECKING:
    from tcc.diagnostics import Diagnostic
    from tcc.run.device import Array, Device
    from tcc.sched.plan import Plan

Path_: TypeAlias = str | PathLike[str]
DEVICES = ("host", "cuda")


@dataclass(frozen=True, eq=False, repr=False)
class Kernel:
    """A compiled program. Made by `compile`."""

    request: Request
    compilation: Compilation

    def __repr__(self) -> str:
        return f"<Kernel {self.artifact.interface.function} for {self.request.target.name}>"

    @property
    def artifact(self) -> Artifact:
        """The emitted texts and how to call them."""
        return _present(self.compilation.artifact)

    @property
    def reference(self) -> Artifact:
        """The same program by plain loops in one thread: the launcher `NAME_reference`."""
        return _present(self.compilation.reference)

    @property
    def cuda_source(self) -> str:
        """The text of the `.cu` file."""
        return self.artifact.cuda_source

    @property
    def header(self) -> str:
        """The text of the `.h` file."""
        return self.artifact.header

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """How to call and launch it, as plain data (`tcc.manifest`)."""
        return manifest(self.artifact, self.request.target, self.request.options)

    @property
    def plan(self) -> Plan | None:
        """How the loops are cut and mapped; `.text()` prints it."""
        return self.compilation.plan

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The kernel launches in order, grids over the symbolic sizes."""
        return self.artifact.interface.launches

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is probably wrong with the program."""
        return self.compilation.diagnostics

    def ptx(self) -> str:
        """The PTX text. ToolchainError without the NVRTC library (extra `nvrtc`)."""
        from tcc.run.nvrtc import compile_ptx

        return compile_ptx(self.cuda_source, self.request.target.name)

    def cubin(self) -> bytes:
        """The binary for the target. ToolchainError without the NVRTC library."""
        from tcc.run.nvrtc import compile_cubin

        return compile_cubin(self.cuda_source, self.request.target.name)

    def run(
        self, inputs: Mapping[str, Any], device: str = "host", check: bool = False
    ) -> dict[str, Array]:
        """Run on arrays: every input, and every in/out tensor, by name. The outputs by name.

        `check` uses the checking build of the host device: FindingsError, a RunError, for races,
        accesses out of bounds and reads of undefined memory. CompileError for arrays that do not
        fit (E06), and for `check` on another device (E0911). RunError when the kernel crashes or
        hangs, ToolchainError when the device is not there.
        """
        return device_of(device, check=check).run(self.artifact, inputs, {})

    def __call__(self, *arrays: Any) -> Any:
        """Run on arrays in the order of the def, inputs first, then in/out tensors.

        Arrays of a GPU library run on the GPU, others on the host. One output comes as an array,
        several as a tuple, in the order of the def.
        """
        tensors = self.artifact.interface.tensors
        taken = [t.name for role in (Role.INPUT, Role.INOUT) for t in tensors if t.role is role]
        if len(arrays) != len(taken):
            wanted = ", ".join(taken)
            raise UsageError(
                f"`{self.artifact.interface.function}` takes {len(taken)} arrays: {wanted}"
            )
        on_gpu = any(hasattr(a, "__cuda_array_interface__") for a in arrays)
        results = self.run(dict(zip(taken, arrays, strict=True)), "cuda" if on_gpu else "host")
        outputs = [results[t.name] for t in tensors if t.role in (Role.OUTPUT, Role.INOUT)]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def compile(
    program: Path_ | Source,
    entry: str | None = None,
    sizes: Mapping[str, int] | None = None,
    options: Path_ | Mapping[str, Any] | Options | None = None,
    target: str | None = None,
) -> Kernel:
    """Compile one def of a program.

    `program`: the path of a `.tc` file, or its text. `entry`: the def, where there are several.
    `sizes`: values of sizes; others stay open. `options`: the path or the text of an options
    file, or a dict of that form; what is given here directly wins over it. `target`: `sm_90`.
    CompileError with every finding when the program, its sizes or its options are rejected.
    """
    source = _source(program)
    chosen = _options(options)
    given = options_of_data("<sizes>", {"sizes": dict(sizes or {})}).sizes
    chosen_target = options_of_data("<target>", {"target": target}).target
    request = request_of(source, entry, given, chosen, chosen_target)
    return Kernel(request, compile_program(request))


def request_of(
    source: Source,
    entry: str | None,
    sizes: Mapping[str, int],
    options: Options,
    target: str | None,
) -> Request:
    """A request; entry, sizes and target win over those of the options."""
    merged = {**options.sizes, **sizes}
    return Request(source, entry or options.entry, merged, options, target_of(options, target))


def device_of(name: str, *, check: bool = False) -> Device:
    """The device of a name. UsageError when there is none, CompileError when it cannot check."""
    match name:
        case "host":
            from tcc.run.host import HostDevice

            return HostDevice(check=check)
        case "cuda" if check:
            from tcc.run.checking import refuse_check

            raise refuse_check(name)
        case "cuda":
            from tcc.run.cuda import CudaDevice

            return CudaDevice()
        case _:
            raise UsageError(f"there is no device `{name}`; devices are `host` and `cuda`")


def _present(artifact: Artifact | None) -> Artifact:
    if artifact is None:
        raise InternalError("the compilation stopped before it emitted anything")
    return artifact


def _source(program: Path_ | Source) -> Source:
    if isinstance(program, Source):
        return program
    if isinstance(program, str) and ("\n" in program or "{" in program):
        return Source("<text>", program)
    return read_source(Path(program))


def _options(options: Path_ | Mapping[str, Any] | Options | None) -> Options:
    match options:
        case None:
            return Options()
        case Options():
            return options
        case Mapping():
            return options_of_data("<options>", options)
        case str() if "\n" in options or ":" in options:
            return options_of_source(Source("<options>", options))
        case _:
            return options_of_source(read_source(Path(options)))
