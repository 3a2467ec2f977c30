"""Reads which line of which file the code of a program comes from: DWARF line programs.

Versions 2 to 5, 32-bit, uncompressed: what the compilers of the host device write. Source: DWARF 5,
section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tcc.run.elf import Elf, text_at

_MORE = 128  # the bit of a LEB128 byte that says that another one follows
_SIGN = 64


@dataclass(frozen=True)
class Row:
    """Code from `address` on comes from `line` of `file`; `file` is empty where none begins."""

    address: int
    file: str
    line: int


def line_rows(elf: Elf) -> list[Row]:
    """The rows of all line programs, in ascending order of addresses."""
    texts = {5: elf.section(".debug_line_str"), 4: elf.section(".debug_str")}
    data = _Reader(elf.section(".debug_line"))
    rows: list[Row] = []
    while data.at < len(data.bytes):
        length = data.number(4)
        end = data.at + length
        rows += _program(data, end, texts)
        data.at = end
    return sorted(rows, key=lambda r: (r.address, r.file != ""))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.bytes = data
        self.at = 0

    def number(self, size: int, *, signed: bool = False) -> int:
        value = int.from_bytes(self.bytes[self.at : self.at + size], "little", signed=signed)
        self.at += size
        return value

    def leb(self, *, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte % _MORE) << shift
            shift += 7
            if byte < _MORE:
                break
        return value - (1 << shift) if signed and byte & _SIGN else value

    def text(self) -> str:
        found = text_at(self.bytes, self.at)
        self.at = self.bytes.index(b"\0", self.at) + 1
        return found


@dataclass(frozen=True)
class _Head:
    minimum: int
    line_base: int
    line_range: int
    operands: tuple[int, ...]  # how many operands each standard opcode has
    files: tuple[str, ...]


def _program(data: _Reader, end: int, texts: Mapping[int, bytes]) -> Iterator[Row]:
    version = data.number(2)
    if not 2 <= version <= 5:  # noqa: PLR2004  (the versions that this reads)
        return
    if version == 5:  # noqa: PLR2004
        data.at += 2  # sizes of an address and of a segment selector
    data.at += 4  # length of the head
    minimum = data.number(1)
    data.at += 2 if version >= 4 else 1  # noqa: PLR2004  (operations an instruction, is_stmt)
    line_base, line_range = data.number(1, signed=True), data.number(1)
    operands = tuple(data.number(1) for _ in range(data.number(1) - 1))
    files = _files_5(data, texts) if version == 5 else _files(data)  # noqa: PLR2004
    yield from _Machine(data, _Head(minimum, line_base, line_range, operands, files)).run(end)


def _files(data: _Reader) -> tuple[str, ...]:
    """Versions 2 to 4: numbered from 1."""
    while data.text():  # directories
        pass
    names = [""]
    while name := data.text():
        names.append(name)
        for _ in range(3):
            data.leb()
    return tuple(names)


def _files_5(data: _Reader, texts: Mapping[int, bytes]) -> tuple[str, ...]:
    _entries(data, texts)  # directories
    return tuple(_entries(data, texts))


def _entries(data: _Reader, texts: Mapping[int, bytes]) -> list[str]:
    """The paths of a table whose columns it describes itself."""
    columns = [(data.leb(), data.leb()) for _ in range(data.number(1))]
    names = []
    for _ in range(data.leb()):
        values = {kind: _form(data, form, texts) for kind, form in columns}
        names.append(str(values.get(1, "")))
    return names


def _form(data: _Reader, form: int, texts: Mapping[int, bytes]) -> str | int:
    match form:
        case 0x08:
            return data.text()
        case 0x1F:
            return text_at(texts[5], data.number(4))
        case 0x0E:
            return text_at(texts[4], data.number(4))
        case 0x0B:
            return data.number(1)
        case 0x05:
            return data.number(2)
        case 0x0F:
            return data.leb()
        case 0x1E:
            return data.number(16)
        case _:
            raise ValueError(f"no such form in a line table: {form:#x}")


class _Machine:
    """The registers of a line program; DWARF 5, section 6.2.2."""

    def __init__(self, data: _Reader, head: _Head) -> None:
        self._data = data
        self._head = head
        self._address, self._file, self._line = 0, 1, 1

    def run(self, end: int) -> Iterator[Row]:
        """All rows of the program."""
        while self._data.at < end:
            yield from self._step(self._data.number(1))

    def _step(self, code: int) -> tuple[Row, ...]:
        standard = len(self._head.operands)
        if code > standard:
            adjusted = code - standard - 1
            self._advance(adjusted // self._head.line_range)
            self._line += self._head.line_base + adjusted % self._head.line_range
            return (self._row(),)
        if code == 0:
            return self._extended()
        return (self._row(),) if code == 1 else self._standard(code)

    def _standard(self, code: int) -> tuple[()]:
        data = self._data
        match code:
            case 2:
                self._advance(data.leb())
            case 3:
                self._line += data.leb(signed=True)
            case 4:
                self._file = data.leb()
            case 8:
                self._advance((254 - len(self._head.operands)) // self._head.line_range)
            case 9:
                self._address += data.number(2)
            case _:
                for _ in range(self._head.operands[code - 1]):
                    data.leb()
        return ()

    def _extended(self) -> tuple[Row, ...]:
        data = self._data
        after = data.leb() + data.at
        match data.number(1):
            case 1:
                rows: tuple[Row, ...] = (Row(self._address, "", 0),)
                self._address, self._file, self._line = 0, 1, 1
            case 2:
                rows = ()
                self._address = data.number(8)
            case _:
                rows = ()
        data.at = after
        return rows

    def _advance(self, operations: int) -> None:
        self._address += operations * self._head.minimum

    def _row(self) -> Row:
        return Row(self._address, self._head.files[self._file], self._line)
