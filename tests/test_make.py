"""tcc.mk: what make makes of `.tc` files, and when it does so again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doc_blocks import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
COPY = "def copy(float(N) A) -> (B) { B(i) = A(i) }"
MAKEFILE = f"""\
TCC := {sys.executable} -m tcc
all: $(TCC_OUT)one.o $(TCC_OUT)two.o
include {ROOT}/tcc/make/tcc.mk
%.o: %.cu
\t@cp $< $@ && echo object $@
"""


class Project:
    """A folder with two kernels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("Makefile", MAKEFILE)
        self.write("one.tc", COPY)
        self.write("two.tc", COPY.replace("copy", "copy2"))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def made(self, *words: str) -> list[str]:
        """What make did: the outputs of compilations, and objects."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        done = subprocess.run(
            ["make", *words],
            cwd=self.folder,
            env=inherited | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        lines = done.stdout.splitlines()
        commands = [line.split() for line in lines if " compile " in line]
        outputs = [w[w.index("-o" if "-o" in w else "--ptx") + 1] for w in commands]
        return outputs + [line.removeprefix("object ") for line in lines if line[:6] == "object"]


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_exactly_what_depends_on_a_change_is_made_again(project):
    assert project.made() == ["one.cu", "two.cu", "one.o", "two.o"]
    assert (project.folder / "one.h").exists()
    assert project.made() == []
    project.write("one.tc", COPY)
    assert project.made() == ["one.cu", "one.o"]
    # It was written before the kernel was compiled, and moved here later.
    project.write("two.yaml", "sizes: {N: 64}")
    os.utime(project.folder / "two.yaml", (1, 1))
    assert project.made() == ["two.cu", "two.o"]
    assert "int N" not in (project.folder / "two.h").read_text()
    project.write("two.yaml", "sizes: {N: 32}")
    assert project.made() == ["two.cu", "two.o"]
    (project.folder / "two.yaml").unlink()
    assert project.made() == ["two.cu", "two.o"]
    assert "int N" in (project.folder / "two.h").read_text()
    assert project.made() == []


def test_options_of_the_command_line(project):
    project.made()
    assert project.made("TCCFLAGS_one=--size N=128") == ["one.cu", "one.o"]
    assert project.made("TCCFLAGS_one=--size N=128") == []
    assert "int N" not in (project.folder / "one.h").read_text()
    assert project.made("TCCFLAGS=--arch sm_80", "TCCFLAGS_one=--size N=128") == [
        "one.cu",
        "two.cu",
        "one.o",
        "two.o",
    ]


def test_an_options_file_of_another_name_is_an_input(project):
    project.write("fast.yaml", "sizes: {N: 64}")
    words = ("TCCFLAGS_one=--options fast.yaml",)
    project.made(*words)
    assert project.made(*words) == []
    os.utime(project.folder / "fast.yaml")
    assert project.made(*words) == ["one.cu", "one.o"]


def test_outputs_go_to_a_folder(project):
    project.write("deep/three.tc", COPY)
    made = project.made("TCC_OUT=out/", "all", "out/deep/three.h")
    assert made == ["out/one.cu", "out/two.cu", "out/deep/three.cu", "out/one.o", "out/two.o"]
    assert not (project.folder / "one.cu").exists()
    assert project.made("TCC_OUT=out/", "all", "out/deep/three.h") == []
    os.utime(project.folder / "deep" / "three.tc")
    assert project.made("TCC_OUT=out/", "all", "out/deep/three.h") == ["out/deep/three.cu"]


def test_a_rejected_program_leaves_the_last_outputs(project):
    project.made()
    before = (project.folder / "one.cu").read_text()
    project.write("one.tc", "def copy(float(N) A) -> (B) { B(i) = C(i) }")
    with pytest.raises(AssertionError, match="E0201"):
        project.made()
    assert (project.folder / "one.cu").read_text() == before
