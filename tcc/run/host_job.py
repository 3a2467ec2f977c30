"""The file that the Python side and the program of a host run share (templates/host/runtime_job.h).

It has a head, tables, then the pages of every buffer. Each buffer's data ends at a page end, up to
15 bytes, because the program maps an inaccessible gap behind it; all other bytes are poison.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from tcc.run.device import Array

MAGIC = 0x31626F6A63637431
POISON = 0xFF
ALIGNMENT = 16  # of the first byte of a buffer; 256 where the length is a multiple of 256

_HEAD = struct.Struct("<QQIIIIIIiiQQIIII")
_FAULT = struct.Struct("<II3I3IiiiiqII96s")
_TABLES = struct.Struct("<QQQQQ")
_BUFFER = struct.Struct("<QQQQIIII")
_SAMPLE = struct.Struct("<QQQ")
_ARRAY = struct.Struct("<QQ96s")
_FINDING = struct.Struct("<IIQ3I3IIIIIIIiIqQII96s")
_ERROR_OFFSET = struct.calcsize("<QQIIIIII")
_FINDINGS_OFFSET = struct.calcsize("<QQIIIIIIiiQQII")
_TABLES_OFFSET = _HEAD.size + _FAULT.size


class FaultKind(Enum):
    """What ended a run before its launcher returned."""

    ACCESS = 1
    ARITHMETIC = 2
    TRAP = 3
    STACK_OVERFLOW = 4
    TIMEOUT = 5
    DIVERGENT_LINES = 6
    DIVERGENT_EXIT = 7
    DEADLOCK = 8
    MASK_WITHOUT_CALLER = 9
    DIFFERENT_MASKS = 10
    SHARED_OVERRUN = 11
    WORKER_LOST = 12
    WORKSPACE_SIZE = 13
    SETUP = 14
    MISALIGNED = 15


@dataclass(frozen=True)
class Fault:
    """The first fault of a run. `line` and `other_line` are lines of the emitted text.

    `buffer` is the index of the nearest buffer, -1 for none, `offset` is in bytes from its start.
    `count` is the number of threads concerned or of the signal. `is_write`: 0, 1, 2 for unknown.
    """

    kind: FaultKind
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    line: int
    other_line: int
    count: int
    buffer: int
    offset: int
    is_write: int
    in_kernel: bool
    kernel: str


@dataclass(frozen=True)
class Record:
    """One finding of the checker, as templates/host/check_findings.h has it.

    Blocks and threads are linear. `place` is an offset in the program's code, or LINE_FLAG and a
    line, or 0. `region` is the index of a buffer, or SHARED, or NOWHERE; `offset` is in bytes.
    """

    kind: int
    launch: int
    count: int
    grid: tuple[int, int, int]
    block_shape: tuple[int, int, int]
    block: int
    other_block: int
    thread: int
    other_thread: int
    place: int
    other_place: int
    region: int
    bytes: int
    offset: int
    value: int
    access: int
    other_access: int
    kernel: str


LINE_FLAG = 1 << 31
NOWHERE, SHARED = -1, -2
NO_THREAD, NO_BLOCK = 0xFFFF, 0xFFFFFFFF


@dataclass(frozen=True)
class SharedArray:
    """A shared array: its bytes from `offset` on of the program's thread-local block."""

    kernel: str
    name: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class Checking:
    """What the checker needs to know. `shared_granule`: bytes of the smallest shared element."""

    arrays: tuple[SharedArray, ...]
    shared_granule: int
    capacity: int = 256


UNCHECKED = Checking((), 1, 0)


@dataclass(frozen=True)
class Buffer:
    """One buffer: its bytes, or how many; read-only ones fault on a write.

    `granule`: bytes of its smallest element, a power of two. `is_output`: all is to be written.
    """

    data: Array | int
    writable: bool
    granule: int = 1
    is_output: bool = False

    @property
    def bytes(self) -> int:
        """Length in bytes."""
        return self.data if isinstance(self.data, int) else self.data.nbytes

    @property
    def initialised(self) -> bool:
        """Whether it has values before the run."""
        return not isinstance(self.data, int)


@dataclass(frozen=True)
class Settings:
    """How to run. `blocks` has linear block indices for those launches that run only some."""

    reverse: bool
    workers: int
    timeout_s: float
    blocks: Mapping[int, Sequence[int]]


