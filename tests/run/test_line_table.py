"""Line tables and thread-local symbols of real programs, of every compiler that is here."""

from __future__ import annotations

import itertools

import pytest

from tcc.run.elf import Elf
from tcc.run.line_table import line_rows
from tests.run.compilers import compilers

TEXT = """\
extern "C" int twice(int x);
static thread_local int counter[7];
int twice(int x) {
  counter[x] += 1;
  return x * 2 + counter[0];
}

int main(int count, char**) {
  int sum = 0;

  for (int i = 0; i < count; ++i)
    sum += twice(i);
  return sum;
}
"""
CODE_LINES = {3, 4, 5, 6, 8, 9, 11, 12, 13}


@pytest.fixture(scope="module", params=compilers(), ids=lambda c: c.name)
def compiler(request):
    return request.param


def program(compiler, folder, *flags: str) -> Elf:
    (folder / "text.cpp").write_text(TEXT)
    compiler.run(["-O0", "-g", *flags, "-o", "program", "text.cpp"], folder)
    return Elf((folder / "program").read_bytes())


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_lines(compiler, tmp_path, version):
    rows = line_rows(program(compiler, tmp_path, f"-gdwarf-{version}"))
    ours = [r for r in rows if r.file.endswith("text.cpp")]
    assert {r.line for r in ours} - {14} <= CODE_LINES
    assert {4, 5, 12, 13} <= {r.line for r in ours}
    assert all(a.address <= b.address for a, b in itertools.pairwise(rows))
    assert rows[-1].file == ""


def test_thread_local_variables(compiler, tmp_path):
    symbols = program(compiler, tmp_path).thread_local()
    found = [s for s in symbols if "counter" in s.name]
    assert [s.bytes for s in found] == [28]


def test_no_debug_information(compiler, tmp_path):
    elf = program(compiler, tmp_path, "-g0")
    assert not [r for r in line_rows(elf) if r.file.endswith("text.cpp")]


def test_other_files():
    with pytest.raises(ValueError, match="no little-endian 64-bit ELF file"):
        Elf(b"MZ" + bytes(100))
