"""Long reductions with few results: cut into parts that run in parallel, joined by a second step.

`S +=! X(n)` over 2^24 elements becomes

    S_parts(part) +=! X(part * 32768 + n)
    S +=! S_parts(part)

a rewrite of the program before scheduling (rfactor), so that every later check sees it. The order
of the parts is fixed: the result does not change from run to run. Where it may, the first step adds
its part itself, by an atomic operation, and nothing but the identity has to be stored before:

    S = 0.0f
    S_parts(part) +=! X(part * 32768 + n)
    S += S_parts(part)                         atomic; S_parts stays in a register

Where results share operands, the threads of a block may share the sum instead (`sched/slices.py`):
one kernel with small tiles, which reads the operands more often. The model's figures decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod, sqrt

from tcc.affine import Affine, const
from tcc.frontend import tir
from tcc.frontend.reduction import identity, start
from tcc.frontend.rewrite import rebuild
from tcc.scalar import ScalarType
from tcc.sched.model import L2_BYTES_PER_CYCLE, TILE_LATENCY
from tcc.target import Target

SHORTEST_ROW_PART = 2048
SHORTEST_TILE_PART = 256
TILE_POINTS = 64 * 64
BLOCKS_PER_SM = 4
OPEN_PART = 16384
ALL_PARTS = "  [all parts]"
START = "  [start]"
SMALLEST_TILE = 16
ELEMENT_BYTES = 4
STAGED_ELEMENTS = 6144
"""Of both operands in one k-tile: two stages of them fill 48 KiB."""
SECOND_KERNEL = 4000
"""Cycles from the end of a kernel to the work of the next one: about 2 us."""


def split_reductions(
    program: tir.Program,
    sizes: Mapping[str, int],
    target: Target,
    parts: int | None,
    *,
    deterministic: bool = True,
) -> tir.Program:
    """The program with every long reduction that leaves SMs idle cut into parts.

    `parts` asks for that many parts of every reduction (1: none); None decides by the extents.
    Without `deterministic` they are joined by atomic operations where a type has them.
    Requires: `program` passed all checks. Establishes: the same results up to the rounding of a
    different order of summation.
    """
    if parts == 1:
        return program
    for statement in program.statements:
        part = _part(statement, sizes, target, parts)
        if part is not None:
            program = _rewrite(program, statement, part, deterministic=deterministic)
    return _parts_first(program)


def order_note(program: tir.Program) -> str:
    """What became of `deterministic: false` in a program that was split."""
    joined = [f"`{s.target}`" for s in program.statements if s.atomic]
    if joined:
        return f"added up in any order, by atomic operations: {', '.join(joined)}"
    return "`deterministic: false` has no effect: no sum of 32 or 64 bits is cut into parts"


def _parts_first(program: tir.Program) -> tir.Program:
    """The program with every second step after the first steps that need nothing of it.

    So first steps over one input are neighbours, and can share a kernel. With atomic operations
    the two steps of one sum stay together, and the starts of all come first.
    """
    ordered = list(program.statements)
    for place in range(len(ordered) - 2, -1, -1):
        at = place
        while at + 1 < len(ordered) and _may_follow(*ordered[at : at + 2]):
            ordered[at : at + 2] = ordered[at + 1], ordered[at]
            at += 1
    statements = tuple(ordered)
    return program if statements == program.statements else replace(program, statements=statements)


def _may_follow(step: tir.Statement, other: tir.Statement) -> bool:
    """Whether the step of one sum can come after the step of another that stands behind it."""
    second = step.text.endswith(ALL_PARTS)
    if other.text.endswith(START):
        return (second or step.name.endswith("_parts")) and other.target not in _touched(step)
    behind = second and not step.atomic and other.name.endswith("_parts")
    return behind and step.target not in _touched(other)


def _touched(statement: tir.Statement) -> set[str]:
    """The tensors that a statement reads or writes."""
    reads = {e.tensor for e in tir.walk(statement.value) if isinstance(e, tir.Read)}
    return reads | {statement.target}


@dataclass(frozen=True)
class _Part:
    """The reduction index to cut, elements of a part, number of parts; `exact`: no surplus."""

    index: str
    length: int
    count: Affine
    exact: bool


def _part(
    statement: tir.Statement,
    sizes: Mapping[str, int],
    target: Target,
    parts: int | None,
) -> _Part | None:
    if statement.operator == "=" or not statement.reductions:
        return None
    values = {s: const(v) for s, v in sizes.items()}
    extents = {i: r.extent.substitute(values) for i, r in statement.ranges.items()}
    points = [extents[i] for i in statement.indices]
    along = [extents[i] for i in statement.reductions]
    if not _is_box(statement) or not all(p.is_constant for p in points):
        return None
    index = max(statement.reductions, key=lambda i: _known(extents[i]))
    rest = prod(_known(e) for i, e in zip(statement.reductions, along, strict=True) if i != index)
    wanted = parts or _wanted(
        statement, prod(p.value for p in points), rest * _known(extents[index]), target
    )
    if wanted <= 1:
        return None
    extent = extents[index]
    if not extent.is_constant:
        length = max(1, OPEN_PART // rest)
        count = (statement.ranges[index].extent + (length - 1)) // length
        return _Part(index, length, count, exact=False)
    length = _length(extent.value, -(-extent.value // min(wanted, extent.value)))
    number = -(-extent.value // length)
    if number == 1:
        return None
    return _Part(index, length, const(number), exact=extent.value % length == 0)


def _is_box(statement: tir.Statement) -> bool:
    """Whether no range depends on another index: one that is cut would move those inside."""
    names = {*statement.indices, *statement.reductions}
    ranges = statement.ranges.values()
    return not any((r.low.variables | r.high.variables) & names for r in ranges)


def _known(extent: Affine) -> int:
    return extent.value if extent.is_constant else 1 << 20


def _wanted(statement: tir.Statement, points: int, length: int, target: Target) -> int:
    """How many parts keep the SMs busy, while each part stays worth a block."""
    blocks = -(-points // TILE_POINTS) if _has_reuse(statement) else points
    shortest = SHORTEST_TILE_PART if _has_reuse(statement) else SHORTEST_ROW_PART
    if blocks * 2 > target.sms or length < 4 * shortest:
        return 1
    busy = target.sms if _has_reuse(statement) else target.sms * BLOCKS_PER_SM
    parts = max(1, min(busy // max(blocks, 1), length // shortest))
    if _has_reuse(statement) and _inside_blocks(points, length, target) <= _in_parts(
        points, length, parts, target
    ):
        return 1
    return parts


def _inside_blocks(points: int, length: int, target: Target) -> float:
    """Predicted cycles where every SM has a small tile of results, and the threads share sums."""
    results = max(SMALLEST_TILE, points / target.sms)
    side = sqrt(results)
    tiles = length * 2 * side / STAGED_ELEMENTS
    return max(
        results * length / target.fp32_lanes,
        2 * side * length * ELEMENT_BYTES / L2_BYTES_PER_CYCLE,
        tiles * TILE_LATENCY,
    )


def _in_parts(points: int, length: int, parts: int, target: Target) -> float:
    """Predicted cycles of large tiles over parts of the sums, and of the kernel that adds them."""
    passed_on = 2 * parts * points * ELEMENT_BYTES / (target.sms * L2_BYTES_PER_CYCLE)
    tile = min(points, TILE_POINTS)
    return tile * length / parts / target.fp32_lanes + SECOND_KERNEL + passed_on


def _has_reuse(statement: tir.Statement) -> bool:
    """Whether several results read the same element of a tensor."""
    for read in tir.walk(statement.value):
        if isinstance(read, tir.Read) and read.subscripts:
            used = {n for s in read.subscripts for n in _indices(s)}
            if not used >= set(statement.indices):
                return True
    return False


def _indices(expression: tir.Expression) -> set[str]:
    return {e.name for e in tir.walk(expression) if isinstance(e, tir.Index)}


def _length(extent: int, wanted: int) -> int:
    """A divisor of the extent near the wanted length, a multiple of 4 if there is one."""
    near = range(wanted, min(extent, 2 * wanted) + 1)
    for step in (4, 1):
        found = next((n for n in near if extent % n == 0 and n % step == 0), None)
        if found is not None:
            return found
    return wanted


def _rewrite(
    program: tir.Program, statement: tir.Statement, part: _Part, *, deterministic: bool
) -> tir.Program:
    target = program.tensors[statement.target]
    taken = set(program.tensors) | set(program.sizes) | set(statement.ranges)
    name, index = _fresh(f"{target.name}_parts", taken), _fresh("part", taken)
    lhs = [statement.ranges[i] for i in statement.indices]
    tensor = tir.Tensor(
        name,
        target.type.compute,
        (part.count, *(r.extent for r in lhs)),
        (const(0), *(r.low for r in lhs)),
        tir.Role.TEMPORARY,
        target.span,
    )
    first = _first(statement, part, name, index, target.type.compute)
    second = _second(statement, part, name, index, target.type.compute)
    steps = [first, second]
    if not deterministic and target.type.is_word:
        joined = replace(second, initialise=False, atomic=True)
        starts = [_start(statement, target.type)] if statement.initialise else []
        steps = [*starts, first, joined]
    statements: list[tir.Statement] = []
    for each in program.statements:
        statements += steps if each is statement else [each]
    return replace(
        program,
        tensors={**program.tensors, name: tensor},
        temporaries=(*program.temporaries, name),
        statements=tuple(statements),
    )


def _first(
    statement: tir.Statement, part: _Part, name: str, index: str, type: ScalarType
) -> tir.Statement:
    """The parts: the reduction index becomes low + part * length + index."""
    whole = statement.ranges[part.index]
    value = _moved(statement.value, part.index, _position(whole, part, index, ScalarType.INT32))
    if not part.exact:
        kind = _guard_type(whole, part)
        last = _cast(tir.Size(whole.high), kind)
        inside = tir.Binary("<", _position(whole, part, index, kind), last, ScalarType.BOOL)
        neutral = tir.Literal(start(statement, type), type)
        value = tir.Select(inside, value, neutral, type)
    ranges = {
        index: tir.Range(const(0), part.count),
        **statement.ranges,
        part.index: tir.Range(const(0), const(part.length)),
    }
    return replace(
        statement,
        name=f"{statement.name}_parts",
        target=name,
        indices=(index, *statement.indices),
        ranges=ranges,
        initialise=True,
        part=not statement.initialise,
        value=value,
        text=f"{statement.text}  [in parts of {part.length}]",
    )


def _position(whole: tir.Range, part: _Part, index: str, kind: ScalarType) -> tir.Expression:
    """The reduction index from the number of its part."""
    length = tir.Literal(part.length, kind)
    offset = tir.Binary("*", _cast(tir.Index(index), kind), length, kind)
    position = tir.Binary("+", offset, _cast(tir.Index(part.index), kind), kind)
    if whole.low == const(0):
        return position
    return tir.Binary("+", _cast(tir.Size(whole.low), kind), position, kind)


def _guard_type(whole: tir.Range, part: _Part) -> ScalarType:
    """The type of positions in the surplus of the last part, which may leave int32."""
    if not (part.count.is_constant and whole.low.is_constant):
        return ScalarType.INT32
    past = whole.low.value + part.count.value * part.length
    fits = past <= ScalarType.INT32.integer_range[1]
    return ScalarType.INT32 if fits else ScalarType.INT64


def _cast(value: tir.Index | tir.Size, kind: ScalarType) -> tir.Expression:
    return value if value.type is kind else tir.Cast(value, kind)


def _start(statement: tir.Statement, type: ScalarType) -> tir.Statement:
    """The identity in every element, before the parts come."""
    return replace(
        statement,
        name=f"{statement.name}_start",
        reductions=(),
        ranges={i: statement.ranges[i] for i in statement.indices},
        operator="=",
        initialise=False,
        value=tir.Literal(identity(statement.operator, type), type),
        text=f"{statement.text}{START}",
    )


def _second(
    statement: tir.Statement, part: _Part, name: str, index: str, type: ScalarType
) -> tir.Statement:
    subscripts = (tir.Index(index), *(tir.Index(i) for i in statement.indices))
    ranges = {i: statement.ranges[i] for i in statement.indices}
    return replace(
        statement,
        reductions=(index,),
        ranges={**ranges, index: tir.Range(const(0), part.count)},
        value=tir.Read(name, subscripts, type, statement.span),
        text=f"{statement.text}{ALL_PARTS}",
    )


def _moved(expression: tir.Expression, index: str, position: tir.Expression) -> tir.Expression:
    """The expression with an index replaced."""
    return rebuild(expression, lambda e: position if e == tir.Index(index) else e)


def _fresh(wanted: str, taken: set[str]) -> str:
    name = wanted
    while name in taken:
        name += "_"
    return name
