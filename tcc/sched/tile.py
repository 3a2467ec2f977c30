"""The original's options as a Plan: tile sizes, threads and blocks for every kernel."""

from __future__ import annotations

from tcc.affine import Affine
from tcc.sched.nest import Dim, KernelNest, Nest
from tcc.sched.plan import DimPlan, KernelPlan, Plan

GRID_LIMITS = (2**31 - 1, 65535, 65535)


def tile(
    nest: Nest,
    sizes: tuple[int, ...],
    threads: tuple[int, ...],
    blocks: tuple[int, ...],
) -> Plan:
    """Cut every kernel by the same tile sizes, threads and blocks (at most 3 each).

    Tile sizes go to the parallel dimensions from the outside; blocks x, y, z to the same
    dimensions; threads x, y, z to the dimensions from the inside. 0 or a missing size leaves a
    dimension untiled: every thread walks it. Nothing exceeds a known extent.
    """
    return Plan(tuple(_kernel(k, sizes, threads, blocks) for k in nest.kernels))


def single_thread(nest: Nest) -> Plan:
    """One thread walks everything."""
    return tile(nest, (), (), ())


def _kernel(
    kernel: KernelNest,
    sizes: tuple[int, ...],
    threads: tuple[int, ...],
    blocks: tuple[int, ...],
) -> KernelPlan:
    count = len(kernel.parallel)
    dims: list[DimPlan] = []
    for k, dim in enumerate(kernel.parallel):
        axis = count - 1 - k if count - 1 - k < len(threads) else None
        wanted = sizes[k] if k < len(sizes) else 0
        grid = k if wanted and k < len(blocks) else None
        dims.append(
            _dim(
                dim,
                wanted,
                grid,
                None if grid is None else min(blocks[grid], GRID_LIMITS[grid]),
                axis,
                1 if axis is None else threads[axis],
            )
        )
    return KernelPlan(kernel.name, tuple(dims))


def _dim(
    dim: Dim, size: int, grid: int | None, cap: int | None, axis: int | None, threads: int
) -> DimPlan:
    extent = known_extent(dim.extent)
    tile_size = size or threads
    if extent is not None:
        tile_size = min(tile_size, extent)
    threads = min(threads, tile_size)
    return DimPlan(
        dim.name,
        tile_size,
        grid_axis=grid,
        blocks=cap,
        thread_axis=axis,
        threads=threads,
        outer=-(-tile_size // threads),
    )


def known_extent(extent: Affine) -> int | None:
    """The extent where no size is open."""
    return extent.value if extent.is_constant else None
