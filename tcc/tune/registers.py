"""Registers of a thread: the most values of the kernel's private arrays that live at once.

A value lives from its first to its last use in the smallest body that has all uses of its array.
Of an array that one iteration fills and empties, only the elements of that iteration live.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from tcc.affine import Affine
from tcc.kernel import ir
from tcc.tune import expression_cost

BASE_REGISTERS = 24
"""Besides the values of the program: addresses, counters, what the compiler keeps in flight."""
_BITS_32 = 4

Use = tuple[ir.Buffer, int]
"""An array and how many elements of it."""


def registers(kernel: ir.Kernel) -> int:
    """32-bit registers of a thread, as far as the IR tells."""
    total = Counter(b.name for b, _ in _uses(kernel.body, {}))
    return BASE_REGISTERS + _peak(kernel.body, total)


def _peak(body: Sequence[ir.Statement], total: Mapping[str, int]) -> int:
    """The most registers at any statement of a body, for arrays that are not used outside of it."""
    uses = [list(_uses((s,), {})) for s in body]
    counts = [Counter(b.name for b, _ in used) for used in uses]
    here = sum(counts, Counter())
    sizes: dict[str, int] = {}
    spans: dict[str, tuple[int, int]] = {}
    for at, used in enumerate(uses):
        for buffer, elements in used:
            name = buffer.name
            # An array that one nested statement has for itself is counted there.
            nested = counts[at][name] == total[name] and not _is_leaf(body[at])
            if here[name] < total[name] or nested:
                continue
            each = max(1, buffer.type.bytes // _BITS_32)
            sizes[name] = max(sizes.get(name, 0), elements * each)
            spans[name] = (spans.get(name, (at, at))[0], at)
    return max(
        (
            sum(sizes[n] for n, (first, last) in spans.items() if first <= at <= last)
            + max((_peak(inner, total) for inner in _bodies(statement)), default=0)
            for at, statement in enumerate(body)
        ),
        default=0,
    )


def _is_leaf(statement: ir.Statement) -> bool:
    return not isinstance(statement, ir.For | ir.If)


def _bodies(statement: ir.Statement) -> Iterator[tuple[ir.Statement, ...]]:
    match statement:
        case ir.For():
            yield statement.body
        case ir.If(_, then, otherwise):
            yield then
            yield otherwise
        case _:
            pass


def _uses(body: Sequence[ir.Statement], trips: Mapping[str, int]) -> Iterator[Use]:
    """The uses of private arrays; `trips` are those of the loops inside the body that is asked."""
    for statement in body:
        match statement:
            case ir.For(var, low, high, step, _, inner):
                count = (high - low).constant if (high - low).is_constant else step
                yield from _uses(inner, {**trips, var: max(1, -(-count // step))})
            case ir.If(conditions, then, otherwise):
                for condition in conditions:
                    yield from _of_condition(condition, trips)
                yield from _uses((*then, *otherwise), trips)
            case ir.Store(buffer, index, value) | ir.Atomic(buffer, index, _, value):
                yield from _use(buffer, index, 1, trips)
                yield from _of_expression(value, trips)
            case ir.Let(_, value):
                yield from _of_condition(value, trips)
            case ir.VectorMove() | ir.AsyncCopy():
                move = statement
                yield from _use(move.target, move.target_index, move.width, trips)
                yield from _use(move.source, move.source_index, move.width, trips)
            case _:
                pass


def _of_condition(value: Affine | ir.Expression, trips: Mapping[str, int]) -> Iterator[Use]:
    if not isinstance(value, Affine):
        yield from _of_expression(value, trips)


def _of_expression(value: ir.Expression, trips: Mapping[str, int]) -> Iterator[Use]:
    for load in expression_cost.loads(value):
        yield from _use(load.buffer, load.index, 1, trips)


def _use(
    buffer: ir.Buffer,
    index: Sequence[Affine | ir.Expression],
    width: int,
    trips: Mapping[str, int],
) -> Iterator[Use]:
    if buffer.space is ir.Space.PRIVATE:
        used = frozenset().union(*(i.variables for i in index if isinstance(i, Affine)))
        touched = width * prod(count for var, count in trips.items() if var in used)
        yield buffer, min(touched, ir.elements(buffer))