class Job:
    """The shared file of one run; `descriptor` is for the program to inherit."""

    def __init__(
        self,
        buffers: Sequence[Buffer],
        sizes: Sequence[int],
        workspace: int,
        settings: Settings,
        checking: Checking = UNCHECKED,
    ) -> None:
        head = _HEAD.size + _FAULT.size + _TABLES.size
        size_at = head + _BUFFER.size * len(buffers)
        sample_at = -(-(size_at + 4 * len(sizes)) // 8) * 8
        samples, array_at = _sample_table(settings.blocks, sample_at)
        arrays = _array_table(checking.arrays)
        self._finding_at = array_at + len(arrays)
        self._head_bytes = _pages(self._finding_at + checking.capacity * _FINDING.size)
        self._slots, total = _layout(buffers, self._head_bytes)
        self.descriptor = _anonymous_file(total)
        self._map = mmap.mmap(self.descriptor, total)
        self._bytes = np.frombuffer(self._map, dtype=np.uint8)
        counts = (len(buffers), len(sizes), len(settings.blocks), settings.workers)
        timeout_ms = max(1, round(settings.timeout_s * 1000))
        _HEAD.pack_into(
            self._map, 0, MAGIC, self._head_bytes, *counts, settings.reverse, 0, 0, workspace,
            timeout_ms, 0, len(checking.arrays), checking.shared_granule.bit_length() - 1, 0,
            checking.capacity,
        )  # fmt: skip
        places = (head, size_at, sample_at, array_at, self._finding_at)
        _TABLES.pack_into(self._map, _TABLES_OFFSET, *places)
        for i, (buffer, slot) in enumerate(zip(buffers, self._slots, strict=True)):
            facts = (buffer.writable, buffer.granule.bit_length() - 1, buffer.initialised)
            _BUFFER.pack_into(self._map, head + i * _BUFFER.size, *slot, *facts, buffer.is_output)
            self._fill(buffer, slot)
        struct.pack_into(f"<{len(sizes)}i", self._map, size_at, *sizes)
        self._map[sample_at : self._finding_at] = samples + arrays

    def _fill(self, buffer: Buffer, slot: tuple[int, int, int, int]) -> None:
        offset, page_bytes, lead, length = slot
        if isinstance(buffer.data, int):
            self._bytes[offset : offset + page_bytes] = POISON
            return
        self._bytes[offset : offset + lead] = POISON
        self._bytes[offset + lead + length : offset + page_bytes] = POISON
        flat = np.ascontiguousarray(buffer.data).reshape(-1).view(np.uint8)
        self._bytes[offset + lead : offset + lead + length] = flat

    def contents(self, buffer: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        """A copy of a buffer's data."""
        offset, _, lead, length = self._slots[buffer]
        raw = self._bytes[offset + lead : offset + lead + length]
        return np.array(raw.view(dtype).reshape(shape))

    def overrun(self, buffer: int) -> str | None:
        """Which side of a buffer was written, `before` or `past`, within its own pages."""
        offset, page_bytes, lead, length = self._slots[buffer]
        if np.any(self._bytes[offset : offset + lead] != POISON):
            return "before"
        if np.any(self._bytes[offset + lead + length : offset + page_bytes] != POISON):
            return "past"
        return None

    @property
    def error(self) -> int:
        """What the launcher returned: a `cudaError_t`."""
        value: int = struct.unpack_from("<i", self._map, _ERROR_OFFSET)[0]
        return value

    @property
    def fault(self) -> Fault | None:
        """The fault that ended the run."""
        (claimed, kind, *rest) = _FAULT.unpack_from(self._map, _HEAD.size)
        if not claimed:
            return None
        block, thread = (rest[0], rest[1], rest[2]), (rest[3], rest[4], rest[5])
        line, other, count, buffer, offset, is_write, in_kernel, name = rest[6:]
        text = name.rstrip(b"\0").decode(errors="replace")
        return Fault(
            FaultKind(kind), block, thread, line, other, count, buffer, offset, is_write,
            bool(in_kernel), text,
        )  # fmt: skip

    @property
    def records(self) -> tuple[list[Record], int]:
        """The findings of the checker, and how many more there were than the table holds."""
        found, capacity = struct.unpack_from("<II", self._map, _FINDINGS_OFFSET)
        count = min(found, capacity)
        places = range(self._finding_at, self._finding_at + count * _FINDING.size, _FINDING.size)
        return [_record(_FINDING.unpack_from(self._map, p)) for p in places], found - count

    def close(self) -> None:
        """Give the file back; the memory goes with the last array that uses it."""
        os.close(self.descriptor)


def _record(fields: tuple[Any, ...]) -> Record:
    name = fields[-1].rstrip(b"\0").decode(errors="replace")
    values: list[Any] = [*fields[:3], fields[3:6], fields[6:9], *fields[9:-1], name]
    return Record(*values)


def _layout(buffers: Sequence[Buffer], start: int) -> tuple[list[tuple[int, int, int, int]], int]:
    """Offset, pages, lead and length of each buffer, and the length of the file."""
    slots = []
    for buffer in buffers:
        page_bytes = _pages(buffer.bytes)
        lead = (page_bytes - buffer.bytes) // ALIGNMENT * ALIGNMENT
        slots.append((start, page_bytes, lead, buffer.bytes))
        start += page_bytes
    return slots, start


def _sample_table(blocks: Mapping[int, Sequence[int]], at: int) -> tuple[bytes, int]:
    """The table of sampled launches with the lists behind it, and where it ends."""
    rows, lists = b"", b""
    lists_at = at + _SAMPLE.size * len(blocks)
    for launch, chosen in sorted(blocks.items()):
        rows += _SAMPLE.pack(launch, lists_at + len(lists), len(chosen))
        lists += struct.pack(f"<{len(chosen)}Q", *chosen)
    return rows + lists, lists_at + len(lists)


def _array_table(arrays: Sequence[SharedArray]) -> bytes:
    return b"".join(_ARRAY.pack(a.offset, a.bytes, a.kernel.encode()[:95]) for a in arrays)


def _pages(length: int) -> int:
    return -(-length // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY


def _anonymous_file(length: int) -> int:
    descriptor = os.memfd_create("tcc-job")
    os.ftruncate(descriptor, length)
    return descriptor
