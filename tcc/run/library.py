"""Array libraries: whose arrays a call takes, where they are, and who allocates its results.

Arrays stay where they are: a library shows its array to NumPy or to CuPy in place. Results are
arrays of the caller's library. Arrays that no other module here knows come in through DLPack, the
array interface of NumPy or `__cuda_array_interface__`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tcc.run.device import Array
from tcc.scalar import ScalarType

_CPU, _CUDA, _CUDA_PINNED, _CUDA_MANAGED = 1, 2, 3, 13  # DLDeviceType of dlpack.h
_IN_CPU_MEMORY = (_CPU, _CUDA_PINNED)
_ON_A_GPU = (_CUDA, _CUDA_MANAGED)


class UnusableArray(Exception):
    """An array that a kernel cannot use where it is; the message says why."""


class Library(Protocol):
    """One array library. `place`: the index of a GPU, or None for the memory of the CPU."""

    name: str

    def place(self, array: Any) -> int | None:  # noqa: ANN401 - an array of the library
        """Where an array is. UnusableArray when that is neither."""
        ...

    def as_numpy(self, array: Any) -> Array:  # noqa: ANN401
        """An array in the memory of the CPU as NumPy sees it, without a copy where that can be."""
        ...

    def as_cuda(self, array: Any) -> Any:  # noqa: ANN401
        """An array on a GPU as something that CuPy imports without a copy; bfloat16 as uint16."""
        ...

    def element_type(self, array: Any) -> np.dtype[Any] | None:  # noqa: ANN401
        """The type of its elements where CuPy would see another one; else None."""
        ...

    def empty(self, scalar: ScalarType, shape: tuple[int, ...], place: int | None) -> Any:  # noqa: ANN401
        """A new array, its elements undefined; None where the device shall allocate it."""
        ...

    def adopt(self, result: Any, scalar: ScalarType) -> Any:  # noqa: ANN401
        """What the device returned, an array of NumPy or CuPy that nobody else has, as its own."""
        ...

    def stream(self, place: int) -> int | None:
        """The CUDA stream that the caller works on; None: the current one of CuPy."""
        ...


class PlainArrays:
    """NumPy, CuPy, and everything that speaks their protocols; results are of NumPy or CuPy."""

    name = "numpy"

    def place(self, array: Any) -> int | None:  # noqa: ANN401
        """By DLPack, else by `__cuda_array_interface__`."""
        if isinstance(array, np.ma.MaskedArray):
            raise UnusableArray("its mask would be lost: pass `.filled(value)` or `.data` of it")
        if hasattr(array, "__dlpack_device__"):
            kind, index = (int(value) for value in array.__dlpack_device__())
            if kind in _ON_A_GPU:
                return index
            if kind not in _IN_CPU_MEMORY:
                raise UnusableArray("it is neither in CPU memory nor on a CUDA GPU")
            return None
        return 0 if hasattr(array, "__cuda_array_interface__") else None

    def as_numpy(self, array: Any) -> Any:  # noqa: ANN401
        """Numbers and lists as they are."""
        if isinstance(array, list | tuple):
            try:
                np.asarray(array)
            except ValueError as problem:
                raise UnusableArray(f"NumPy makes no array of it: {problem}") from problem
        if hasattr(array, "__array__") or not hasattr(array, "__dlpack__"):
            return array
        try:
            return np.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError) as problem:
            raise UnusableArray(str(problem)) from problem

    def as_cuda(self, array: Any) -> Any:  # noqa: ANN401
        """Itself."""
        return array

    def element_type(self, array: Any) -> None:  # noqa: ANN401
        """As CuPy sees it."""

    def empty(self, scalar: ScalarType, shape: tuple[int, ...], place: int | None) -> None:
        """Both devices return new arrays of these libraries."""

    def adopt(self, result: Any, scalar: ScalarType) -> Any:  # noqa: ANN401, ARG002
        """Itself."""
        return result

    def stream(self, place: int) -> None:
        """CuPy's own."""


PLAIN = PlainArrays()


def library_of(array: object) -> Library:
    """The library of an array, by its class or a base of it. Loads no library anew."""
    roots = {base.__module__.partition(".")[0] for base in type(array).__mro__}
    if "torch" in roots:
        from tcc.run.torch_arrays import TORCH  # noqa: PLC0415  (loads PyTorch)

        return TORCH
    if roots & {"jax", "jaxlib"}:
        from tcc.run.jax_arrays import JAX  # noqa: PLC0415  (loads JAX)

        return JAX
    return PLAIN
