"""Counts of instructions: of a whole kernel, and of its main loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tcc.run.disassemble import Code, Instruction

MEMORY = ("LDG", "STG", "LDS", "STS", "LDL", "STL", "LDGSTS")
_WIDTHS = {"128": 128, "64": 64, "U8": 8, "S8": 8, "U16": 16, "S16": 16}


@dataclass(frozen=True)
class Mix:
    """Instructions by name; those that access memory carry their bits: `LDS.128`, `LDG.32`."""

    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """All instructions but those that do nothing."""
        return sum(n for name, n in self.counts.items() if name != "NOP")

    def count(self, *names: str) -> int:
        """Instructions of these names, memory accesses of every width."""
        return sum(n for name, n in self.counts.items() if name.split(".")[0] in names)

    def widths(self, name: str) -> dict[int, int]:
        """How many accesses of a name there are by their width in bits."""
        return {
            int(key.split(".")[1]): n
            for key, n in sorted(self.counts.items())
            if key.split(".")[0] == name
        }

    @property
    def fma_share(self) -> float:
        """The part of the instructions that are fp32 multiply-adds."""
        return self.count("FFMA") / self.total if self.total else 0.0

    @property
    def fma_per_load(self) -> float | None:
        """Multiply-adds for each load from shared memory; None without such loads."""
        loads = self.count("LDS")
        return self.count("FFMA") / loads if loads else None


@dataclass(frozen=True)
class Loop:
    """The instructions between a branch back and where it goes, both included."""

    first: int
    last: int
    mix: Mix

    def encloses(self, other: Loop) -> bool:
        """Whether the other loop is inside, or is this one."""
        return self.first <= other.first and other.last <= self.last


def mix_of(instructions: Iterable[Instruction]) -> Mix:
    """Count them."""
    return Mix(dict(Counter(map(_name, instructions)).most_common()))


def loops_of(code: Code) -> tuple[Loop, ...]:
    """The loops of a kernel, in the order of their ends."""
    found: list[Loop] = []
    for instruction in code.instructions:
        target = instruction.target
        if target is not None and target < instruction.address:
            first, last = target, instruction.address
            body = [i for i in code.instructions if first <= i.address <= last]
            found.append(Loop(first, last, mix_of(body)))
    return tuple(found)


def main_loop(code: Code) -> Loop | None:
    """The shortest of the loops with the most multiply-adds; None without a loop."""
    return max(loops_of(code), key=lambda x: (x.mix.count("FFMA"), -x.mix.total), default=None)


def _name(instruction: Instruction) -> str:
    base, *modifiers = instruction.opcode.split(".")
    if base not in MEMORY:
        return base
    return f"{base}.{next((_WIDTHS[m] for m in modifiers if m in _WIDTHS), 32)}"
