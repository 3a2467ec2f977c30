"""The work of one kernel, and the least time that a GPU needs for it: the roofline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from tcc.frontend import tir
from tcc.run.reference import index_box
from tcc.sched.nest import KernelNest, instances
from tcc.sched.reuse import source_of
from tcc.target import Target


@dataclass(frozen=True)
class Work:
    """Operations and bytes of one kernel.

    `operations` counts every arithmetic operation of the statements once, functions included;
    triangular ranges count as boxes. `bytes` is the size of all tensors that the kernel reads or
    writes: what has to go through DRAM at least once.
    """

    operations: int
    bytes: int

    @property
    def intensity(self) -> float:
        """Operations by byte."""
        return self.operations / max(1, self.bytes)


@dataclass(frozen=True)
class Roof:
    """The least time in microseconds, and which of the two it is: `DRAM` or `fp32`."""

    time_us: float
    limit: str


def work(kernel: KernelNest, program: tir.Program, sizes: Mapping[str, int]) -> Work:
    """Count a kernel's work at known sizes."""
    operations, touched = 0, dict[str, None]()
    for instance in instances(kernel.body):
        statement = source_of(instance.statement, program)
        touched[statement.target] = None
        if instance.statement.endswith("_init"):
            continue
        points = prod(high - low for low, high in index_box(statement, sizes))
        operations += points * (_operations(statement.value) + (statement.operator != "="))
        reads = (e for e in tir.walk(statement.value) if isinstance(e, tir.Read))
        touched |= dict.fromkeys(r.tensor for r in reads)
    used = [t for t in touched if _is_stored(t, kernel, program)]
    return Work(operations, sum(tensor_bytes(program.tensors[t], sizes) for t in used))


def roof(counted: Work, target: Target) -> Roof:
    """The roofline: DRAM bandwidth and fp32 arithmetic at the boost clock, the slower of both."""
    memory_us = counted.bytes / target.dram_gb_per_s / 1e3
    compute_us = counted.operations / target.peak_gflops / 1e3
    if memory_us >= compute_us:
        return Roof(memory_us, "DRAM")
    return Roof(compute_us, "fp32")


def tensor_bytes(tensor: tir.Tensor, sizes: Mapping[str, int]) -> int:
    """Bytes of a tensor."""
    return tensor.type.bytes * prod(e.evaluate(sizes) for e in tensor.shape)


def _operations(value: tir.Expression) -> int:
    """Arithmetic operations on floats."""
    counted = (tir.Unary, tir.Binary, tir.Call, tir.Select)
    return sum(isinstance(e, counted) and e.type.is_float for e in tir.walk(value))


def _is_stored(name: str, kernel: KernelNest, program: tir.Program) -> bool:
    """Whether a tensor has to be in memory: a temporary of one kernel lives in registers."""
    tensor = program.tensors[name]
    return tensor.role is not tir.Role.TEMPORARY or any(
        s.target == name
        for s in program.statements
        if s.name not in {i.statement.removesuffix("_init") for i in instances(kernel.body)}
    )
