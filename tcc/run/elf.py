"""Reads the sections and the thread-local variables of a program: little-endian 64-bit ELF.

Source: System V Application Binary Interface, chapter "Object Files".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_THREAD_LOCAL = 6


@dataclass(frozen=True)
class Symbol:
    """A thread-local variable: its place in the program's thread-local block, in bytes."""

    name: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class _Section:
    offset: int
    bytes: int
    link: int


class Elf:
    """A program file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        head = _HEADER.unpack_from(data)
        if head[0][:6] != b"\x7fELF\x02\x01":
            raise ValueError("no little-endian 64-bit ELF file")
        table, size, count, names = head[6], head[11], head[12], head[13]
        raw = [_SECTION.unpack_from(data, table + i * size) for i in range(count)]
        self._all = [_Section(s[4], s[5], s[6]) for s in raw]
        text = self._bytes(self._all[names])
        self._sections = {
            text_at(text, s[0]): section for s, section in zip(raw, self._all, strict=True)
        }

    def section(self, name: str) -> bytes:
        """The content of a section; empty when there is none of that name."""
        found = self._sections.get(name)
        return self._bytes(found) if found else b""

    def thread_local(self) -> list[Symbol]:
        """The thread-local variables in the symbol table, if it has one."""
        table = self._sections.get(".symtab")
        if table is None:
            return []
        names = self._bytes(self._all[table.link])
        return [
            Symbol(text_at(names, name), value, size)
            for name, info, _, _, value, size in _SYMBOL.iter_unpack(self._bytes(table))
            if info & 15 == _THREAD_LOCAL and size
        ]

    def _bytes(self, section: _Section) -> bytes:
        return self._data[section.offset : section.offset + section.bytes]


def text_at(table: bytes, offset: int) -> str:
    """The text in a table of texts that begins at `offset`."""
    return table[offset : table.index(b"\0", offset)].decode(errors="replace")
