"""The C++ projects of `examples/`: one command builds each, a change rebuilds what depends on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tcc.run.host_build import FLAGS, SHIM
from tcc.run.toolchain import find_nvcc
from tests.doc_blocks import ROOT

NEEDS_NVCC = pytest.mark.skipif(find_nvcc() is None, reason="nvcc is not installed")
NEEDS_CMAKE = pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
NO_GPU = 77
STAND_IN = ROOT / "tests" / "run" / "gpu_stand_in"
GENERATORS = {"make": "Unix Makefiles", "ninja": "Ninja"}


def project(name: str, folder: Path) -> Path:
    """A copy of the sources of one project."""
    built = shutil.ignore_patterns("build")
    return Path(shutil.copytree(ROOT / "examples" / name, folder / name, ignore=built))


def run(*command: str, at: Path, status: tuple[int, ...] = (0,)) -> str:
    """What a command prints, with the tcc of these tests on PATH."""
    kept = {n: v for n, v in os.environ.items() if n not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=at, env=kept | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode in status, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def is_right(program: Path) -> None:
    """The program says so, where there is a GPU."""
    text = run(str(program), at=program.parent, status=(0, NO_GPU))
    assert "no GPU" in text or "largest difference" in text


@NEEDS_NVCC
def test_one_command_builds_the_make_project(tmp_path):
    folder = project("cpp-make", tmp_path)
    built = outputs(run("make", at=folder))
    assert built == ["linear.cu", "softmax.cu", "main.o", "linear.o", "softmax.o", "classify"]
    is_right(folder / "build" / "classify")
    assert outputs(run("make", at=folder)) == []
    os.utime(folder / "linear.yaml")
    assert outputs(run("make", at=folder)) == ["linear.cu", "main.o", "linear.o", "classify"]


def outputs(printed: str) -> list[str]:
    """The files that commands of make wrote: the word after `-o`."""
    words = [line.split() for line in printed.splitlines() if " -o " in line]
    return [Path(w[w.index("-o") + 1]).name for w in words]


@NEEDS_NVCC
@pytest.mark.slow
def test_the_make_project_checks_its_kernels(tmp_path):
    folder = project("cpp-make", tmp_path)
    printed = run("make", "check", at=folder)
    assert printed.count("there is no GPU") == 3 or printed.count(": ok") == 2


@NEEDS_CMAKE
@NEEDS_NVCC
@pytest.mark.slow
def test_one_command_builds_and_tests_the_cmake_project(tmp_path):
    folder = project("cpp-cmake", tmp_path)
    printed = run("cmake", "--workflow", "--preset", "default", at=folder)
    assert "100% tests passed" in printed
    is_right(folder / "build" / "classify")


@NEEDS_CMAKE
@NEEDS_NVCC
@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
def test_a_change_rebuilds_what_depends_on_it(generator, tmp_path):
    if shutil.which(generator) is None:
        pytest.skip(f"{generator} is not installed")
    folder = project("cpp-cmake", tmp_path)
    run("cmake", "-G", GENERATORS[generator], "-S", ".", "-B", "build", at=folder)
    assert compiled(folder) == {"linear.tc", "softmax.tc"}
    assert compiled(folder) == set()
    os.utime(folder / "linear.yaml")
    assert compiled(folder) == {"linear.tc"}
    os.utime(folder / "softmax.tc")
    assert compiled(folder) == {"softmax.tc"}
    # An options file that comes later, older than everything, and goes again.
    (folder / "softmax.yaml").write_text("mapping: {vector: 1}\n")
    os.utime(folder / "softmax.yaml", (1, 1))
    assert compiled(folder) == {"softmax.tc"}
    (folder / "softmax.yaml").unlink()
    assert compiled(folder) == {"softmax.tc"}
    assert compiled(folder) == set()


def compiled(folder: Path) -> set[str]:
    """The programs that a build compiles; objects are built exactly for those."""
    printed = run("cmake", "--build", "build", at=folder)
    programs = {f for f in ("linear.tc", "softmax.tc") if f"Compiling {f} to" in printed}
    objects = {f for f in ("linear.tc", "softmax.tc") if f"{f[:-3]}.cu.o" in printed}
    assert objects == programs
    assert ("main.cpp.o" in printed) == bool(programs), "it includes the headers"
    return programs


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_the_program_is_right_on_the_host(tmp_path):
    """Its own text with the emitted kernels, on a stand-in for the GPU."""
    folder = project("cpp-make", tmp_path)
    kernel = (*FLAGS, "-w", f"-I{SHIM}", "-x", "c++", "-c")
    for name in ("linear", "softmax"):
        run("make", f"build/{name}.cu", at=folder)
        run("g++", *kernel, f"build/{name}.cu", "-o", f"{name}.o", at=folder)
    run("g++", *kernel, str(STAND_IN / "device.cpp"), "-o", "device.o", at=folder)
    run("g++", f"-I{STAND_IN}/program", "-Ibuild", "-c", "main.cpp", "-o", "main.o", at=folder)
    objects = ("main.o", "device.o", "linear.o", "softmax.o")
    run("g++", *objects, "-lm", "-o", "classify", at=folder)
    assert "largest difference" in run("./classify", at=folder)


def test_both_projects_are_the_same_program():
    """The guides differ in how it is built only."""
    for name in ("main.cpp", "linear.tc", "linear.yaml", "softmax.tc"):
        texts = {(ROOT / "examples" / p / name).read_text() for p in ("cpp-make", "cpp-cmake")}
        assert len(texts) == 1, name
