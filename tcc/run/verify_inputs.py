"""Random inputs for a comparison of two kernels: from a seed, the same for the same sizes."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tcc.frontend import tir
from tcc.run.arrays import numpy_type
from tcc.run.device import Array
from tcc.run.verify_extremes import place, reduced_dims
from tcc.run.verify_ranges import Interval, is_harmless, steering_inputs
from tcc.scalar import ScalarType

SMALL = 8
"""Integers that are no subscripts stay this small, so that sums rarely wrap."""
_FAR = 1000
"""Beyond all that a deviation of 100 gives."""


class Style(Enum):
    """How floats without a given range are drawn.

    Some suit logarithms and roots. Wide ones overflow an exponential whose argument is not kept
    small by a right maximum, and have known places for the extremes: where minima or maxima are
    taken, those that `verify_extremes.place` gives them, integers and given ranges included; else
    the first and the last element. Spotted ones have NaN in a third of the slices along one
    dimension: an element that a kernel reads and has to multiply by 0 shows, because it does not
    vanish. Infinite ones have one tensor that is infinite, another one in every turn, and positive
    values in the others: what sums and products make of it is infinite, unless something that does
    not belong there is multiplied by 0.
    """

    NORMAL = "standard normal"
    UNIT = "uniform in (0.05, 0.95)"
    ABOVE_ONE = "uniform in (1, 2)"
    WIDE = "normal with a deviation of 100"
    SPOTTED = "standard normal, some slices NaN"
    INFINITE = "uniform in (0.05, 0.95), one tensor infinite"


@dataclass(frozen=True)
class Domain:
    """A program with a value for all its sizes, and the ranges of its inputs and in/out tensors.

    Without a range in `limits`: floats by style, any bool. `harmless`: no data-dependent subscript
    can leave its tensor.
    """

    program: tir.Program
    sizes: Mapping[str, int]
    limits: Mapping[str, Interval]
    harmless: bool


def find_domain(
    program: tir.Program, sizes: Mapping[str, int], given: Mapping[str, tuple[float, ...]]
) -> Domain:
    """Ranges for inputs and in/out tensors: the given ones, narrowed where values are subscripts.

    `sizes` has every size of the program, `given` a lowest and a highest value by tensor.
    """
    extents = [e.evaluate(sizes) for t in program.tensors.values() for e in t.shape]
    cap = max([SMALL, *extents])
    steering = steering_inputs(program)
    limits: dict[str, Interval] = {}
    for name in (*program.inputs, *program.inouts):
        kind = program.tensors[name].type
        if name in given:
            limits[name] = _given(given[name], kind)
        elif kind.is_integer or (kind.is_float and name in steering):
            widest = cap if name in steering else SMALL
            limits[name] = _clipped((-widest, widest), kind)
    if is_harmless(program, sizes, limits):
        return Domain(program, sizes, limits, True)
    return _narrowed(program, sizes, limits, steering)


def free_floats(domain: Domain) -> tuple[str, ...]:
    """The inputs and in/out tensors of floats that have no range."""
    tensors = domain.program.tensors
    taken = (*domain.program.inputs, *domain.program.inouts)
    return tuple(n for n in taken if tensors[n].type.is_float and n not in domain.limits)


def draw(domain: Domain, style: Style, seed: int, turn: int = 0) -> dict[str, Array]:
    """Arrays for all inputs and in/out tensors, of their types and shapes.

    In every `turn` wide ones have their extremes at other places; of infinite ones, the turn says
    which of the `free_floats` it is.
    """
    program, sizes = domain.program, domain.sizes
    reduced = reduced_dims(program)
    free = free_floats(domain)
    infinite = free[turn] if style is Style.INFINITE else None
    arrays = {}
    for name in (*program.inputs, *program.inouts):
        tensor = program.tensors[name]
        shape = tuple(e.evaluate(sizes) for e in tensor.shape)
        # What is computed has its extremes elsewhere only where all of the values are others.
        again = (turn,) if turn and style is not Style.INFINITE else ()
        entropy = (seed, list(Style).index(style), zlib.crc32(name.encode()), *shape, *again)
        rng = np.random.default_rng(entropy)
        values = _values(tensor.type, shape, domain.limits.get(name), style, rng)
        if style is Style.SPOTTED and name in free:
            kept, windows = (_kept_dims(program, name, is_kept) for is_kept in (_is_kept, _moves))
            values = _spotted(values, kept, tuple(d for d in windows if d not in kept), rng)
        if style is Style.WIDE and tensor.type is not ScalarType.BOOL:
            along = reduced.get(name, ())
            values = _with_extremes(values, along, domain.limits.get(name), turn, rng)
        if name == infinite:
            values = np.full(shape, np.inf)
        arrays[name] = values.astype(numpy_type(tensor.type))
    return arrays


def _with_extremes(
    values: Array,
    along: tuple[int, ...],
    limits: Interval | None,
    turn: int,
    rng: np.random.Generator,
) -> Array:
    """With one lowest and one highest value in each slice `along` the dimensions of minima."""
    low, high = limits or (-_FAR, _FAR)
    if not along:
        if limits is None:
            values.flat[:1], values.flat[-1:] = rng.permutation((low, high))
        return values
    if high - low <= 1:
        return values
    if limits is not None and isinstance(low, int) and isinstance(high, int):
        values = np.clip(values, low + 1, high - 1)
    return place(values, along, (low, high), turn)


def _kept_dims(
    program: tir.Program, tensor: str, is_kept: Callable[[tir.Expression, tir.Statement], bool]
) -> tuple[int, ...]:
    """The dimensions of a tensor that no read sums over: a NaN in a slice leaves others alone.

    As far as `is_kept` says so of the subscripts of its reads.
    """
    kept = set(range(program.tensors[tensor].rank))
    for statement in program.statements:
        for read in tir.walk(statement.value):
            if isinstance(read, tir.Read) and read.tensor == tensor:
                kept &= {d for d, s in enumerate(read.subscripts) if is_kept(s, statement)}
    return tuple(sorted(kept))


def _is_kept(subscript: tir.Expression, statement: tir.Statement) -> bool:
    names = {e.name for e in tir.walk(subscript) if isinstance(e, tir.Index)}
    return bool(names) and not names & set(statement.reductions)


def _moves(subscript: tir.Expression, statement: tir.Statement) -> bool:
    """Whether it moves with an index, such as that of a window: a slice is in some windows only."""
    names = {e.name for e in tir.walk(subscript) if isinstance(e, tir.Index)}
    return bool(names - set(statement.reductions))


def _spotted(
    values: Array, dims: tuple[int, ...], windows: tuple[int, ...], rng: np.random.Generator
) -> Array:
    """With NaN in a third of the slices along one of the dimensions that has several.

    In one slice, where windows move along the dimension.
    """
    long = [d for d in (*dims, *windows) if values.shape[d] > 1]
    if not long:
        return values
    dim = long[rng.integers(len(long))]
    extent = values.shape[dim]
    chosen = rng.permutation(extent)[: 1 if dim in windows else max(1, extent // 3)]
    spotted = np.moveaxis(values.copy(), dim, 0)
    spotted[chosen] = np.nan
    return np.moveaxis(spotted, 0, dim)


def _values(
    kind: ScalarType,
    shape: tuple[int, ...],
    limits: Interval | None,
    style: Style,
    rng: np.random.Generator,
) -> Array:
    if kind is ScalarType.BOOL:
        return rng.integers(0, 2, shape)
    if limits is None:
        return _floats(shape, style, rng)
    low, high = limits
    if isinstance(low, int) and isinstance(high, int):
        wide = np.uint64 if high > np.iinfo(np.int64).max else np.int64
        return rng.integers(low, high, shape, dtype=wide, endpoint=True)
    return np.asarray(rng.uniform(low, high, shape))


def _floats(shape: tuple[int, ...], style: Style, rng: np.random.Generator) -> Array:
    match style:
        case Style.NORMAL | Style.SPOTTED:
            return np.asarray(rng.standard_normal(shape, dtype=np.float64))
        case Style.UNIT | Style.INFINITE:
            return np.asarray(rng.uniform(0.05, 0.95, shape))
        case Style.ABOVE_ONE:
            return np.asarray(rng.uniform(1, 2, shape))
        case Style.WIDE:
            return np.asarray(100 * rng.standard_normal(shape, dtype=np.float64))


def _given(pair: tuple[float, ...], kind: ScalarType) -> Interval:
    """A range that the user gave; integers inside it where the tensor has integers."""
    low, high = min(pair), max(pair)
    if kind.is_float:
        return float(low), float(high)
    return _clipped((math.ceil(low), math.floor(high)), kind)


def _clipped(interval: Interval, kind: ScalarType) -> Interval:
    if kind.is_float:
        return interval
    low, high = kind.integer_range
    return min(max(interval[0], low), high), min(max(interval[1], low), high)


def _narrowed(
    program: tir.Program,
    sizes: Mapping[str, int],
    limits: Mapping[str, Interval],
    steering: tuple[str, ...],
) -> Domain:
    """One value that does no harm for all steering inputs, then as far to both sides as goes."""
    whole = {n: _whole(limits[n]) for n in steering if n in limits}

    def works(trial: Mapping[str, Interval]) -> bool:
        return is_harmless(program, sizes, {**limits, **trial})

    for value in sorted(range(-SMALL, SMALL + 1), key=lambda v: (abs(v), v < 0)):
        found: dict[str, Interval] = {n: _point(value, whole[n]) for n in whole}
        if works(found):
            break
    else:
        return Domain(program, sizes, limits, False)
    for name, (low, high) in whole.items():
        at = int(found[name][0])
        last = _furthest(at, high, lambda v: works({**found, name: (at, v)}))  # noqa: B023
        first = _furthest(at, low, lambda v: works({**found, name: (v, last)}))  # noqa: B023
        found[name] = (first, last)
    return Domain(program, sizes, {**limits, **found}, True)


def _whole(limits: Interval) -> tuple[int, int]:
    low, high = math.ceil(limits[0]), math.floor(limits[1])
    return min(low, high), high


def _point(value: int, limits: tuple[int, int]) -> Interval:
    inside = min(max(value, limits[0]), limits[1])
    return inside, inside


def _furthest(start: int, end: int, works: Callable[[int], bool]) -> int:
    """The last value on the way from `start` to `end` that works; `start` does."""
    if works(end):
        return end
    while abs(end - start) > 1:
        middle = (start + end) // 2
        if works(middle):
            start = middle
        else:
            end = middle
    return start
