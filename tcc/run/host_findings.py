"""From the checker's records to findings that name tensors, statements, threads and lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tcc.run.emitted import EmittedText
from tcc.run.findings import Finding, FindingKind, Thread, Triple
from tcc.run.host_job import (
    LINE_FLAG,
    NO_BLOCK,
    NO_THREAD,
    NOWHERE,
    SHARED,
    Fault,
    FaultKind,
    Record,
    SharedArray,
)

_KINDS = {
    1: FindingKind.RACE,
    2: FindingKind.WARP_RACE,
    3: FindingKind.BLOCK_RACE,
    4: FindingKind.OUT_OF_BOUNDS,
    5: FindingKind.OUT_OF_BOUNDS,
    6: FindingKind.UNINITIALISED,
    7: FindingKind.MISALIGNED,
    8: FindingKind.INPUT_WRITE,
    9: FindingKind.PENDING_COPY,
    10: FindingKind.INACTIVE_LANE,
    11: FindingKind.UNWRITTEN,
    12: FindingKind.UNINITIALISED,
}
_ARRAY_BOUNDS, _FROM_LOCAL = 5, 12
_VERBS = ("reads", "writes", "updates")
_WRITE = 1
_FAULTS = {
    FaultKind.ACCESS: FindingKind.OUT_OF_BOUNDS,
    FaultKind.SHARED_OVERRUN: FindingKind.OUT_OF_BOUNDS,
    FaultKind.DIVERGENT_LINES: FindingKind.DIVERGENCE,
    FaultKind.DIVERGENT_EXIT: FindingKind.DIVERGENCE,
    FaultKind.DEADLOCK: FindingKind.DIVERGENCE,
    FaultKind.MASK_WITHOUT_CALLER: FindingKind.DIVERGENCE,
    FaultKind.DIFFERENT_MASKS: FindingKind.DIVERGENCE,
    FaultKind.MISALIGNED: FindingKind.MISALIGNED,
    FaultKind.ARITHMETIC: FindingKind.CRASH,
    FaultKind.TRAP: FindingKind.CRASH,
    FaultKind.STACK_OVERFLOW: FindingKind.CRASH,
    FaultKind.TIMEOUT: FindingKind.CRASH,
}
"""Faults that are findings as well; the others are faults of the machine."""


_ORDER = (
    FindingKind.DIVERGENCE,
    FindingKind.OUT_OF_BOUNDS,
    FindingKind.INPUT_WRITE,
    FindingKind.MISALIGNED,
    FindingKind.PENDING_COPY,
    FindingKind.RACE,
    FindingKind.WARP_RACE,
    FindingKind.BLOCK_RACE,
    FindingKind.INACTIVE_LANE,
    FindingKind.UNINITIALISED,
    FindingKind.CRASH,
    FindingKind.UNWRITTEN,
)


@dataclass(frozen=True)
class Part:
    """A tensor within a buffer: where it begins, in bytes, and what its elements are called."""

    name: str
    start: int
    element_bytes: int
    shape: tuple[int, ...] | None
    origin: tuple[int, ...]


@dataclass(frozen=True)
class Scene:
    """What findings are told in terms of. `buffers` has the parts of each buffer, ascending.

    `lines`: code addresses, ascending, and the line of each, 0 for other files than the text.
    """

    text: EmittedText
    buffers: Sequence[Sequence[Part]]
    arrays: Sequence[SharedArray]
    lines: tuple[Sequence[int], Sequence[int]]


def findings_of(records: Sequence[Record], scene: Scene) -> list[Finding]:
    """One finding for each kind, line and tensor, in the order of the records."""
    merged: dict[tuple[FindingKind, int | None, str | None], Finding] = {}
    for record in records:
        found = _finding(record, scene)
        key = (found.kind, found.line, found.tensor)
        if key in merged:
            found = replace(merged[key], count=merged[key].count + found.count)
        merged[key] = found
    return list(merged.values())


def in_order(findings: list[Finding]) -> list[Finding]:
    """Causes before what they lead to: a missing barrier also makes reads uninitialised."""
    return sorted(findings, key=lambda f: _ORDER.index(f.kind))


def finding_of_fault(fault: Fault, message: str, scene: Scene) -> Finding | None:
    """A fault as a finding; None where it is none of the kernel's."""
    kind = _FAULTS.get(fault.kind)
    if kind is None or not fault.in_kernel:
        return None
    line = fault.line if fault.line > 0 else None
    return Finding(
        kind,
        message,
        fault.kernel,
        line,
        None if line is None else scene.text.statement(line),
        thread=Thread(fault.block, fault.thread),
        other_line=fault.other_line if fault.other_line > 0 else None,
    )


def _finding(record: Record, scene: Scene) -> Finding:
    kind, line = _KINDS[record.kind], _line(record.place, scene)
    part, index = _element(record, scene)
    other_line = _line(record.other_place, scene)
    return Finding(
        kind,
        _message(record, part, index, other_line),
        record.kernel,
        line,
        None if line is None else scene.text.statement(line),
        part.name if part else None,
        index,
        None if kind is FindingKind.UNWRITTEN else _thread(record, record.block, record.thread),
        _other(record),
        other_line,
        record.count,
    )


