"""What the static benchmark says of each kernel: counted in its machine code, or computed from
its launch and its plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil, prod
from os import sched_getaffinity

from bench.workloads import Workload
from tcc.api import Kernel
from tcc.artifact import Launch
from tcc.errors import InternalError
from tcc.frontend import tir
from tcc.occupancy import resident_blocks
from tcc.run.disassemble import Code, disassemble
from tcc.run.mixes import Mix, loops_of, main_loop, mix_of
from tcc.sched.plan import KernelPlan, Plan
from tcc.target import TARGETS


@dataclass(frozen=True)
class Figures:
    """One kernel of a workload on one target.

    Counted: `registers` of a thread, `local_bytes` of a thread (stack and spills), the mixes of
    the whole kernel and of its main loop, `barriers` for each k-tile. Computed: `resident_warps`
    that an SM can hold, `launched_warps` that the busiest SM gets from this grid at once,
    `padded_lanes` as the part of all multiply-adds (or points) that lies outside the problem.
    """

    workload: str
    target: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    local_bytes: int
    shared_bytes: int
    whole: Mix
    loop: Mix | None
    barriers: float | None
    resident_warps: int
    launched_warps: int
    busy_sms: int
    padded_lanes: float | None

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return prod(self.grid)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return prod(self.block)

    @property
    def counted(self) -> Mix:
        """The main loop, or the whole kernel where there is none."""
        return self.loop or self.whole


@dataclass(frozen=True)
class Measured:
    """A workload on one target: its kernels in launch order.

    `fast` are those that the launcher prefers where open sizes allow vectors; `points` are the
    elements of the largest output.
    """

    workload: Workload
    target: str
    plan: Plan
    points: int
    kernels: tuple[Figures, ...]
    fast: tuple[Figures, ...]


def measure_all(workloads: Iterable[Workload], archs: Iterable[str]) -> list[Measured]:
    """Compile and disassemble everything. ToolchainError when a tool is missing."""
    wanted = [(w, a) for w in workloads for a in archs]
    # tcc itself is not made for threads; NVRTC and the disassembler run beside each other.
    compiled = [(w, a, w.compile(a)) for w, a in wanted]
    with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        codes = pool.map(lambda c: disassemble(c[2].cuda_source, c[1]), compiled)
        return [
            figures_of(workload, arch, kernel, code)
            for (workload, arch, kernel), code in zip(compiled, codes, strict=True)
        ]


def measure(workload: Workload, arch: str) -> Measured:
    """One workload on one target."""
    return measure_all([workload], [arch])[0]


def figures_of(workload: Workload, arch: str, kernel: Kernel, codes: dict[str, Code]) -> Measured:
    """The figures of a compiled workload, from its disassembled kernels."""
    plan = kernel.plan
    if plan is None:
        raise InternalError("the compilation stopped before there was a plan")
    interface = kernel.artifact.interface
    fast = interface.fast.launches if interface.fast else ()

    def figures(launch: Launch, at: int) -> Figures:
        return _figures(workload, arch, kernel, launch, plan.kernels[at], codes[launch.kernel])

    return Measured(
        workload,
        arch,
        plan,
        _points(kernel, workload),
        tuple(figures(launch, at) for at, launch in enumerate(interface.launches)),
        tuple(figures(launch, at) for at, launch in enumerate(fast)),
    )


def _figures(
    workload: Workload, arch: str, kernel: Kernel, launch: Launch, plan: KernelPlan, code: Code
) -> Figures:
    target = TARGETS[arch]
    grid = _grid(launch, workload)
    threads, blocks = prod(launch.block), prod(grid)
    resident = resident_blocks(target, threads, code.registers, launch.shared_bytes)
    warps = ceil(threads / target.warp_size)
    loop = main_loop(code)
    return Figures(
        workload.name,
        arch,
        launch.kernel,
        grid,
        launch.block,
        code.registers,
        code.local_bytes,
        launch.shared_bytes,
        mix_of(code.instructions),
        loop.mix if loop else None,
        _barriers(code, plan),
        resident * warps,
        min(resident, ceil(blocks / target.sms)) * warps,
        min(blocks, target.sms),
        _padded(workload, kernel, plan, blocks),
    )


def _grid(launch: Launch, workload: Workload) -> tuple[int, int, int]:
    x, y, z = (extent.evaluate(workload.all_sizes) for extent in launch.grid)
    return x, y, z


def _barriers(code: Code, plan: KernelPlan) -> float | None:
    """Barriers for each k-tile: those of the innermost loop around the main loop that has any."""
    main = main_loop(code)
    if main is None or not plan.loops:
        return None
    around = [x for x in loops_of(code) if x.encloses(main)]
    loop = min(around, key=lambda x: (not x.mix.count("BAR"), x.mix.total))
    points = prod(d.outer * d.inner for d in plan.dims) * prod(p.points for p in plan.loops)
    tiles = loop.mix.count("FFMA") / points
    return loop.mix.count("BAR") / max(1.0, tiles)


def _padded(workload: Workload, kernel: Kernel, plan: KernelPlan, blocks: int) -> float | None:
    """None where the kernel is not one point of one output for each lane."""
    if len(kernel.launches) != 1 or plan.row is not None:
        return None
    useful = _points(kernel, workload)
    reached = blocks * prod(d.covered for d in plan.dims)
    for loop in plan.loops:
        extent = _extent(_program(kernel), loop.dim, workload.all_sizes)
        useful, reached = useful * extent, reached * ceil(extent / loop.tile) * loop.tile
    return 1 - useful / reached


def _points(kernel: Kernel, workload: Workload) -> int:
    """Elements of the largest output."""
    program, sizes = _program(kernel), workload.all_sizes
    shapes = [program.tensors[t].shape for t in program.outputs]
    return max(prod(e.evaluate(sizes) for e in shape) for shape in shapes)


def _extent(program: tir.Program, index: str, sizes: Mapping[str, int]) -> int:
    """The extent of a reduction index of the program."""
    return next(
        s.ranges[index].extent.evaluate(sizes) for s in program.statements if index in s.reductions
    )


def _program(kernel: Kernel) -> tir.Program:
    program = kernel.compilation.program
    if program is None:
        raise InternalError("the compilation stopped before there was a program")
    return program
