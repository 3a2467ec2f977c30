"""The programs of the benchmarks with their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tcc.api import Kernel
from tcc.api import compile as tcc_compile

ROOT = Path(__file__).resolve().parents[1]
SPECS = ROOT / "specs"


@dataclass(frozen=True)
class Workload:
    """A program of `specs/` at sizes, compiled with the default plan and no options file.

    `sizes` are fixed when it is compiled; `at` gives the values of those that stay open where
    figures need some. `indices` has the size that bounds the values of each index tensor.
    """

    name: str
    program: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    at: Mapping[str, int] = field(default_factory=dict)
    indices: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The `.tc` file."""
        return SPECS / f"{self.program}.tc"

    @property
    def all_sizes(self) -> dict[str, int]:
        """Every size with its value."""
        return {**self.sizes, **self.at}

    def compile(self, arch: str) -> Kernel:
        """The kernel for an architecture such as `sm_90`."""
        return tcc_compile(self.path, sizes=self.sizes, target=arch)


_CUBE = {"M": 1024, "N": 1024, "K": 1024}
_FILTER = {"N": 32, "C": 64, "M": 64, "KH": 3, "KW": 3}
_BAG = {"B": 128, "D": 64, "L": 50, "E": 10_000_000}
_BAGS = {"B": 128, "D": 64, "L1": 50, "E1": 10_000_000, "L2": 50, "E2": 10_000_000}

WORKLOADS: tuple[Workload, ...] = (
    Workload("gemm", "gemm", _CUBE),
    Workload("gemm open sizes", "gemm", at=_CUBE),
    Workload("gemm nt", "gemm_nt", _CUBE),
    Workload("gemm tn", "gemm_tn", _CUBE),
    Workload("gemm tt", "gemm_tt", _CUBE),
    Workload("gemm bias relu", "mlp1", {"B": 1024, "M": 1024, "N": 1024}),
    Workload("mlp layer", "mlp1", {"B": 128, "M": 2000, "N": 128}),
    Workload("conv 58 to 56", "conv2d", {**_FILTER, "H": 58, "W": 58}),
    Workload("conv 56 to 54", "conv2d", {**_FILTER, "H": 56, "W": 56}),
    Workload("conv 30 to 28", "conv2d", {**_FILTER, "H": 30, "W": 30}),
    Workload("conv 28 to 26", "conv2d", {**_FILTER, "H": 28, "W": 28}),
    Workload("tbmm", "transposed_batch_matmul", {"B": 500, "N": 26, "M": 72, "K": 26}),
    Workload(
        "depthwise conv",
        "depthwise_conv",
        {"N": 32, "C": 128, "H": 56, "W": 56, "KH": 3, "KW": 3},
    ),
    Workload("max pool", "max_pool", {"N": 32, "C": 64, "H": 56, "W": 56}),
    Workload("avg pool", "avg_pool", {"N": 32, "C": 64, "H": 57, "W": 57}),
    Workload("jacobi 2d", "jacobi2d", {"H": 4098, "W": 4098}),
    Workload("heat 3d", "heat3d", {"D": 256, "H": 256, "W": 256}),
    Workload("softmax", "softmax", {"N": 4096, "D": 1024}),
    Workload("layer norm", "layer_norm", {"N": 4096, "D": 1024}),
    Workload("group norm", "group_norm", {"N": 4, "G": 32, "D": 16, "H": 12, "W": 12}),
    Workload("group norm large", "group_norm", {"N": 32, "G": 32, "D": 16, "H": 48, "W": 48}),
    Workload("full reduction", "full_reduction", {"N": 1 << 24}),
    Workload("1lut", "lut", _BAG, indices={"I": "E"}),
    Workload("1lut open sizes", "lut", at=_BAG, indices={"I": "E"}),
    Workload("2lut", "lut2", _BAGS, indices={"I1": "E1", "I2": "E2"}),
    Workload("2lut open sizes", "lut2", at=_BAGS, indices={"I1": "E1", "I2": "E2"}),
)


def workload(name: str) -> Workload:
    """The workload of a name. KeyError when there is none."""
    return {w.name: w for w in WORKLOADS}[name]
