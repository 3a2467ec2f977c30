"""Kernel IR run by hand, block by block: barriers, races and stores are watched.

Threads run in turns from barrier to barrier. An AssertionError for a barrier that not all threads
reach, for a read of an element without a value, and for two threads at one element of memory
between two barriers, at least one of them writing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from tcc.affine import Affine
from tcc.kernel import ir
from tests.kernel.random_ir import Meaning

AXES = "xyz"


class Block:
    """The memory that the threads of a block share, with who touched what since the barrier."""

    def __init__(self, memory: Mapping[str, np.ndarray]) -> None:
        self.memory = memory
        self.shared: dict[tuple[str, tuple[int, ...]], Any] = {}
        self.stores: Counter[tuple[str, tuple[int, ...]]] = Counter()
        self.writers: dict[tuple[str, tuple[int, ...]], int] = {}
        self.readers: dict[tuple[str, tuple[int, ...]], set[int]] = {}

    def barrier(self) -> None:
        self.writers.clear()
        self.readers.clear()


class Thread(Meaning):
    """One thread: its variables, its registers, and where it stands."""

    def __init__(self, number: int, block: Block, variables: dict[str, int]) -> None:
        super().__init__(variables, {})
        self.number = number
        self.block = block
        self.variables = variables
        self.private: dict[tuple[str, tuple[int, ...]], Any] = {}

    # -- memory --------------------------------------------------------------------------------

    def loaded(self, source: ir.Buffer, index: tuple[Affine | ir.Expression, ...]) -> Any:
        return self.read(source, self.at(index))

    def at(self, index: tuple[Affine | ir.Expression, ...]) -> tuple[int, ...]:
        return tuple(
            i.evaluate(self.variables) if isinstance(i, Affine) else self.of(i) for i in index
        )

    def read(self, buffer: ir.Buffer, at: tuple[int, ...]) -> Any:
        self.check(buffer, at)
        place = buffer.name, at
        if buffer.space is ir.Space.PRIVATE:
            assert place in self.private, f"{place} has no value"
            return self.private[place]
        writer = self.block.writers.get(place, self.number)
        assert writer == self.number, f"{place} is written by another thread"
        self.block.readers.setdefault(place, set()).add(self.number)
        if buffer.space is ir.Space.SHARED:
            assert place in self.block.shared, f"{place} has no value"
            return self.block.shared[place]
        return self.block.memory[buffer.name][self.flat(buffer, at)]

    def write(self, buffer: ir.Buffer, at: tuple[int, ...], value: Any) -> None:
        self.check(buffer, at)
        place = buffer.name, at
        if buffer.space is ir.Space.PRIVATE:
            self.private[place] = value
            return
        others = self.block.readers.get(place, set()) - {self.number}
        writer = self.block.writers.setdefault(place, self.number)
        assert writer == self.number, f"{place} is written by two threads"
        assert not others, f"{place} is read by another thread"
        if buffer.space is ir.Space.SHARED:
            self.block.shared[place] = value
            return
        self.block.stores[place] += 1
        self.block.memory[buffer.name][self.flat(buffer, at)] = value

    def check(self, buffer: ir.Buffer, at: tuple[int, ...]) -> None:
        shape = tuple(e.evaluate(self.variables) for e in buffer.shape)
        if buffer.space is ir.Space.GLOBAL and len(at) != len(shape):
            return  # a tensor as one row: its extent says nothing
        assert len(at) == len(shape)
        if buffer.space is not ir.Space.GLOBAL or shape != (1,):
            assert all(0 <= a < e for a, e in zip(at, shape, strict=True)), (buffer.name, at, shape)

    def flat(self, buffer: ir.Buffer, at: tuple[int, ...]) -> int:
        offset = 0
        for position, extent in zip(at, buffer.shape, strict=True):
            offset = offset * extent.evaluate(self.variables) + position
        return offset

    # -- statements ----------------------------------------------------------------------------

    def run(self, body: tuple[ir.Statement, ...]) -> Iterator[int]:
        """Runs to the end; yields at every barrier, by the number of its statement."""
        for statement in body:
            yield from self.statement(statement)

    def statement(self, statement: ir.Statement) -> Iterator[int]:
        match statement:
            case ir.For(name, low, high, step, _, body):
                ends = low.evaluate(self.variables), high.evaluate(self.variables)
                for value in range(*ends, step):
                    self.variables[name] = value
                    yield from self.run(body)
            case ir.If(conditions, body, otherwise):
                yield from self.run(body if all(map(self.holds, conditions)) else otherwise)
            case ir.Barrier():
                yield id(statement)
            case _:
                self.simple(statement)

    def simple(self, statement: ir.Statement) -> None:
        match statement:
            case ir.Let(name, value):
                known = isinstance(value, Affine)
                self.variables[name] = value.evaluate(self.variables) if known else self.of(value)
            case ir.Declare(buffer):
                self.forget(buffer.name)
            case ir.Store(buffer, index, value):
                self.write(buffer, self.at(index), self.of(value))
            case ir.VectorMove() | ir.AsyncCopy():
                self.move(statement)
            case _:
                assert isinstance(statement, ir.Comment | ir.AsyncCommit | ir.AsyncWait)

    def holds(self, condition: Affine | ir.Expression) -> bool:
        if isinstance(condition, Affine):
            return condition.evaluate(self.variables) >= 0
        return bool(self.of(condition))

    def forget(self, name: str) -> None:
        """A declared register array has no values yet."""
        self.private = {k: v for k, v in self.private.items() if k[0] != name}

    def move(self, statement: ir.VectorMove | ir.AsyncCopy) -> None:
        *target, last = self.at(statement.target_index)
        *source, first = self.at(statement.source_index)
        for lane in range(statement.width):
            value = self.read(statement.source, (*source, first + lane))
            self.write(statement.target, (*target, last + lane), value)


def run(
    kernel: ir.Kernel, memory: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> Counter[tuple[str, tuple[int, ...]]]:
    """Run a kernel on flat arrays; how often each element of global memory was stored."""
    stores: Counter[tuple[str, tuple[int, ...]]] = Counter()
    grid = [e.evaluate(sizes) for e in kernel.grid]
    for at in product(*(range(n) for n in grid)):
        stores += _block(kernel, Block(memory), dict(zip(AXES, at, strict=True)), sizes).stores
    return stores


def _block(
    kernel: ir.Kernel, block: Block, place: Mapping[str, int], sizes: Mapping[str, int]
) -> Block:
    running = []
    every = product(*(range(n) for n in reversed(kernel.block)))
    for number, (z, y, x) in enumerate(every):
        here = {f"threadIdx.{a}": v for a, v in zip(AXES, (x, y, z), strict=True)}
        here |= {f"blockIdx.{a}": v for a, v in place.items()}
        variables = {**sizes, **{name: here[source] for name, source in kernel.aliases}}
        running.append(Thread(number, block, variables).run(kernel.body))
    while True:
        reached = {next(thread, None) for thread in running}
        assert len(reached) == 1, "a barrier that some threads do not reach"
        if reached == {None}:
            return block
        block.barrier()
