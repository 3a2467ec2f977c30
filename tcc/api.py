"""The Python API: compile a program, read what came out, run it on arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tcc.artifact import Artifact, Interface, Launch
from tcc.driver import Compilation, Request, compile_program
from tcc.errors import InternalError, UsageError
from tcc.frontend.tir import Role
from tcc.inputs import options_of_data, options_of_source, read_source, target_of
from tcc.kept import IN_MEMORY, Kept, Recent, compile_or_find, request_key
from tcc.manifest import manifest
from tcc.options import Options
from tcc.source import Source, Span

if TYPE_CHECKING:
    from tcc.diagnostics import Diagnostic
    from tcc.run.cuda import CudaDevice
    from tcc.run.device import Device
    from tcc.run.interop import Arguments
    from tcc.sched.plan import Plan

Path_: TypeAlias = str | PathLike[str]
_recent: Recent[Kernel] = Recent(IN_MEMORY)


@dataclass(frozen=True, eq=False, repr=False)
class Kernel:
    """A compiled program. Made by `compile`."""

    request: Request
    result: Compilation | Kept

    @cached_property
    def compilation(self) -> Compilation:
        """All that the compiler knows of the program; compiled anew where the cache had it."""
        found = self.result
        return found if isinstance(found, Compilation) else compile_program(self.request)

    def __repr__(self) -> str:
        return f"<Kernel {self.artifact.interface.function} for {self.request.target.name}>"

    @property
    def artifact(self) -> Artifact:
        """The emitted texts and how to call them."""
        return _present(self.result.artifact)

    @property
    def reference(self) -> Artifact:
        """The same program by plain loops in one thread: the launcher `NAME_reference`."""
        return _present(self.result.reference)

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
        return self.result.plan

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The kernel launches in order, grids over the symbolic sizes."""
        return self.artifact.interface.launches

    @property
    def notes(self) -> tuple[str, ...]:
        """What else the compiler says: choices that it made, and plans that it found."""
        return self.result.notes

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is probably wrong with the program."""
        return self.result.diagnostics

    def ptx(self) -> str:
        """The PTX text. ToolchainError without the NVRTC library (extra `nvrtc`)."""
        from tcc.run.nvrtc import compile_ptx

        return compile_ptx(self.cuda_source, self.request.target.name)

    def cubin(self) -> bytes:
        """The binary for the target. ToolchainError without the NVRTC library."""
        from tcc.run.nvrtc import compile_cubin

        return compile_cubin(self.cuda_source, self.request.target.name)

    def run(
        self,
        inputs: Mapping[str, Any],
        device: str = "host",
        check: bool = False,
        out: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Run on arrays, dense ones of the shapes and types that the def says.

        `inputs`: an array of NumPy, CuPy, PyTorch or JAX, or of another library that speaks
        DLPack, for every input and every in/out tensor, by name; a Python number for a tensor of
        rank 0. `out`: arrays to write results to. The outputs and in/out tensors come by name,
        as arrays of the same library; what `inputs` holds is left as it is, unless `out` holds
        the same array of an in/out tensor, which is then updated in place.

        On `device="cuda"` arrays stay on the GPU, and the kernels run on the current stream of
        their library, without waiting for them.

        `check` uses the checking build of the host device: FindingsError, a RunError, for races,
        accesses out of bounds and reads of undefined memory. CompileError for arrays that do not
        fit (E06, E0708) or are masked (E0617), TypeError where `inputs` or `out` is no mapping from
        names, CompileError for `check` on another device (E0911). RunError when the kernel
        crashes or hangs, ToolchainError when the device is not there.
        """
        from tcc.run.interop import arguments_of, call_from_cpu_memory

        given = arguments_of(inputs, {} if out is None else out)
        if device == "cuda" and not check and given.place is not None:
            return self._run_in_place(given)
        return call_from_cpu_memory(device_of(device, check=check), self.artifact, given)

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run on arrays in the order of the def, inputs first, then in/out tensors; see `run`.

        Arrays on a GPU are used there, others on the host device. One output comes as an array,
        several as a tuple, in the order of the def; `out` has the same form. UsageError for
        another number of arrays.
        """
        from tcc.run.interop import arguments_of, call_from_cpu_memory, results_of

        interface = self.artifact.interface
        returned = [t.name for t in results_of(interface)]
        given = arguments_of(
            _named(interface, "takes", "array", _taken(interface), arrays),
            {} if out is None else _named(interface, "gives", "result", returned, _listed(out)),
        )
        if given.place is None:
            results = call_from_cpu_memory(device_of("host"), self.artifact, given)
        else:
            results = self._run_in_place(given)
        outputs = [results[name] for name in returned]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _run_in_place(self, given: Arguments) -> dict[str, Any]:
        """Run on the GPU that has the arrays."""
        from tcc.run.interop import call_on_gpu

        return call_on_gpu(_gpu(given.place or 0), self.artifact, given)


def compile(
    program: Path_ | Source,
    entry: str | None = None,
    sizes: Mapping[str, int] | None = None,
    options: Path_ | Mapping[str, Any] | Options | None = None,
    target: str | None = None,
    *,
    cache: bool = True,
    tuned: bool = False,
) -> Kernel:
    """Compile one def of a program.

    `program`: the path of a `.tc` file, or its text. `entry`: the def, where there are several.
    `sizes`: values of sizes; others stay open. `options`: the path or the text of an options
    file, or a dict of that form; what is given here directly wins over it. `target`: `sm_90`.
    `cache`: take what was compiled before, in this process or by another one, from memory or from
    the cache directory; the same kernel is then the same object. `tuned`: use the best plan that
    the tuning database has, in place of the mapping options; `notes` says which that is.
    CompileError with every finding when the program, its sizes or its options are rejected.
    """
    source = _source(program)
    chosen = _options(options)
    given = options_of_data("<sizes>", {"sizes": dict(sizes or {})})
    places = dict(given.names)
    if entry is not None:
        named = options_of_data("<entry>", {"entry": entry})
        entry, places["entry"] = named.entry, named.place("entry")
    chosen_target = options_of_data("<target>", {"target": target}).target
    request = request_of(source, entry, given.sizes, chosen, chosen_target, places)
    if tuned:
        return _tuned(request, compile_or_find if cache else compile_program)
    if not cache:
        return Kernel(request, compile_program(request))
    return _recent.get(request_key(request), lambda: Kernel(request, compile_or_find(request)))


def _tuned(request: Request, compile: Callable[[Request], Compilation | Kept]) -> Kernel:
    from tcc.tune.tuned import compile_tuned

    used, made, notes = compile_tuned(request, compile)
    return Kernel(used, replace(made, notes=(*notes, *made.notes)))


def request_of(
    source: Source,
    entry: str | None,
    sizes: Mapping[str, int],
    options: Options,
    target: str | None,
    places: Mapping[str, Span] | None = None,
) -> Request:
    """A request; entry, sizes and target win over those of the options.

    `places`: where entry and sizes stand that came from no options file (`Request.places`).
    """
    merged = {**options.sizes, **sizes}
    where = {p: s for p, s in options.names.items() if p.startswith("sizes.")}
    if "entry" in options.spans:
        where["entry"] = options.spans["entry"]
    return Request(
        source,
        entry or options.entry,
        merged,
        options,
        target_of(options, target),
        places={**where, **(places or {})},
    )


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


@functools.cache
def _gpu(index: int) -> CudaDevice:
    """The GPU of an index, with the kernels that are loaded there."""
    from tcc.run.cuda import CudaDevice

    return CudaDevice(index=index)


def _taken(interface: Interface) -> list[str]:
    """What a call takes, in order."""
    return [
        t.name for role in (Role.INPUT, Role.INOUT) for t in interface.tensors if t.role is role
    ]


def _listed(out: Any) -> Sequence[Any]:
    return out if isinstance(out, tuple) else (out,)


def _named(
    interface: Interface, does: str, what: str, names: Sequence[str], arrays: Sequence[Any]
) -> dict[str, Any]:
    """Arrays by name. UsageError when there are more or fewer of them than names."""
    if len(arrays) != len(names):
        count = f"{len(names)} {what}{'s' if len(names) != 1 else ''}"
        wanted = f": {', '.join(names)}" if names else ""
        raise UsageError(f"`{interface.function}` {does} {count}{wanted}; {len(arrays)} given")
    return dict(zip(names, arrays, strict=True))


def _present(artifact: Artifact | None) -> Artifact:
    if artifact is None:
        raise InternalError("the compilation stopped before it emitted anything")
    return artifact


def _source(program: Path_ | Source) -> Source:
    if isinstance(program, Source):
        return program
    if isinstance(program, str) and ("\n" in program or "{" in program or not program):
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
