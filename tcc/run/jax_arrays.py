"""Arrays of JAX in calls of kernels.

Arrays of JAX cannot be written to, so JAX cannot hand out memory for results: the device allocates
them, and JAX takes them over through DLPack, without a copy where it finds them aligned, ordered
after the kernels by the stream that DLPack hands over.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from tcc.run.device import Array
from tcc.run.library import UnusableArray
from tcc.scalar import ScalarType


class JaxArrays:
    """JAX."""

    name = "jax"

    def place(self, array: jax.Array) -> int | None:
        """By the array's only device."""
        if isinstance(array, jax.core.Tracer):
            raise UnusableArray(
                "JAX is tracing the call, which has no values yet; wrap it in `jax.pure_callback`"
            )
        if array.is_deleted():
            raise UnusableArray("it is deleted")
        devices = sorted(array.devices(), key=str)
        if len(devices) != 1:
            raise UnusableArray(f"it is spread over {len(devices)} devices")
        match devices[0].platform:
            case "cpu":
                return None
            case "gpu" | "cuda":
                return int(devices[0].local_hardware_id)
            case kind:
                raise UnusableArray(f"it is on platform `{kind}`, neither `cpu` nor `gpu`")

    def as_numpy(self, array: jax.Array) -> Array:
        """The same memory, read-only."""
        try:
            return np.asarray(array)
        except TypeError as problem:  # it has keys for numbers
            raise UnusableArray(f"NumPy cannot see it: {problem}") from problem

    def as_cuda(self, array: jax.Array) -> Any:  # noqa: ANN401
        """Itself; bfloat16, which CuPy lacks, as its bits."""
        if array.dtype == jax.numpy.bfloat16:
            return jax.lax.bitcast_convert_type(array, jax.numpy.uint16)
        return array

    def element_type(self, array: jax.Array) -> np.dtype[Any]:
        """As JAX says."""
        kind: np.dtype[Any] = np.dtype(array.dtype)
        return kind

    def empty(self, scalar: ScalarType, shape: tuple[int, ...], place: int | None) -> None:
        """The device allocates."""

    def adopt(self, result: Any, scalar: ScalarType) -> jax.Array:  # noqa: ANN401
        """The same memory. UnusableArray where JAX would change the type: 64 bits are an option."""
        wanted = jax.numpy.dtype(scalar.value)
        if jax.dtypes.canonicalize_dtype(wanted) != wanted:
            raise UnusableArray(f"JAX has no `{scalar.value}` unless `jax_enable_x64` is set")
        if isinstance(result, np.ndarray):
            return jax.numpy.asarray(result)
        taken = jax.dlpack.from_dlpack(result)
        if scalar is ScalarType.BFLOAT16:
            return jax.lax.bitcast_convert_type(taken, jax.numpy.bfloat16)
        return taken

    def stream(self, place: int) -> None:
        """JAX has no streams for users; DLPack orders the one of CuPy after and before its work."""


JAX = JaxArrays()
