"""Writing outputs: whole files, all or none."""

import os
import stat
from pathlib import Path

import pytest

from tcc.output import write_all


def listing(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_new_files_get_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_all({tmp_path / "a.cu": b"a", tmp_path / "a.h": b"h"})
    finally:
        os.umask(before)
    assert listing(tmp_path) == ["a.cu", "a.h"]
    assert stat.S_IMODE((tmp_path / "a.cu").stat().st_mode) == 0o640


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    file = tmp_path / "a.cu"
    file.write_text("old")
    file.chmod(0o604)
    write_all({file: b"new"})
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o604)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.cu").write_text("old")
    (tmp_path / "a.cu").symlink_to("real.cu")
    write_all({tmp_path / "a.cu": b"new"})
    assert (tmp_path / "a.cu").is_symlink()
    assert (tmp_path / "real.cu").read_bytes() == b"new"


def test_nothing_changes_when_one_output_cannot_be_written(tmp_path):
    (tmp_path / "a.cu").write_text("old")
    missing = tmp_path / "no" / "a.h"
    with pytest.raises(FileNotFoundError) as problem:
        write_all({tmp_path / "a.cu": b"new", missing: b"h"})
    assert problem.value.filename == str(missing)
    assert listing(tmp_path) == ["a.cu"]
    assert (tmp_path / "a.cu").read_text() == "old"


def test_a_folder_is_no_output(tmp_path):
    with pytest.raises(IsADirectoryError):
        write_all({tmp_path / "a.cu": b"a", tmp_path: b"h"})
    assert listing(tmp_path) == []


def test_an_interrupt_leaves_no_trace(tmp_path, monkeypatch):
    (tmp_path / "a.cu").write_text("old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_all({tmp_path / "a.cu": b"new"})
    assert listing(tmp_path) == ["a.cu"]
    assert (tmp_path / "a.cu").read_text() == "old"


def test_a_device_is_written_to(tmp_path):
    write_all({Path("/dev/null"): b"a", tmp_path / "a.cu": b"a"})
    assert listing(tmp_path) == ["a.cu"]
    assert Path("/dev/null").is_char_device()


def test_a_long_name(tmp_path):
    write_all({tmp_path / ("x" * 255): b"a"})
    assert listing(tmp_path) == ["x" * 255]


def test_a_full_disk_is_named():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_all({Path("/dev/full"): b"a"})
