"""A call with the caller's arrays: where they are decides, results are of the caller's library.

On a GPU kernels read and write the caller's memory, on the caller's stream; only an in/out tensor
is copied, unless it is given as `out`, too. The host device works in a process of its own, so
there inputs and results are copied once, whatever the library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcc.artifact import Argument, Artifact, Interface
from tcc.diagnostics import Label, error
from tcc.errors import CompileError
from tcc.frontend.tir import Role
from tcc.run.arrays import bind, element_type
from tcc.run.device import Device
from tcc.run.library import PLAIN, Library, UnusableArray, library_of
from tcc.run.results import check_out
from tcc.source import Source, Span

if TYPE_CHECKING:
    from tcc.run.cuda import CudaDevice


@dataclass(frozen=True)
class Placed:
    """One array of the caller, with its library and place."""

    name: str
    array: Any
    library: Library
    place: int | None  # index of a GPU; None: the memory of the CPU

    def as_numpy(self) -> Any:  # noqa: ANN401 - numbers and lists stay what they are
        """As NumPy sees it. CompileError (E0617) when NumPy cannot."""
        try:
            return self.library.as_numpy(self.array)
        except UnusableArray as problem:
            raise CompileError([_unusable(self.name, self.array, problem)]) from problem


@dataclass(frozen=True)
class Arguments:
    """The arrays of one call. `place` is that of the results, `library` is whose they are."""

    inputs: Mapping[str, Placed]
    out: Mapping[str, Placed]
    library: Library
    place: int | None


def arguments_of(inputs: Mapping[str, Any], out: Mapping[str, Any]) -> Arguments:
    """The arrays of a call with their libraries.

    CompileError: E0609 for arrays of two libraries or GPUs, E0617 for one that no device can use
    as it is. TypeError where one of them is no mapping from names.
    """
    for what, given in (("inputs", inputs), ("out", out)):
        _check_mapping(what, given)
    taken = {name: _placed(name, array) for name, array in inputs.items()}
    results = {name: _placed(name, array) for name, array in out.items()}
    found = [*taken.values(), *results.values()]
    foreign = [p for p in found if p.library is not PLAIN]
    on_gpu = [p for p in found if p.place is not None]
    _check_alike([(p, p.library.name) for p in foreign], "libraries")
    _check_alike([(p, f"GPU {p.place}") for p in on_gpu], "GPUs")
    library = foreign[0].library if foreign else PLAIN
    return Arguments(taken, results, library, on_gpu[0].place if on_gpu else None)


def call_from_cpu_memory(device: Device, artifact: Artifact, given: Arguments) -> dict[str, Any]:
    """Run with arrays in the memory of the CPU; the results, by name.

    CompileError: E0601 to E0608 for inputs and E0618 for an `out` that do not fit, E0617 for an
    array on a GPU.
    """
    for item in (*given.inputs.values(), *given.out.values()):
        if item.place is not None:
            problem = UnusableArray(f"it is on GPU {item.place}; the host device needs CPU memory")
            raise CompileError([_unusable(item.name, item.array, problem)])
    inputs = {name: item.as_numpy() for name, item in given.inputs.items()}
    targets = {name: item.as_numpy() for name, item in given.out.items()}
    if targets:
        shapes = bind(artifact.interface, inputs, {}).shapes
        check_out(artifact.interface, shapes, targets, inputs)
    results = device.run(artifact, inputs, {})
    return {t.name: _delivered(t, results[t.name], given) for t in results_of(artifact.interface)}


def call_on_gpu(device: CudaDevice, artifact: Artifact, given: Arguments) -> dict[str, Any]:
    """Launch with arrays on a GPU, on the caller's stream, without waiting; the results, by name.

    CompileError as for `call_from_cpu_memory`, and E0708 for arrays that are not dense.
    """
    interface, library = artifact.interface, given.library
    stream = None if given.place is None else library.stream(given.place)
    with device.working_on(stream):
        inputs = {n: _as_cuda(device, p) for n, p in given.inputs.items()}
        described = {n: _described(interface, given.inputs[n], a) for n, a in inputs.items()}
        shapes = bind(interface, described, {}).shapes
        arrays = {t.name: _target(t, shapes[t.name], device, given) for t in results_of(interface)}
        out = {n: device.imported(library_of(a).as_cuda(a)) for n, a in arrays.items()}
        if given.out:
            check_out(interface, shapes, {n: out[n] for n in given.out}, inputs)
        device.prepare(artifact, inputs, {}, out).launch()
        return {t.name: _adopted(t, arrays[t.name], given) for t in results_of(interface)}


def results_of(interface: Interface) -> list[Argument]:
    """The outputs and in/out tensors, in the order of the def."""
    return [t for t in interface.tensors if t.role in (Role.OUTPUT, Role.INOUT)]


def _check_mapping(what: str, given: object) -> None:
    """TypeError unless arrays come by name."""
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        message = f"`{what}` is a {kind}, and must be a mapping from names of tensors to arrays"
        raise TypeError(f'{message}, such as {{"A": array}}')
    for name in given:
        if not isinstance(name, str):
            message = f"the keys of `{what}` are names of tensors, and {name!r} is no string"
            raise TypeError(message)


def _placed(name: str, array: object) -> Placed:
    library = library_of(array)
    try:
        return Placed(name, array, library, library.place(array))
    except UnusableArray as problem:
        raise CompileError([_unusable(name, array, problem)]) from problem


def _check_alike(found: Sequence[tuple[Placed, str]], what: str) -> None:
    """CompileError (E0609) unless all are of one library, or on one GPU."""
    for item, value in found:
        first, other = found[0]
        if value != other:
            lines = [f"{p.name}: {v}" for p, v in ((first, other), (item, value))]
            source = Source("<arrays>", "\n".join(lines))
            end = len(lines[0])
            labels = Span(source, 0, end), Span(source, end + 1, len(source.text))
            raise CompileError(
                [
                    error(
                        "E0609",
                        f"`{first.name}` and `{item.name}` are of different {what}",
                        labels[1],
                        "all arrays of a call need the same",
                        secondary=(Label(labels[0]),),
                        help=(f"move `{item.name}` to where `{first.name}` is, or convert it",),
                    )
                ]
            )


def _unusable(name: str, array: object, problem: UnusableArray) -> Any:  # noqa: ANN401
    kind = type(array)
    text = f"{name}: {kind.__module__}.{kind.__qualname__}"
    span = Span(Source("<arrays>", text), 0, len(name))
    help = (f"pass an array of NumPy, of the type and shape of `{name}`, or one on the device",)
    return error("E0617", f"array `{name}` cannot be used as it is", span, str(problem), help=help)


def _as_cuda(device: CudaDevice, item: Placed) -> Any:  # noqa: ANN401
    if item.place is None:
        return item.as_numpy()
    return device.imported(item.library.as_cuda(item.array))


def _described(interface: Interface, item: Placed, array: Any) -> Any:  # noqa: ANN401
    """What `bind` may look at, with the type that the caller's library says."""
    from tcc.run.cuda import describe  # noqa: PLC0415  (as it loads CuPy)

    kind = None if item.place is None else item.library.element_type(item.array)
    if kind is None:
        return describe(interface, item.name, array)
    return np.broadcast_to(np.empty((), dtype=kind), array.shape)


