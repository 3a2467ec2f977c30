"""Which thread touches which element: one block of a kernel, run on its addresses alone.

All threads of the block walk the kernel IR together. Integers are computed; of other values only
the place of origin is known, the element of global memory that they are a copy of. So what is
reported is what the emitted code does, not what a plan says it should.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, assert_never

import numpy as np

from tcc.affine import Affine
from tcc.explain.lanes import OPERATORS
from tcc.kernel import ir
from tcc.sched.plan import AXES
from tcc.tune.lanes import Lanes as Array
from tcc.tune.lanes import Mask, evaluate

NOWHERE = -1
MOST_LANE_STEPS = 4_000_000
"""Statements times threads after which loops end early, where they are not unrolled."""
MOST_ITERATIONS = 16
OFFSET_BITS = 44
"""An origin is the number of a buffer, and an offset of this many bits."""
THREAD_BITS = 10
"""A block has at most 1024 threads."""


class Kind(Enum):
    """What an access does."""

    LOAD = "load"
    STORE = "store"


@dataclass(frozen=True, eq=False)
class Access:
    """One access by all threads: the first element of each, in elements, NOWHERE where idle.

    `site` numbers the places of the kernel text; the same place is executed once an iteration.
    """

    site: int
    kind: Kind
    buffer: ir.Buffer
    width: int
    offsets: Array


@dataclass(frozen=True)
class Cut:
    """A loop of which only the first iterations were run."""

    loop: str
    shown: int
    total: int


@dataclass(eq=False)
class Trace:
    """What one block did.

    `uses` has, for every buffer in global memory, rows of a thread and an element that took part
    in arithmetic there or went to an output, whichever way it came into the thread. `filled` has
    for every element of a shared array its origin and the thread that put it there; the origin
    is NOWHERE where nothing was stored or the value was computed. `sources` names the buffer in
    global memory that a shared array has copies of.
    """

    threads: int
    accesses: list[Access] = field(default_factory=list)
    uses: dict[str, Array] = field(default_factory=dict)
    filled: dict[str, tuple[Array, Array]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    """Buffers that are accessed at places which depend on data."""


@dataclass(frozen=True, eq=False)
class Lanes:
    """A value in all threads: its number, or what it is a copy of, or nothing known."""

    number: Array | int | None = None
    origin: Array | None = None


UNKNOWN = Lanes()
Index: TypeAlias = tuple[Affine | ir.Expression, ...]


def trace(
    kernel: ir.Kernel, sizes: Mapping[str, int], block: tuple[int, int, int] = (0, 0, 0)
) -> Trace:
    """Run one block. `sizes` has a value for every size that the kernel takes."""
    return _Run(kernel, sizes, block).run()


class _Run:
    def __init__(
        self, kernel: ir.Kernel, sizes: Mapping[str, int], block: tuple[int, int, int]
    ) -> None:
        x, y, z = kernel.block
        number = np.arange(x * y * z, dtype=np.int64)
        here: dict[str, Array | int] = {
            f"blockIdx.{a}": n for a, n in zip(AXES, block, strict=True)
        }
        place = (number % x, number // x % y, number // (x * y))
        here |= {f"threadIdx.{a}": n for a, n in zip(AXES, place, strict=True)}
        self._values: dict[str, Array | int] = dict(sizes)
        self._values |= {name: here[source] for name, source in kernel.aliases}
        self._kernel = kernel
        self._numbers = {b.name: k for k, b in enumerate(kernel.buffers)}
        self._sites: dict[tuple[int, int], int] = {}
        self._threads = number
        self._registers: dict[str, dict[int, Lanes]] = {}
        self._active: Mask = np.ones(len(number), bool)
        self._steps = 0
        self._used: list[Array] = []
        self._found = Trace(len(number))

    def run(self) -> Trace:
        """The whole body."""
        self._block(self._kernel.body)
        names = [b.name for b in self._kernel.buffers]
        for shared, (codes, _) in self._found.filled.items():
            if np.any(codes != NOWHERE):
                self._found.sources[shared] = names[int(codes.max()) >> OFFSET_BITS]
        if self._used:
            pairs = np.unique(np.concatenate(self._used))
            threads, origins = pairs & (1 << THREAD_BITS) - 1, pairs >> THREAD_BITS
            for name, number in self._numbers.items():
                mine = origins >> OFFSET_BITS == number
                if np.any(mine):
                    offsets = origins[mine] - (number << OFFSET_BITS)
                    self._found.uses[name] = np.stack((threads[mine], offsets), axis=1)
        return self._found

    # -- statements ----------------------------------------------------------------------------

    def _block(self, body: tuple[ir.Statement, ...]) -> None:
        for statement in body:
            self._steps += 1
            self._statement(statement)

    def _statement(self, statement: ir.Statement) -> None:
        match statement:
            case ir.For():
                self._loop(statement)
            case ir.If(conditions, body, otherwise):
                self._branch(conditions, body, otherwise)
            case ir.Let(name, value):
                known = self._value(ir.Int(value) if isinstance(value, Affine) else value).number
                self._values[name] = NOWHERE if known is None else known
            case ir.Declare(buffer):
                self._declare(buffer)
            case ir.Store(buffer, index, value):
                self._store(buffer, index, self._value(value), self._site(statement, 0))
            case ir.Atomic(buffer, index, _, value):
                self._used_up((value,))
                self._store(buffer, index, UNKNOWN, self._site(statement, 0))
            case ir.VectorMove() | ir.AsyncCopy():
                self._move(statement)
            case _:
                pass

    def _loop(self, loop: ir.For) -> None:
        low, high = (np.asarray(evaluate(e, self._values)) for e in (loop.low, loop.high))
        before, longest = self._active, int(np.max(np.where(self._active, high - low, 0)))
        total = -(-longest // loop.step)
        most = total if loop.unroll else 1 if _has_barrier(loop) else MOST_ITERATIONS
        done = 0
        enough = MOST_LANE_STEPS // len(self._threads)
        while done < min(total, most) and (done == 0 or loop.unroll or self._steps < enough):
            at = low + done * loop.step
            self._values[loop.var] = at if at.ndim else int(at)
            self._active = before & (at < high)
            self._block(loop.body)
            done += 1
        self._active = before
        if done < total:
            self._found.cuts[loop.var] = Cut(loop.var, done, total)

    def _branch(
        self, conditions: Index, body: tuple[ir.Statement, ...], otherwise: tuple[ir.Statement, ...]
    ) -> None:
        before = self._active
        holds = self._all(conditions)
        if np.any(before & holds[0]):
            self._active = before & holds[0]
            self._block(body)
        if np.any(before & holds[1]):
            self._active = before & holds[1]
            self._block(otherwise)
        self._active = before

    def _all(self, conditions: Index) -> tuple[Mask, Mask]:
        """Threads for which all conditions may hold, and those for which one may not."""
        yes = np.ones(len(self._threads), bool)
        no = np.zeros(len(self._threads), bool)
        for condition in conditions:
            if isinstance(condition, Affine):
                test: Array | int | None = np.asarray(evaluate(condition, self._values) >= 0)
            else:
                test = self._value(condition).number
            if test is None:
                no[:] = True
            else:
                yes &= np.asarray(test, bool)
                no |= ~np.asarray(test, bool)
        return yes, no

    def _declare(self, buffer: ir.Buffer) -> None:
        if buffer.space is ir.Space.PRIVATE:
            self._registers[buffer.name] = {}
        elif buffer.name not in self._found.filled:
            size = ir.elements(buffer)
            nowhere = np.full(size, NOWHERE, np.int64)
            self._found.filled[buffer.name] = nowhere, nowhere.copy()

    def _move(self, move: ir.VectorMove | ir.AsyncCopy) -> None:
        source = self._offsets(move.source, move.source_index)
        target = self._offsets(move.target, move.target_index)
        self._note(self._site(move, 0), Kind.LOAD, move.source, move.width, source)
        self._note(self._site(move, 1), Kind.STORE, move.target, move.width, target)
        for lane in range(move.width):
            value = self._get(move.source, None if source is None else source + lane)
            self._put(move.target, None if target is None else target + lane, value)

    # -- expressions ---------------------------------------------------------------------------

    def _value(self, expression: ir.Expression) -> Lanes:
        match expression:
            case ir.Const(value, type):
                return Lanes(int(value)) if not type.is_float else UNKNOWN
            case ir.Int(value):
                return Lanes(evaluate(value, self._values))
            case ir.Load(buffer, index):
                offsets = self._offsets(buffer, index)
                self._note(self._site(expression, 0), Kind.LOAD, buffer, 1, offsets)
                return self._get(buffer, offsets)
            case ir.Cast(operand, _) | ir.Checked(operand, _):
                return self._value(operand)
            case ir.Binary(operator, left, right, _):
                return self._binary(operator, self._value(left), self._value(right))
            case ir.Select(condition, then, otherwise, _):
                return self._select(condition, then, otherwise)
            case ir.Unary(_, operand, _) | ir.Shuffle(operand, _, _):
                return self._used_up((operand,))
            case ir.Call(_, arguments, _):
                return self._used_up(arguments)
            case _:
                assert_never(expression)

    def _used_up(self, operands: tuple[ir.Expression, ...]) -> Lanes:
        """Operands of which nothing is known after the operation."""
        for operand in operands:
            self._use(self._value(operand))
        return UNKNOWN

    def _binary(self, operator: str, left: Lanes, right: Lanes) -> Lanes:
        self._use(left)
        self._use(right)
        if left.number is None or right.number is None:
            return UNKNOWN
        with np.errstate(divide="ignore"):
            return Lanes(np.asarray(OPERATORS[operator](left.number, right.number), np.int64))

    def _select(
        self, condition: ir.Expression, then: ir.Expression, otherwise: ir.Expression
    ) -> Lanes:
        before = self._active
        yes, no = self._all((condition,))
        self._active = before & yes
        first = self._value(then)
        self._active = before & no
        second = self._value(otherwise)
        self._active = before
        return Lanes(
            None
            if first.number is None or second.number is None
            else np.where(yes, first.number, second.number),
            _merged(yes, first.origin, second.origin),
        )

    def _use(self, value: Lanes) -> None:
        """The value takes part in arithmetic."""
        if value.origin is None:
            return
        mine = self._active & (value.origin != NOWHERE)
        self._used.append((value.origin[mine] << THREAD_BITS) + self._threads[mine])

    # -- memory --------------------------------------------------------------------------------

    def _store(self, buffer: ir.Buffer, index: Index, value: Lanes, site: int) -> None:
        offsets = self._offsets(buffer, index)
        self._note(site, Kind.STORE, buffer, 1, offsets)
        self._put(buffer, offsets, value)

    def _offsets(self, buffer: ir.Buffer, index: Index) -> Array | None:
        """The row-major offset of an index in every thread; None where it depends on data."""
        total = np.zeros(len(self._threads), np.int64)
        extents = buffer.shape[-len(index) :] if index else ()
        for position, extent in zip(index, extents, strict=True):
            if isinstance(position, Affine):
                at: Array | int | None = evaluate(position, self._values)
            else:
                at = self._value(position).number
            if at is None:
                self._found.unknown.add(buffer.name)
                return None
            total = total * evaluate(extent, self._values) + at
        return total

    def _get(self, buffer: ir.Buffer, offsets: Array | None) -> Lanes:
        if offsets is None:
            return UNKNOWN
        match buffer.space:
            case ir.Space.PRIVATE:
                return self._from_registers(buffer, offsets)
            case ir.Space.SHARED:
                codes = self._found.filled[buffer.name][0]
                inside = self._active & (offsets >= 0) & (offsets < len(codes))
                return Lanes(None, np.where(inside, codes[np.where(inside, offsets, 0)], NOWHERE))
            case ir.Space.GLOBAL:
                code = (self._numbers[buffer.name] << OFFSET_BITS) + offsets
                return Lanes(None, np.where(self._active, code, NOWHERE))

    def _put(self, buffer: ir.Buffer, offsets: Array | None, value: Lanes) -> None:
        match buffer.space:
            case ir.Space.GLOBAL:
                self._use(value)
            case ir.Space.PRIVATE if offsets is not None:
                self._to_registers(buffer, offsets, value)
            case ir.Space.SHARED if offsets is not None:
                origin = (
                    np.full(len(self._threads), NOWHERE) if value.origin is None else value.origin
                )
                codes, filler = self._found.filled[buffer.name]
                mine = self._active & (offsets >= 0) & (offsets < len(codes))
                codes[offsets[mine]] = origin[mine]
                filler[offsets[mine]] = self._threads[mine]
            case _:
                pass

    def _from_registers(self, buffer: ir.Buffer, offsets: Array) -> Lanes:
        """The same element in all threads; others, in local memory, are not followed."""
        first = int(offsets[0])
        same = bool(np.all(offsets == first))
        return self._registers.get(buffer.name, {}).get(first, UNKNOWN) if same else UNKNOWN

    def _to_registers(self, buffer: ir.Buffer, offsets: Array, value: Lanes) -> None:
        first = int(offsets[0])
        held = self._registers.setdefault(buffer.name, {})
        if not np.all(offsets == first):
            held.clear()
            return
        old = held.get(first, UNKNOWN)
        on = self._active
        number = value.number
        if not np.all(on) and number is not None:
            number = None if old.number is None else np.where(on, number, old.number)
        held[first] = Lanes(number, _merged(on, value.origin, old.origin))

    def _site(self, place: object, part: int) -> int:
        return self._sites.setdefault((id(place), part), len(self._sites))

    def _note(
        self, site: int, kind: Kind, buffer: ir.Buffer, width: int, offsets: Array | None
    ) -> None:
        if buffer.space is ir.Space.PRIVATE or offsets is None:
            return
        at = np.where(self._active, offsets, NOWHERE)
        self._found.accesses.append(Access(site, kind, buffer, width, at))


def _merged(first: Mask, one: Array | None, other: Array | None) -> Array | None:
    if one is None and other is None:
        return None
    nowhere = np.full(len(first), NOWHERE, np.int64)
    return np.where(first, nowhere if one is None else one, nowhere if other is None else other)


def _has_barrier(loop: ir.For) -> bool:
    return any(isinstance(s, ir.Barrier) for s in ir.walk(loop.body))
