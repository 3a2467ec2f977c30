"""What a kernel asks of the parts of an SM, as sums over the statements of its IR."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import Self


@dataclass(frozen=True)
class Work:
    """What one warp asks for, on average over the warps of a block.

    `issue`: instructions. `fp32`, `fp64`, `special`: those of them that need these lanes. `lsu`:
    passes of the load/store unit, 128 bytes or one line each. `accesses`: those instructions that
    it takes. `shared_bytes`: moved to and from shared memory.
    """

    issue: float = 0.0
    fp32: float = 0.0
    fp64: float = 0.0
    special: float = 0.0
    lsu: float = 0.0
    accesses: float = 0.0
    shared_bytes: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __mul__(self, times: float) -> Work:
        return Work(*(getattr(self, f.name) * times for f in fields(self)))


class Latency(Enum):
    """What a warp waits for."""

    GLOBAL = "global"
    SHARED = "shared"
    EXCHANGE = "exchange"
    BARRIER = "barrier"
    RESULT = "result"


@dataclass(frozen=True)
class Stall:
    """Waits of a warp, `times` each, that `hidden` instructions of its own overlap with.

    `together`: all warps of the block wait at the same time, because a barrier holds them in step.
    """

    latency: Latency
    times: float
    hidden: float
    together: bool

    def scaled(self, factor: float) -> Self:
        """So many times as often."""
        return type(self)(self.latency, self.times * factor, self.hidden, self.together)


@dataclass(frozen=True)
class Mix:
    """What the assembler makes of a kernel: what the census can only estimate.

    `instructions` is the factor from the census' instructions to those in the machine code.
    """

    registers: int
    local_bytes: int
    instructions: float