def _target(tensor: Argument, shape: tuple[int, ...], device: CudaDevice, given: Arguments) -> Any:  # noqa: ANN401
    """The array on the GPU that a result goes to: the caller's, or a new one."""
    if tensor.name in given.out:
        return given.out[tensor.name].array
    scalar = element_type(tensor)
    fresh = given.library.empty(scalar, shape, given.place)
    return device.empty(scalar, shape) if fresh is None else fresh


def _adopted(tensor: Argument, array: Any, given: Arguments) -> Any:  # noqa: ANN401
    """A result as the caller's library has it. CompileError (E0617) when it cannot have it."""
    if tensor.name in given.out:
        return array
    try:
        return given.library.adopt(array, element_type(tensor))
    except UnusableArray as problem:
        raise CompileError([_unusable(tensor.name, array, problem)]) from problem


def _delivered(tensor: Argument, result: Any, given: Arguments) -> Any:  # noqa: ANN401
    """A result of the host device, in the caller's array or a new one of its library."""
    target = given.out.get(tensor.name)
    if target is None:
        fresh = given.library.empty(element_type(tensor), result.shape, None)
        if fresh is None:
            return _adopted(tensor, result, given)
        target = Placed(tensor.name, fresh, given.library, None)
    np.copyto(target.as_numpy(), result)
    return target.array
