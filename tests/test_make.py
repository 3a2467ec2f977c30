"""tcc.mk: what make makes of `.tc` files, and when it does so again.

The compiler is a stand-in here that takes the same options, so that many builds take no time;
`test_examples.py` and the documents build with the real one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doc_blocks import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
MAKEFILE = f"""\
TCC := {sys.executable} -S {{folder}}/tcc.py
all: $(TCC_OUT)one.o $(TCC_OUT)two.o
include {ROOT}/tcc/make/tcc.mk
%.o: %.cu
\t@cp $< $@ && echo object $@
"""
COMPILER = """
import sys
words = sys.argv[1:]
assert words[0] == "compile"
given = {w: words[i + 1] for i, w in enumerate(words) if w.startswith("-")}
inputs = [w for w in (words[1], given.get("--options")) if w]
text = "".join(open(name).read() for name in inputs) + given.get("--size", "")
if "wrong" in text:
    sys.exit("error: rejected")
outputs = [given[o] for o in ("-o", "--header", "--ptx", "--self-test") if o in given]
for name in outputs:
    open(name, "w").write(text)
rules = [" ".join(outputs) + ": " + " ".join(inputs), *(name + ":" for name in inputs)]
open(given["--depfile"], "w").write("\\n".join(rules) + "\\n")
"""


class Project:
    """A folder with two kernels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("Makefile", MAKEFILE.format(folder=folder))
        self.write("tcc.py", COMPILER)
        self.write("one.tc", "def one")
        self.write("two.tc", "def two")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    def made(self, *words: str, status: int = 0) -> list[str]:
        """What make did: the outputs of compilations, and objects."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        done = subprocess.run(
            ["make", *words],
            cwd=self.folder,
            env=inherited,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr + done.stdout
        lines = done.stdout.splitlines()
        commands = [line.split() for line in lines if " compile " in line]
        options = ("-o", "--ptx", "--self-test")
        outputs = [w[i + 1] for w in commands for i in range(len(w)) if w[i] in options]
        return outputs + [line.removeprefix("object ") for line in lines if line[:6] == "object"]


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_exactly_what_depends_on_a_change_is_made_again(project):
    assert project.made() == ["one.cu", "two.cu", "one.o", "two.o"]
    assert (project.folder / "one.h").exists()
    assert project.made() == []
    project.write("one.tc", "def one, again")
    assert project.made() == ["one.cu", "one.o"]
    # It was written before the kernel was compiled, and moved here later.
    project.write("two.yaml", "sizes")
    os.utime(project.folder / "two.yaml", (1, 1))
    assert project.made() == ["two.cu", "two.o"]
    assert project.text("two.h") == "def twosizes"
    project.write("two.yaml", "other sizes")
    assert project.made() == ["two.cu", "two.o"]
    (project.folder / "two.yaml").unlink()
    assert project.made() == ["two.cu", "two.o"]
    assert project.text("two.h") == "def two"
    (project.folder / "two.h").unlink()
    assert project.made("two.h") == ["two.cu"]
    assert project.made() == ["two.o"]
    assert project.made() == []


def test_options_of_the_command_line(project):
    project.made()
    assert project.made("TCCFLAGS_one=--size N=128") == ["one.cu", "one.o"]
    assert project.made("TCCFLAGS_one=--size N=128") == []
    assert project.text("one.h") == "def oneN=128"
    words = ("TCCFLAGS=--arch sm_80", "TCCFLAGS_one=--size N=128")
    assert project.made(*words) == ["one.cu", "two.cu", "one.o", "two.o"]


def test_names_that_differ_in_a_dash_are_remembered_apart(project):
    project.write("a/b.tc", "def one")
    project.write("a-b.tc", "def two")
    assert project.made("a/b.cu", "a-b.cu") == ["a/b.cu", "a-b.cu"]
    assert project.made("a/b.cu", "a-b.cu") == []


def test_options_with_quotes(project):
    words = ("one.o", "TCCFLAGS_one=--size 'N=1 2'")
    assert project.made(*words) == ["one.cu", "one.o"]
    assert project.made(*words) == []


def test_an_options_file_of_another_name_is_an_input(project):
    project.write("fast.yaml", "fast")
    project.write("one.yaml", "slow")
    words = ("one.o", "TCCFLAGS_one=--options fast.yaml")
    project.made(*words)
    assert project.text("one.cu") == "def onefast", "the last one counts"
    assert project.made(*words) == []
    os.utime(project.folder / "fast.yaml")
    assert project.made(*words) == ["one.cu", "one.o"]


def test_ptx_and_self_tests(project):
    words = ("one.ptx", "two.test.cu")
    assert project.made(*words) == ["one.ptx", "two.test.cu"]
    assert project.made(*words) == []
    assert project.made() == ["one.cu", "two.cu", "one.o", "two.o"]
    project.write("two.yaml", "sizes")
    assert project.made(*words) == ["two.test.cu"]


def test_outputs_go_to_a_folder(project):
    project.write("deep/three.tc", "def three")
    words = ("TCC_OUT=out/", "all", "out/deep/three.h")
    made = project.made(*words)
    assert made == ["out/one.cu", "out/two.cu", "out/deep/three.cu", "out/one.o", "out/two.o"]
    assert not (project.folder / "one.cu").exists()
    assert project.made(*words) == []
    os.utime(project.folder / "deep" / "three.tc")
    assert project.made(*words) == ["out/deep/three.cu"]


def test_a_rejected_program_leaves_the_last_outputs(project):
    project.made()
    project.write("one.tc", "wrong")
    project.made(status=2)
    assert project.text("one.cu") == "def one"
    project.write("one.tc", "def one, again")
    assert project.made() == ["one.cu", "one.o"]
