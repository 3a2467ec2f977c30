"""The same computations by the vendor's libraries, on arrays that are on the GPU already.

PyTorch calls cuBLAS and cuDNN; where it is missing, CuPy calls cuBLAS for the matrix products.
Reduced precision (TF32) is switched off: tcc computes in fp32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.workloads import Workload

Arrays = Mapping[str, Any]
Function = Callable[[Any, Arrays], Any]

_MATRICES: Mapping[str, Function] = {
    "gemm": lambda _, a: a["A"] @ a["B"],
    "gemm_nt": lambda _, a: a["A"] @ a["B"].T,
    "gemm_tn": lambda _, a: a["A"].T @ a["B"],
    "gemm_tt": lambda _, a: a["A"].T @ a["B"].T,
    "transposed_batch_matmul": lambda _, a: a["X"] @ a["Y"].swapaxes(1, 2),
}
"""Written alike for PyTorch and CuPy."""

_TORCH: Mapping[str, Function] = {
    **_MATRICES,
    "mlp1": lambda t, a: t.relu(t.addmm(a["B1"], a["I"], a["W1"])),
    "conv2d": lambda t, a: t.nn.functional.conv2d(a["I"], a["Wt"], a["Bias"]),
    "depthwise_conv": lambda t, a: t.nn.functional.conv2d(
        a["I"], a["Wt"].unsqueeze(1), groups=a["Wt"].shape[0]
    ),
    "max_pool": lambda t, a: t.nn.functional.max_pool2d(a["I"], 2),
    "avg_pool": lambda t, a: t.nn.functional.avg_pool2d(a["I"], 3),
    "softmax": lambda t, a: t.softmax(a["I"], 1),
    "layer_norm": lambda t, a: t.nn.functional.layer_norm(
        a["I"], a["I"].shape[1:], a["Gamma"], a["Beta"]
    ),
    "group_norm": lambda t, a: t.nn.functional.group_norm(
        a["I"].flatten(1, 2), a["I"].shape[1], a["Gamma"].flatten(), a["Beta"].flatten()
    ).view_as(a["I"]),
    "full_reduction": lambda _, a: a["I"].sum(),
    "lut": lambda t, a: t.nn.functional.embedding_bag(a["I"], a["LUT"], mode="sum"),
    "lut2": lambda t, a: (
        t.nn.functional.embedding_bag(a["I1"], a["LUT1"], mode="sum"),
        t.nn.functional.embedding_bag(a["I2"], a["LUT2"], mode="sum"),
    ),
}


@dataclass(frozen=True)
class Library:
    """One library: its module, the functions it has, how CuPy's arrays become its own."""

    name: str
    module: Any
    functions: Mapping[str, Function]
    takes: Callable[[Any], Any]

    def call(self, workload: Workload, arrays: Arrays) -> Callable[[], Any] | None:
        """The computation of a workload, to be called again and again; None when it has none.

        It runs on CuPy's current stream.
        """
        function = self.functions.get(workload.program)
        if function is None:
            return None
        taken = {name: self.takes(array) for name, array in arrays.items()}
        return lambda: function(self.module, taken)


def find_library(cupy: Any) -> Library:  # noqa: ANN401  (a module)
    """PyTorch with a GPU where it is there, else CuPy."""
    try:
        import torch  # noqa: PLC0415  (optional, and slow to load)
    except ImportError:
        return _cupy_library(cupy)
    if not torch.cuda.is_available():
        return _cupy_library(cupy)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    return Library(f"PyTorch {torch.__version__}", torch, _TORCH, torch.from_dlpack)


def _cupy_library(cupy: Any) -> Library:  # noqa: ANN401
    return Library(f"CuPy {cupy.__version__}", cupy, _MATRICES, lambda array: array)