def _line(place: int, scene: Scene) -> int | None:
    if place & LINE_FLAG:
        return place - LINE_FLAG
    at = bisect_right(scene.lines[0], place) - 1
    return (scene.lines[1][at] or None) if place and at >= 0 else None


def _thread(record: Record, block: int, thread: int) -> Thread:
    return Thread(_coordinates(block, record.grid), _coordinates(thread, record.block_shape))


def _coordinates(linear: int, extents: Triple) -> Triple:
    x, y, _ = extents
    return linear % x, linear // x % y, linear // (x * y)


def _other(record: Record) -> Thread | None:
    if record.other_thread == NO_THREAD:
        return None
    block = record.block if record.other_block == NO_BLOCK else record.other_block
    return _thread(record, block, record.other_thread)


def _element(record: Record, scene: Scene) -> tuple[Part | None, tuple[int, ...] | None]:
    """The tensor or array, and the subscripts where they are inside of it."""
    if record.region == NOWHERE:
        return None, None
    if record.region == SHARED:
        part = _part_at(_shared_parts(scene, record.kernel), record.offset)
    else:
        parts = scene.buffers[record.region]
        part = _part_at(parts, record.offset) or parts[0]
    return part, None if part is None else _index(part, record.offset)


def _shared_parts(scene: Scene, kernel: str) -> list[Part]:
    parts = []
    for array in scene.arrays:
        declared = scene.text.shared.get((kernel, array.name))
        if array.kernel == kernel and declared is not None:
            origin = (0,) * len(declared.shape)
            parts.append(
                Part(array.name, array.offset, declared.element_bytes, declared.shape, origin)
            )
    return sorted(parts, key=lambda p: p.start)


def _part_at(parts: Sequence[Part], offset: int) -> Part | None:
    at = bisect_right([p.start for p in parts], offset) - 1
    return parts[at] if at >= 0 else None


def _index(part: Part, offset: int) -> tuple[int, ...] | None:
    flat = (offset - part.start) // part.element_bytes
    if part.shape is None:
        return (flat,)
    if not 0 <= flat < prod(part.shape):
        return None
    place = np.unravel_index(flat, part.shape) if part.shape else ()
    return tuple(int(k) + o for k, o in zip(place, part.origin, strict=True))


def _spelled(part: Part | None, index: tuple[int, ...] | None) -> str:
    if part is None:
        return "shared memory"
    return f"`{part.name}({', '.join(map(str, index))})`" if index else f"`{part.name}`"


def _message(
    record: Record, part: Part | None, index: tuple[int, ...] | None, other_line: int | None
) -> str:
    element, verb = _spelled(part, index), _VERBS[record.access]
    at = f" in line {other_line}" if other_line else ""
    match _KINDS[record.kind]:
        case FindingKind.OUT_OF_BOUNDS:
            return _bounds_message(record, part, index, verb)
        case FindingKind.UNINITIALISED if record.kind == _FROM_LOCAL:
            if record.access == _WRITE:
                return f"writes a variable that has no value to {element}"
            return f"{verb} {element}, into which{at} a variable without a value was copied"
        case FindingKind.UNINITIALISED:
            return f"{verb} {element}, which nothing has written"
        case FindingKind.MISALIGNED:
            return f"{verb} {record.bytes} bytes at {element}, which is not aligned to them"
        case FindingKind.INPUT_WRITE:
            return f"{verb} the input {element}"
        case FindingKind.PENDING_COPY:
            return f"{verb} {element} before the wait for the asynchronous copy{at} that fills it"
        case FindingKind.INACTIVE_LANE:
            return "takes the value of a lane that does not take part in the shuffle"
        case FindingKind.UNWRITTEN:
            more = f", nor {record.value - 1} other elements" if record.value > 1 else ""
            return f"no thread writes {element}{more}"
        case kind:
            return (
                f"{verb} {element}, which {_other_side(kind, record)}{at}{_MISSING.get(kind, '')}"
            )


_MISSING = {
    FindingKind.RACE: ", with no barrier between",
    FindingKind.WARP_RACE: ", with no __syncwarp or barrier between",
}


def _other_side(kind: FindingKind, record: Record) -> str:
    who = "another block" if kind is FindingKind.BLOCK_RACE else "another thread"
    return f"{who} {_VERBS[record.other_access]}"


def _bounds_message(
    record: Record, part: Part | None, index: tuple[int, ...] | None, verb: str
) -> str:
    if record.kind == _ARRAY_BOUNDS:
        value = record.value - (1 << 64) if record.value >> 63 else record.value
        return f"takes element {value} of an array that has {record.offset}"
    if part is None:
        return f"{verb} shared memory that is in no array"
    if part.shape is None or index is not None:
        return f"{verb} {record.bytes} bytes that do not fit in {_spelled(part, index)}"
    flat = (record.offset - part.start) // part.element_bytes
    if flat < 0:
        return f"{verb} `{part.name}` {-flat} elements before its start"
    return f"{verb} past the end of `{part.name}`: element {flat} of {prod(part.shape)}"
