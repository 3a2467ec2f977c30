"""What the checking build finds, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from tcc.errors import RunError

Triple: TypeAlias = tuple[int, int, int]


class FindingKind(Enum):
    """What is wrong."""

    RACE = "race"
    WARP_RACE = "race within a warp"
    BLOCK_RACE = "race between blocks"
    OUT_OF_BOUNDS = "out of bounds"
    UNINITIALISED = "uninitialised"
    MISALIGNED = "misaligned"
    INPUT_WRITE = "write to an input"
    PENDING_COPY = "missing wait"
    INACTIVE_LANE = "inactive lane"
    UNWRITTEN = "unwritten output"
    DIVERGENCE = "barrier divergence"
    CRASH = "crash"


@dataclass(frozen=True)
class Thread:
    """One thread of a launch."""

    block: Triple
    thread: Triple

    def __str__(self) -> str:
        return f"block {self.block}, thread {self.thread}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong in a kernel, with the first threads that showed it.

    `line` is of the emitted text, `statement` the statement of the program it belongs to.
    `tensor` is a tensor of the program, with logical subscripts as `index`, or an array of the
    kernel. `others` is the other side of a race, None where it is not known, and `other_line` its
    line. `count`: how often it happened.
    """

    kind: FindingKind
    message: str
    kernel: str
    line: int | None = None
    statement: str | None = None
    tensor: str | None = None
    index: tuple[int, ...] | None = None
    thread: Thread | None = None
    other: Thread | None = None
    other_line: int | None = None
    count: int = 1

    def text(self) -> str:
        """The message, then where it is, one fact a line, indented."""
        lines = [f"{self.kind.value}: {self.message}"]
        if self.line is not None:
            lines.append(f"  in line {self.line} of the emitted text, kernel `{self.kernel}`")
        if self.statement is not None:
            lines.append(f"  for `{self.statement}`")
        lines += [f"  {t}" for t in (self.thread, self.other) if t is not None]
        if self.count > 1:
            lines.append(f"  {self.count} times")
        return "\n".join(lines)


class FindingsError(RunError):
    """The checking build found something; `findings` is not empty."""

    def __init__(self, findings: Sequence[Finding], more: int = 0) -> None:
        super().__init__(tuple(findings), more)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order in which they came up."""
        found: tuple[Finding, ...] = self.args[0]
        return found

    def __str__(self) -> str:
        texts = [f.text() for f in self.findings]
        if self.args[1]:
            texts.append(f"and at other places, {self.args[1]} times")
        return "\n".join(texts)
