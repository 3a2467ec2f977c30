"""Kernels as operators of PyTorch: under `torch.compile`, with shapes and gradients.

    matmul = tcc.torch.operator("mylib::matmul", tcc.compile("matmul.tc", "matmul"), "matmul_grad")

PyTorch infers shapes from the def, so that tracing and compiling with open sizes work. Tensors in
the memory of the CPU run on the host device, tensors on a GPU there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tcc.api import Kernel
from tcc.api import compile as compile_def
from tcc.artifact import Argument, Interface
from tcc.errors import UsageError
from tcc.frontend.suggest import suggestion
from tcc.frontend.tir import Role
from tcc.run.arrays import element_type, signature
from tcc.run.extents import plain_size
from tcc.run.interop import results_of
from tcc.run.torch_arrays import DTYPES

GRADIENT = "_grad"
"""Ends the name of the gradient of a tensor: `A_grad`."""


def operator(name: str, kernel: Kernel, backward: Kernel | str | None = None) -> Callable[..., Any]:
    """Register a kernel as a custom operator of PyTorch, and return it.

    `name`: `namespace::operator`. The operator takes a tensor for each input, then one for each
    in/out tensor, in the order of the def; it returns a new tensor, or a tuple of them. Tensors
    that are not dense are copied first. Its shapes follow from the def, also for sizes that
    `torch.compile` leaves open.

    `backward`: the kernel that computes gradients, or the name of its def in the same program,
    which is then compiled for the same target and sizes. Its inputs are any of the operator's
    inputs and outputs, and `O_grad` for an output `O`; its outputs are `A_grad` for each input
    `A` that has a gradient, of the type and shape of `A`.

    UsageError when there is no input, and when `backward` does not fit `kernel`; CompileError
    when its def is rejected. A call raises what `Kernel.run` raises.
    """
    interface = kernel.artifact.interface
    if not _taken(interface):
        raise UsageError(f"`{interface.function}` has no inputs, so PyTorch cannot choose a device")
    forward: Callable[..., Any] = _register(name, kernel)
    if backward is not None:
        derivative = _same_program(kernel, backward) if isinstance(backward, str) else backward
        gradients = _gradients(interface, derivative.artifact.interface)
        gradients.register(forward, _register(f"{name}_backward", derivative))
    return forward


def _register(name: str, kernel: Kernel) -> Any:  # noqa: ANN401 - PyTorch's CustomOpDef
    """One operator without gradients."""
    interface = kernel.artifact.interface
    parameters = ", ".join(f"Tensor {t.name}" for t in _taken(interface))
    results = ["Tensor"] * len(results_of(interface))
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"

    def run(*tensors: torch.Tensor) -> Any:  # noqa: ANN401
        return kernel(*(t.detach().contiguous() for t in tensors))

    def infer(*tensors: torch.Tensor) -> Any:  # noqa: ANN401
        shapes = _infer_shapes(interface, tensors)
        made = tuple(
            tensors[0].new_empty(shape, dtype=DTYPES[element_type(t)])
            for t, shape in zip(results_of(interface), shapes, strict=True)
        )
        return made[0] if len(made) == 1 else made

    schema = f"({parameters}) -> {returned}"
    made = torch.library.custom_op(name, run, mutates_args=(), schema=schema)
    made.register_fake(infer)
    return made


def _infer_shapes(interface: Interface, tensors: Sequence[torch.Tensor]) -> list[Sequence[Any]]:
    """The shapes of the results; extents are numbers or symbols of PyTorch."""
    given = list(zip(_taken(interface), tensors, strict=True))
    sizes: dict[str, Any] = dict(interface.sizes)
    for tensor, value in given:
        fits = value.dim() == len(tensor.shape) and value.dtype is DTYPES[element_type(tensor)]
        wanted = f"`{tensor.name}` must be {signature(tensor)}"
        torch._check(
            fits,
            lambda wanted=wanted, value=value: f"{wanted}, not {value.dtype} {tuple(value.shape)}",
        )
        for extent, length in zip(tensor.shape, value.shape, strict=True):
            name = plain_size(extent)
            if name is not None:
                sizes.setdefault(name, length)
    for tensor, value in given:
        for extent, length in zip(tensor.shape, value.shape, strict=True):
            wanted = f"an extent of `{tensor.name}` must be {extent}"
            torch._check(extent.evaluate(sizes) == length, lambda wanted=wanted: wanted)
    return [[e.evaluate(sizes) for e in t.shape] for t in results_of(interface)]


@dataclass(frozen=True)
class _Gradients:
    """How a backward kernel is called. Places count inputs, outputs, gradients of outputs."""

    saved: tuple[int, ...]  # places of what the kernel reads, but gradients
    taken: tuple[int, ...]  # for each of its inputs: a place in (*saved, *gradients)
    returned: tuple[int | None, ...]  # for each input of the operator: its gradient's result
    names: tuple[str, ...]  # of the inputs of the operator

    def register(self, forward: Any, backward: Any) -> None:  # noqa: ANN401
        """Make `backward` the derivative of `forward`."""

        def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ANN401
            # PyTorch appends an entry of its own to `needs_input_grad`.
            for name, needed, result in zip(
                self.names, ctx.needs_input_grad, self.returned, strict=False
            ):
                if needed and result is None:
                    raise UsageError(f"the backward kernel has no output `{name}{GRADIENT}`")
            outputs = output if isinstance(output, tuple) else (output,)
            ctx.save_for_backward(*((*inputs, *outputs)[place] for place in self.saved))

        def derive(ctx: Any, *gradients: torch.Tensor) -> tuple[Any, ...]:  # noqa: ANN401
            known = (*ctx.saved_tensors, *gradients)
            results = backward(*(known[place] for place in self.taken))
            found = results if isinstance(results, tuple) else (results,)
            return tuple(None if place is None else found[place] for place in self.returned)

        forward.register_autograd(derive, setup_context=keep)


def _gradients(forward: Interface, backward: Interface) -> _Gradients:
    """How `backward` is called. UsageError when it is no derivative of `forward`."""
    for interface in (forward, backward):
        inout = [t.name for t in interface.tensors if t.role is Role.INOUT]
        if inout:
            raise UsageError(
                f"`{inout[0]}` of `{interface.function}` is an in/out tensor: " + _NO_INOUT
            )
    inputs, outputs = _taken(forward), results_of(forward)
    known = {t.name: t for t in (*inputs, *outputs)}
    known |= {f"{t.name}{GRADIENT}": t for t in outputs}
    wanted = {f"{t.name}{GRADIENT}": t for t in inputs if element_type(t).is_float}
    for tensor in _taken(backward):
        _check_fits(backward, tensor, known, "input")
    for tensor in results_of(backward):
        _check_fits(backward, tensor, wanted, "output")
    places = {name: place for place, name in enumerate(known)}
    used = [places[t.name] for t in _taken(backward)]
    saved = [place for place in used if place < len(inputs) + len(outputs)]
    order = [*saved, *(places[f"{t.name}{GRADIENT}"] for t in outputs)]
    results = [t.name for t in results_of(backward)]
    returned = [
        results.index(gradient) if (gradient := f"{t.name}{GRADIENT}") in results else None
        for t in inputs
    ]
    return _Gradients(
        tuple(saved),
        tuple(order.index(place) for place in used),
        tuple(returned),
        tuple(t.name for t in inputs),
    )


_NO_INOUT = "PyTorch derives operators that leave their inputs as they are; name the result anew"


def _check_fits(
    backward: Interface, tensor: Argument, known: dict[str, Argument], role: str
) -> None:
    """UsageError unless a tensor of the backward kernel is one of `known`, with its type."""
    of = known.get(tensor.name)
    start = f"{role} `{tensor.name}` of `{backward.function}`"
    if of is None:
        near = "".join(f"; {hint}" for hint in suggestion(tensor.name, tuple(known)))
        names = ", ".join(f"`{n}`" for n in known)
        raise UsageError(f"{start} is none of {names}{near}")
    if (tensor.type, len(tensor.shape)) != (of.type, len(of.shape)):
        raise UsageError(f"{start} is {signature(tensor)}; `{of.name}` is {signature(of)}")


def _same_program(kernel: Kernel, entry: str) -> Kernel:
    """Another def of the program, for the same target, with those sizes that it has."""
    request = kernel.request
    plain = compile_def(request.source, entry, target=request.target.name)
    names = plain.artifact.interface.symbolic
    sizes = {name: value for name, value in request.sizes.items() if name in names}
    if not sizes:
        return plain
    return compile_def(request.source, entry, sizes, target=request.target.name)


def _taken(interface: Interface) -> list[Argument]:
    """What a call takes, in order."""
    return [t for role in (Role.INPUT, Role.INOUT) for t in interface.tensors if t.role is role]
