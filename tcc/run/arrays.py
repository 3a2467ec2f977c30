"""Checks arrays against an interface and binds the symbolic sizes from their shapes (E06)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcc.artifact import Argument, ArgumentKind, Interface
from tcc.diagnostics import Diagnostic, Report, error
from tcc.errors import CompileError
from tcc.frontend.suggest import suggestion
from tcc.frontend.tir import Role
from tcc.run.device import Array
from tcc.run.extents import Extents
from tcc.run.listing import Listing
from tcc.scalar import ScalarType

NUMERIC = "biufcV"
"""Kinds of NumPy's types that can be converted; V: bfloat16."""


@dataclass(frozen=True)
class Bound:
    """The call of one launcher, checked. `arrays` have the tensors' types, in any layout."""

    sizes: Mapping[str, int]  # every symbolic size
    arrays: Mapping[str, Array]  # inputs and in/out tensors
    shapes: Mapping[str, tuple[int, ...]]  # every tensor
    workspace_bytes: int


def bind(interface: Interface, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Bound:
    """The arrays as NumPy sees them, and every size.

    CompileError (E0601 to E0608) with one diagnostic for each thing that does not fit.
    """
    report = Report()
    taken = [t for t in interface.tensors if t.role is not Role.OUTPUT]
    given = {name: _as_array(interface, name, value) for name, value in arrays.items()}
    listing = Listing(tuple(t.name for t in taken), given, sizes)
    fitting = _check_names(interface, taken, listing, report)
    fitting = {t.name: t for t in fitting.values() if _check_type(t, listing, report)}
    extents = Extents(interface, listing, report)
    extents.take_given(sizes)
    for tensor in fitting.values():
        extents.take_shape(tensor)
    if not report.errors:
        extents.check()
    if report.errors:
        raise CompileError(report.items)
    return _bound(interface, listing, extents.values)


def numpy_type(scalar: ScalarType) -> np.dtype[Any]:
    """The dtype of a scalar type in memory; bfloat16 comes from `ml_dtypes`."""
    if scalar is ScalarType.BFLOAT16:
        import ml_dtypes  # noqa: PLC0415  (loads slowly, and few programs need it)

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    plain: np.dtype[Any] = np.dtype(scalar.value)
    return plain


def element_type(tensor: Argument) -> ScalarType:
    """The element type of a tensor argument."""
    if tensor.type is None:
        raise ValueError(f"{tensor.name} is no tensor")
    return tensor.type


def _as_array(interface: Interface, name: str, value: object) -> Array:
    """The array as NumPy sees it. A Python number takes the type of its tensor of rank 0, and a
    bfloat16 array that went through a `.npy` file, where NumPy calls it `V2`, has its type back.
    """
    tensor = next((t for t in interface.tensors if t.name == name), None)
    if tensor is None:
        return np.asarray(value)
    if (
        not tensor.shape
        and isinstance(value, bool | int | float)
        and not isinstance(value, np.generic)
    ):
        return _scalar(value, element_type(tensor))
    array = np.asarray(value)
    if tensor.type is ScalarType.BFLOAT16 and array.dtype == np.dtype("V2"):
        return array.view(numpy_type(ScalarType.BFLOAT16))
    return array


def _scalar(value: bool | float, scalar: ScalarType) -> Array:
    fits = isinstance(value, bool) if scalar is ScalarType.BOOL else not isinstance(value, bool)
    if scalar.is_integer:
        low, high = scalar.integer_range
        fits = fits and isinstance(value, int) and low <= value <= high
    if scalar.is_float and isinstance(value, int):
        fits = fits and abs(value) <= sys.float_info.max
    with np.errstate(over="ignore"):  # what is too large is infinity, as in C
        return np.asarray(value, dtype=numpy_type(scalar)) if fits else np.asarray(value)


def _check_names(
    interface: Interface, taken: list[Argument], listing: Listing, report: Report
) -> dict[str, Argument]:
    """The tensors that have an array."""
    wanted = {t.name: t for t in taken}
    for name in listing.arrays:
        if name not in wanted:
            report.add(_unknown_array(interface, name, tuple(wanted), listing))
    for name, tensor in wanted.items():
        if name not in listing.arrays:
            role = "input" if tensor.role is Role.INPUT else "in/out tensor"
            report.add(
                error(
                    "E0601",
                    f"no array is given for `{name}`",
                    listing.name_span(name),
                    f"this {role} of `{interface.function}` needs one",
                    notes=(f"`{name}` is {signature(tensor)}",),
                    help=(f"pass an array by the name `{name}`",),
                )
            )
    return {name: t for name, t in wanted.items() if name in listing.arrays}


def _unknown_array(
    interface: Interface, name: str, wanted: tuple[str, ...], listing: Listing
) -> Diagnostic:
    outputs = [t.name for t in interface.tensors if t.role is Role.OUTPUT]
    hints = suggestion(name, wanted)
    label = f"`{interface.function}` takes {_names(wanted)}"
    if name in outputs:
        label, hints = "this is an output; the call returns it", ("leave it out",)
    return error(
        "E0602",
        f"`{interface.function}` takes no array `{name}`",
        listing.name_span(name),
        label,
        help=hints or ("leave it out",),
    )


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{n}`" for n in names) if names else "no arrays"


def _check_type(tensor: Argument, listing: Listing, report: Report) -> bool:
    """Whether element type and rank fit."""
    array = listing.arrays[tensor.name]
    wanted = numpy_type(element_type(tensor))
    if array.dtype != wanted:
        report.add(
            error(
                "E0603",
                f"array `{tensor.name}` has elements of type `{array.dtype}`, "
                f"not `{element_type(tensor).value}`",
                listing.type_span(tensor.name),
                f"must be `{element_type(tensor).value}`",
                help=(_way_to_convert(tensor, array),),
            )
        )
    if array.ndim != len(tensor.shape):
        report.add(
            error(
                "E0604",
                f"array `{tensor.name}` has {_dimensions(array.ndim)}, not {len(tensor.shape)}",
                listing.shape_span(tensor.name),
                f"must be {_shape(tensor)}",
                help=(_way_to_reshape(tensor, array.ndim),),
            )
        )
    return array.ndim == len(tensor.shape)


def _way_to_convert(tensor: Argument, array: Array) -> str:
    if array.dtype.kind not in NUMERIC:
        return "pass an array of numbers"
    return f'convert it: `numpy.asarray({tensor.name}, "{element_type(tensor).value}")`'


def _way_to_reshape(tensor: Argument, dimensions: int) -> str:
    """How an array with another number of dimensions may come to the right one."""
    if not tensor.shape:
        return f"pass a number, or one element: `{tensor.name}[{', '.join('0' * dimensions)}]`"
    if dimensions < len(tensor.shape):
        return f"add a dimension: `{tensor.name}[None]`"
    return f"take one element of a dimension, `{tensor.name}[0]`, or reshape it"


def signature(tensor: Argument) -> str:
    """A tensor's type and shape in the language: `float32(M, 4)`."""
    return f"`{element_type(tensor).value}{_shape(tensor) if tensor.shape else ''}`"


def _shape(tensor: Argument) -> str:
    return f"({', '.join(str(e) for e in tensor.shape)})"


def _dimensions(count: int) -> str:
    return f"{count} dimension" if count == 1 else f"{count} dimensions"


def _bound(interface: Interface, listing: Listing, sizes: Mapping[str, int]) -> Bound:
    shapes = {t.name: tuple(e.evaluate(sizes) for e in t.shape) for t in interface.tensors}
    wanted = [a.name for a in interface.arguments if a.kind is ArgumentKind.SIZE]
    values = {name: sizes[name] for name in dict.fromkeys((*wanted, *interface.symbolic))}
    return Bound(values, listing.arrays, shapes, interface.workspace_bytes.evaluate(sizes))


def check_dense(interface: Interface, layouts: Mapping[str, tuple[tuple[int, ...], ...]]) -> None:
    """CompileError (E0708) unless arrays that are used in place are row-major without gaps.

    `layouts` has a shape and a tuple of strides in elements for each array.
    """
    listing = Listing(tuple(layouts), {}, {})
    report = Report()
    for name, (shape, strides) in layouts.items():
        if not is_dense(shape, strides):
            report.add(
                error(
                    "E0708",
                    f"array `{name}` is not dense in row-major order",
                    listing.name_span(name),
                    f"shape {shape}, strides {strides} elements",
                    notes=(f"`{interface.function}` reads and writes the array where it is",),
                    help=(f"pass a copy: `numpy.ascontiguousarray({name})`",),
                )
            )
    if report.errors:
        raise CompileError(report.items)


def check_aligned(interface: Interface, addresses: Mapping[str, int]) -> None:
    """CompileError (E0714) unless kernels that move vectors find the tensors where they can."""
    listing = Listing(tuple(addresses), {}, {})
    report = Report()
    for name, bytes in interface.alignments.items():
        if addresses[name] % bytes:
            report.add(
                error(
                    "E0714",
                    f"array `{name}` does not start at a multiple of {bytes} bytes",
                    listing.name_span(name),
                    f"address {addresses[name]:#x}",
                    notes=(f"`{interface.function}` moves several elements at once",),
                    help=("pass a copy, or compile with `mapping: {vector: 1}`",),
                )
            )
    if report.errors:
        raise CompileError(report.items)


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether an array is row-major without gaps; strides in elements."""
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True
