"""What the default plans must show: the rows of the table of bars, each a figure with its limit.

Every bar is about machine code, launches and plans; none is a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf, prod

from bench.figures import Figures, Measured
from tcc.target import TARGETS

Figure = Callable[[Measured], float]
WIDEST_BITS = 128
SMALL_BLOCK = 64


@dataclass(frozen=True)
class Bar:
    """A figure of a workload that must be at least, or at most, its limit."""

    workload: str
    what: str
    figure: Figure
    limit: float
    at_least: bool

    def holds(self, measured: Measured) -> bool:
        """Whether the figure is on the right side of the limit."""
        value = self.figure(measured)
        return value >= self.limit if self.at_least else value <= self.limit

    def text(self, measured: Measured) -> str:
        """The figure beside its limit."""
        sign = ">=" if self.at_least else "<="
        return f"{self.what}: {_number(self.figure(measured))}, wanted {sign} {_number(self.limit)}"


def at_least(limit: float, what: str, figure: Figure, *workloads: str) -> list[Bar]:
    """A bar for each of the workloads."""
    return [Bar(w, what, figure, limit, at_least=True) for w in workloads]


def at_most(limit: float, what: str, figure: Figure, *workloads: str) -> list[Bar]:
    """A bar for each of the workloads."""
    return [Bar(w, what, figure, limit, at_least=False) for w in workloads]


# -- figures -------------------------------------------------------------------------------


def main(measured: Measured) -> Figures:
    """The kernel with the most multiply-adds in its main loop; where there are fast kernels,
    one of those.
    """
    return max(measured.fast or measured.kernels, key=lambda f: f.counted.count("FFMA"))


def fma_percent(measured: Measured) -> float:
    """Of the instructions of the main loop."""
    return 100 * main(measured).counted.fma_share


def fma_per_load(measured: Measured) -> float:
    """Multiply-adds of the main loop for each load from shared memory."""
    return main(measured).counted.fma_per_load or 0.0


def narrow(measured: Measured) -> float:
    """Loads and global stores of the kernel that move less than 128 bits."""
    whole = main(measured).whole
    return sum(
        n
        for name in ("LDS", "LDG", "STG")
        for bits, n in whole.widths(name).items()
        if bits < WIDEST_BITS
    )


def local(measured: Measured) -> float:
    """Bytes of local memory of a thread, all kernels together."""
    return sum(
        f.local_bytes + f.whole.count("LDL", "STL") for f in measured.kernels + measured.fast
    )


def barriers(measured: Measured) -> float:
    """For each k-tile."""
    found = main(measured).barriers
    return inf if found is None else found


def kernels(measured: Measured) -> float:
    """Launches of one call."""
    return len(measured.kernels)


def waves(measured: Measured) -> float:
    """Blocks of the grid for each SM of the target."""
    return main(measured).blocks / TARGETS[measured.target].sms


def threads(measured: Measured) -> float:
    """Threads of the smallest block."""
    return min(f.threads for f in measured.kernels)


def padded_percent(measured: Measured) -> float:
    """Of the multiply-adds that the grid computes."""
    padded = main(measured).padded_lanes
    return inf if padded is None else 100 * padded


def fetched(measured: Measured) -> float:
    """Elements read from global memory for each element of the largest output.

    Counted in code without loops only: there every instruction runs once. Padded lanes read
    nothing.
    """
    (kernel,) = measured.kernels
    if kernel.loop is not None:
        return inf
    here = 1 - (kernel.padded_lanes or 0.0)
    return _loaded(kernel, (32, 64, WIDEST_BITS)) * here / measured.points


def fetched_wide(measured: Measured) -> float:
    """The same, by 128-bit loads alone."""
    (kernel,) = measured.kernels
    return _loaded(kernel, (WIDEST_BITS,)) / measured.points


def shuffles(measured: Measured) -> float:
    """Exchanges between the lanes of a warp."""
    return min(f.whole.count("SHFL") for f in measured.kernels)


def busiest(measured: Measured) -> float:
    """Blocks of the first kernel for each SM."""
    return measured.kernels[0].blocks / TARGETS[measured.target].sms


def tail_loops(measured: Measured) -> float:
    """Kernels of one block that loop, or that have fewer than SMALL_BLOCK threads."""
    alone = [f for f in measured.kernels if f.blocks == 1]
    return sum(1 for f in alone if f.loop is not None or f.threads < SMALL_BLOCK)


def input_reads(measured: Measured) -> float:
    """Elements that the first kernel loads for each addition: one of the sums takes each once."""
    counted = measured.kernels[0].counted
    return sum(n * bits // 32 for bits, n in counted.widths("LDG").items()) / counted.count("FADD")


def row_bytes(measured: Measured) -> float:
    """Neighbouring bytes of a looked-up row that a warp reads at once."""
    return min(
        4 * prod(d.threads * d.inner for d in k.dims if d.dim == "d" and d.thread_axis == 0)
        for k in measured.plan.kernels
    )


def index_loads(measured: Measured) -> float:
    """Blocks that read the indices of one row."""
    return max(
        f.blocks / prod(1 if d.dim == "d" else _tiles(measured, d.tile, d.dim) for d in k.dims)
        for f, k in zip(measured.kernels, measured.plan.kernels, strict=True)
    )


def loads_per_row(measured: Measured) -> float:
    """Loads that are no 128-bit ones, for each of these: rows are read by no others."""
    found = [f.whole.widths("LDG") for f in measured.fast or measured.kernels]
    wide = [w.get(WIDEST_BITS, 0) for w in found]
    return max((sum(w.values()) - n) / n if n else inf for w, n in zip(found, wide, strict=True))


def narrow_stores(measured: Measured) -> float:
    """Instructions that store less than 128 bits to global memory."""
    found = [f.whole.widths("STG") for f in measured.fast or measured.kernels]
    return sum(n for widths in found for bits, n in widths.items() if bits < WIDEST_BITS)


def _tiles(measured: Measured, tile: int, dim: str) -> int:
    return -(-measured.workload.all_sizes[dim.upper()] // tile)


def _loaded(kernel: Figures, widths: Iterable[int]) -> int:
    """Elements of 32 bits that all threads load."""
    found = kernel.whole.widths("LDG")
    return sum(found.get(bits, 0) * bits // 32 for bits in widths) * kernel.threads * kernel.blocks


def _number(value: float) -> str:
    return f"{value:.4g}"


# -- the table -----------------------------------------------------------------------------

GEMMS = ("gemm", "gemm bias relu")
CONVS = ("conv 58 to 56", "conv 56 to 54", "conv 30 to 28", "conv 28 to 26")
WINDOWS = ("depthwise conv", "max pool", "avg pool", "jacobi 2d", "heat 3d")
ROWS = ("softmax", "layer norm", "group norm", "group norm large")
BAGS = ("1lut", "1lut open sizes", "2lut", "2lut open sizes")
TILED = (*GEMMS, "gemm open sizes", "gemm nt", "gemm tn", "gemm tt", *CONVS, "tbmm")

BARS: tuple[Bar, ...] = (
    *at_least(88, "multiply-adds in the main loop, percent", fma_percent, *GEMMS),
    *at_least(16, "multiply-adds for each shared load", fma_per_load, *GEMMS),
    *at_most(0, "accesses narrower than 128 bits", narrow, "gemm"),
    *at_least(8, "resident warps of an SM", lambda m: main(m).resident_warps, *GEMMS),
    *at_least(4, "warps of an SM at this grid", lambda m: main(m).launched_warps, *TILED),
    *at_least(100, "SMs with a block", lambda m: main(m).busy_sms, "mlp layer"),
    *at_most(0, "bytes of local memory", local, *TILED, "mlp layer", *WINDOWS, *ROWS),
    *at_most(0, "bytes of local memory", local, "full reduction", *BAGS),
    *at_most(1, "barriers for each k-tile", barriers, *TILED, "mlp layer"),
    *at_most(1, "kernels", kernels, *TILED, "mlp layer", *WINDOWS, *ROWS, *BAGS[:2]),
    *at_least(85, "multiply-adds in the main loop, percent", fma_percent, "gemm open sizes"),
    *at_least(85, "multiply-adds in the main loop, percent", fma_percent, "gemm nt", "gemm tn"),
    *at_least(85, "multiply-adds in the main loop, percent", fma_percent, "gemm tt", *CONVS),
    *at_least(1, "blocks for each SM", waves, *CONVS),
    *at_least(76, "multiply-adds in the main loop, percent", fma_percent, "tbmm"),
    *at_most(15, "padded lanes, percent", padded_percent, "tbmm"),
    *at_least(500, "blocks", lambda m: main(m).blocks, "tbmm"),
    *at_least(SMALL_BLOCK, "threads of a block", threads, *WINDOWS),
    *at_most(4.5, "elements fetched for each output", fetched, "depthwise conv"),
    *at_most(4, "elements fetched for each output", fetched, "max pool"),
    *at_most(9, "elements fetched for each output", fetched, "avg pool"),
    *at_most(5, "elements fetched for each output", fetched, "jacobi 2d"),
    *at_most(7, "elements fetched for each output", fetched, "heat 3d"),
    *at_most(1, "elements fetched for each output", fetched, "softmax"),
    *at_most(3, "elements fetched for each output", fetched, "layer norm", "group norm"),
    *at_most(3, "elements fetched for each output", fetched, "group norm large"),
    *at_least(1, "elements fetched 128 bits wide", fetched_wide, *ROWS),
    *at_least(5, "shuffles", shuffles, *ROWS),
    *at_least(1, "blocks of the first kernel for each SM", busiest, "full reduction"),
    *at_most(0, "kernels of one block that loop", tail_loops, "full reduction"),
    *at_most(2, "kernels", kernels, "full reduction"),
    *at_most(1, "elements fetched for each input element", input_reads, "full reduction"),
    *at_least(128, "bytes of a looked-up row read at once", row_bytes, *BAGS),
    *at_most(1, "times that the indices of a row are loaded", index_loads, *BAGS),
    *at_most(1, "loads of indices for each 128-bit load of a row", loads_per_row, *BAGS),
    *at_most(0, "stores narrower than 128 bits", narrow_stores, *BAGS),
)

MISSED: dict[tuple[str, str], str] = {}
"""The bars that are known to be missed, by workload and figure, with the reason."""
