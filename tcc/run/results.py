"""Checks the arrays that a caller gives for results (E0618)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tcc.artifact import Argument, Interface
from tcc.diagnostics import Report, error
from tcc.errors import CompileError
from tcc.frontend.suggest import suggestion
from tcc.frontend.tir import Role
from tcc.run.arrays import element_type, is_dense, numpy_type
from tcc.scalar import ScalarType
from tcc.source import Source, Span


def check_out(
    interface: Interface,
    shapes: Mapping[str, tuple[int, ...]],
    out: Mapping[str, Any],
    inputs: Mapping[str, Any],
) -> None:
    """CompileError (E0618) unless every array of `out` can take its result.

    Arrays are of NumPy or CuPy. A result may share memory with one input only: an in/out tensor
    with itself, which is then updated in place.
    """
    tensors = {t.name: t for t in interface.tensors if t.role in (Role.OUTPUT, Role.INOUT)}
    report = Report()
    source = Source("<out>", "\n".join(out))
    others = list(inputs.items())
    for name, array in out.items():
        start = source.line_starts[len(others) - len(inputs)]
        span = Span(source, start, start + len(name))
        problem = (
            _problem(tensors[name], shapes[name], array, others)
            if name in tensors
            else f"the results are {', '.join(f'`{t}`' for t in tensors)}"
        )
        if problem is not None:
            message = f"array `{name}` cannot take a result of `{interface.function}`"
            help = () if name in tensors else suggestion(name, tuple(tensors))
            help = help or ("leave it out: the call returns a new array",)
            report.add(error("E0618", message, span, problem, help=help))
        others.append((name, array))
    if report.errors:
        raise CompileError(report.items)


def _problem(
    tensor: Argument,
    shape: tuple[int, ...],
    array: Any,  # noqa: ANN401
    others: Sequence[tuple[str, Any]],
) -> str | None:
    """What is wrong with an array."""
    about = _interface(array)
    if about is None:
        return "it is no array that can be written to"
    kind = element_type(tensor)
    if not _has_type(array, kind):
        return f"it has elements of type `{array.dtype}`, not `{kind.value}`"
    if tuple(array.shape) != shape:
        return f"it has shape {tuple(array.shape)}, the result has {shape}"
    if about["data"][1]:
        return "it is read-only"
    if not is_dense(shape, tuple(s // array.dtype.itemsize for s in array.strides)):
        return "it is not dense in row-major order"
    for name, other in others:
        if _overlaps(array, other) and not _is_same(tensor, name, array, other):
            return f"it shares memory with `{name}`"
    return None


def _has_type(array: Any, kind: ScalarType) -> bool:  # noqa: ANN401
    """CuPy has the bits of bfloat16 in uint16."""
    as_bits = kind is ScalarType.BFLOAT16 and not isinstance(array, np.ndarray)
    return bool(array.dtype == (np.dtype(np.uint16) if as_bits else numpy_type(kind)))


def _interface(array: Any) -> dict[str, Any] | None:  # noqa: ANN401
    for name in ("__cuda_array_interface__", "__array_interface__"):
        found: dict[str, Any] | None = getattr(array, name, None)
        if found is not None:
            return found
    return None


def _is_same(tensor: Argument, name: str, array: Any, other: Any) -> bool:  # noqa: ANN401
    """Whether an in/out tensor is to be updated in place."""
    same = _bounds(array) == _bounds(other) and array.strides == other.strides
    return name == tensor.name and tensor.role is Role.INOUT and same


def _overlaps(array: Any, other: Any) -> bool:  # noqa: ANN401
    a, b = _bounds(array), _bounds(other)
    return a is not None and b is not None and a[0] < b[1] and b[0] < a[1]


def _bounds(array: Any) -> tuple[int, int] | None:  # noqa: ANN401
    """The addresses of the first byte, and of the byte behind the last; None: no memory."""
    about = _interface(array)
    if about is None or 0 in array.shape:
        return None
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    start = int(about["data"][0])
    low, high = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
    return start + low, start + high + int(array.dtype.itemsize)
