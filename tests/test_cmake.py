"""The CMake package: what it finds, what it refuses, and projects of several folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tcc
from tcc.run.toolchain import find_nvcc
from tcc.target import TARGETS
from tests.doc_blocks import ROOT

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
PACKAGE = ROOT / "tcc" / "cmake"
TCC = Path(sys.executable).parent / "tcc"


def configure(
    folder: Path, text: str, language: str = "NONE", command: str = str(TCC)
) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    (folder / "k.tc").write_text("def k(float(N) A) -> (B) { B(i) = A(i) }\n")
    head = f"cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES {language})\n"
    (folder / "CMakeLists.txt").write_text(head + text)
    given = (f"-Dtcc_DIR={PACKAGE}", f"-DTCC_EXECUTABLE={command}")
    words = ("cmake", "-S", folder, "-B", folder / "build", *given)
    return subprocess.run(words, capture_output=True, text=True, check=False)


def said(done: subprocess.CompletedProcess[str]) -> str:
    """What CMake says, in one line."""
    return " ".join((done.stdout + done.stderr).split())


def test_the_package_and_its_version(tmp_path):
    text = 'find_package(tcc 0.1 REQUIRED CONFIG)\nmessage("${tcc_VERSION} ${tcc_TARGETS}")\n'
    done = configure(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"{tcc.__version__} {';'.join(TARGETS)}\n"


@pytest.mark.parametrize(
    ("wanted", "is_found"),
    [("", 1), ("0.1", 1), ("0.1.0 EXACT", 1), ("0.1.7", 0), ("0.0.9", 0), ("0.2", 0), ("1.0", 0)],
)
def test_versions(wanted, is_found, tmp_path):
    assert tcc.__version__ == "0.1.0", "say here what is compatible with the new version"
    done = configure(tmp_path, f'find_package(tcc {wanted} CONFIG)\nmessage("${{tcc_FOUND}}")\n')
    assert done.stderr.splitlines()[-1:] == [str(is_found)] or not is_found
    assert ("Could not find" in said(done)) == (not is_found)


def test_a_command_that_does_not_run(tmp_path):
    done = configure(tmp_path, "find_package(tcc REQUIRED CONFIG)\n", command="/bin/false")
    assert "/bin/false does not run" in said(done)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("k k.tc FILES k.tc", "what is `k.tc`?"),
        ("k FILES k.tc SIZE N=3", "there is no file SIZE"),
        ("k FILES k.tc OPTIONS k.yml", "there is no file k.yml"),
        ("k FILES k.tc SIZES N=3 ARCHS sm_80", "SIZES has ARCHS, which is no NAME=VALUE"),
        ("k ARCH sm_80", "FILES names no program"),
        ("k FILES k.tc ./k.tc ENTRY f", "ENTRY needs one file in FILES, not 2"),
        ("k FILES k.tc ARCH sm_80 sm_81", "no ARCH sm_81; there are sm_70;"),
        ("k FILES k.tc", "the language CUDA is not enabled"),
    ],
)
def test_what_it_refuses(call, message, tmp_path):
    done = configure(tmp_path, f"find_package(tcc REQUIRED CONFIG)\ntcc_add_kernel({call})\n")
    assert done.returncode != 0
    assert f"tcc_add_kernel(k): {message}" in said(done)


@pytest.mark.parametrize(
    ("numbers", "architectures"),
    [
        ("80;90", "sm_80;sm_90"),
        ("87-real;90a;121-virtual", "sm_86;sm_90;sm_120"),
        ("72;70-real", "sm_70"),
        ("52", "CUDA_ARCHITECTURES has 52; tcc knows sm_70;"),
        ("native", "CUDA_ARCHITECTURES is native; give ARCH"),
        ("all-major", "CUDA_ARCHITECTURES is all-major; give ARCH"),
    ],
)
def test_architectures_of_cmake(numbers, architectures, tmp_path):
    text = f"""
find_package(tcc REQUIRED CONFIG)
add_library(t INTERFACE)
set_target_properties(t PROPERTIES CUDA_ARCHITECTURES "{numbers}")
_tcc_architectures(found t)
message("${{found}}")
"""
    assert architectures in said(configure(tmp_path, text))


MANY = """
find_package(tcc REQUIRED CONFIG)
enable_testing()
add_subdirectory(lib)
add_executable(app main.cpp)
target_link_libraries(app PRIVATE kernels)
"""
LIBRARY = """
add_library(kernels STATIC plain.cpp)
set_target_properties(kernels PROPERTIES CUDA_ARCHITECTURES "86;90")
tcc_add_kernel(kernels FILES two.tc ENTRY one PREFIX a_ SIZES N=64)
tcc_add_kernel(kernels FILES two.tc ENTRY two OPTIONS "my options.yaml" ARCH sm_80)
"""
MAIN = """
#include <cstdio>
#include "one.h"
#include "two.h"
int plain();
int main() {
  float* none = nullptr;
  // A launcher for several architectures asks the device first.
  const bool is_refused = a_one(none, none, nullptr) != cudaSuccess &&
                          two(none, none, 1, nullptr) == cudaErrorInvalidValue;
  std::printf("%d %d\\n", plain(), is_refused);
}
"""


@pytest.mark.slow
@pytest.mark.skipif(find_nvcc() is None, reason="nvcc is not installed")
def test_a_library_of_another_folder(tmp_path):
    """Two defs of one file, in a target that is there, under a path with blanks."""
    folder = tmp_path / "a b"
    lib = folder / "lib"
    lib.mkdir(parents=True)
    (lib / "CMakeLists.txt").write_text(LIBRARY)
    (lib / "plain.cpp").write_text("int plain() { return 7; }\n")
    (lib / "two.tc").write_text(
        "def one(float(N) A) -> (B) { B(i) = A(i) }\ndef two(float(N) A) -> (B) { B(i) = A(i) }\n"
    )
    (lib / "my options.yaml").write_text("mapping: {threads: [64]}\n")
    (folder / "main.cpp").write_text(MAIN)
    done = configure(folder, MANY, "CXX CUDA")
    assert done.returncode == 0, done.stderr
    build = ("cmake", "--build", folder / "build")
    subprocess.run(build, capture_output=True, check=True)
    printed = subprocess.run(folder / "build" / "app", capture_output=True, text=True, check=True)
    assert printed.stdout == "7 1\n"
    made = folder / "build" / "lib" / "tcc" / "kernels"
    assert "compiled by tcc for sm_86 and sm_90" in (made / "one.cu").read_text()
    assert "for sm_" not in (made / "two.cu").read_text()
    os.utime(lib / "my options.yaml")
    again = subprocess.run(build, capture_output=True, text=True, check=True).stdout
    assert "two.tc to two.cu" in again
    assert "two.tc to one.cu" not in again
