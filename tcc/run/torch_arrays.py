"""Tensors of PyTorch in calls of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tcc.run.arrays import numpy_type
from tcc.run.device import Array
from tcc.run.library import UnusableArray
from tcc.scalar import ScalarType

DTYPES: dict[ScalarType, torch.dtype] = {s: getattr(torch, s.value) for s in ScalarType}


class TorchArrays:
    """PyTorch. Results come from its allocator, work goes to its current stream."""

    name = "torch"

    def place(self, array: torch.Tensor) -> int | None:
        """By the tensor's device."""
        if array.layout is not torch.strided:
            raise UnusableArray(f"its layout is `{array.layout}`, not `torch.strided`")
        if array.requires_grad and torch.is_grad_enabled():
            raise UnusableArray(
                "it requires a gradient, which a plain call does not record; "
                "make an operator with `tcc.torch.operator`, or pass `.detach()`"
            )
        match array.device.type:
            case "cpu":
                return None
            case "cuda":
                return int(array.get_device())
            case kind:
                raise UnusableArray(f"it is on device `{kind}`, neither `cpu` nor `cuda`")

    def as_numpy(self, array: torch.Tensor) -> Array:
        """The same memory; bfloat16, which NumPy lacks, with the type of `ml_dtypes`."""
        plain = array.detach()
        if plain.dtype is torch.bfloat16:
            bits: Array = plain.view(torch.uint16).numpy()
            return bits.view(numpy_type(ScalarType.BFLOAT16))
        try:
            same: Array = plain.numpy()
        except (TypeError, RuntimeError) as problem:
            raise UnusableArray(f"NumPy cannot see it: {problem}") from problem
        return same

    def as_cuda(self, array: torch.Tensor) -> torch.Tensor:
        """Itself; bfloat16, which CuPy lacks, as its bits."""
        plain = array.detach()
        return plain.view(torch.uint16) if plain.dtype is torch.bfloat16 else plain

    def element_type(self, array: torch.Tensor) -> np.dtype[Any] | None:
        """bfloat16, which travels as its bits."""
        is_bfloat16 = array.dtype is torch.bfloat16
        return numpy_type(ScalarType.BFLOAT16) if is_bfloat16 else None

    def empty(self, scalar: ScalarType, shape: tuple[int, ...], place: int | None) -> torch.Tensor:
        """From PyTorch's allocator."""
        device = "cpu" if place is None else f"cuda:{place}"
        return torch.empty(shape, dtype=DTYPES[scalar], device=device)

    def adopt(self, result: Any, scalar: ScalarType) -> torch.Tensor:  # noqa: ANN401
        """What came back in CPU memory from a GPU, without a copy."""
        if not isinstance(result, np.ndarray):
            return result
        if scalar is ScalarType.BFLOAT16:
            return torch.from_numpy(result.view(np.uint16)).view(torch.bfloat16)
        return torch.from_numpy(result)

    def stream(self, place: int) -> int:
        """The current stream of that GPU."""
        handle: int = torch.cuda.current_stream(place).cuda_stream
        return handle


TORCH = TorchArrays()
