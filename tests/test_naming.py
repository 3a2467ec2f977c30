"""Prefixes and namespaces: headers that C and C++ read, names that do not clash."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tcc.cli import main
from tcc.run.host_build import FLAGS, SHIM

COPY = "def copy(float(N) A, bool(N) Keep) -> (B) { B(i) = Keep(i) ? A(i) : 0.0 }"
SUM = "def copy(float(N) A) -> (S) { S +=! A(i) }"
CUDA = """
#include <stddef.h>
typedef enum { cudaSuccess } cudaError_t;
typedef struct CUstream_st* cudaStream_t;
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy.tc").write_text(COPY)
    (tmp_path / "sum.tc").write_text(SUM)
    return tmp_path


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["gcc -std=c99", "g++ -std=c++11", "g++ -std=c++17"])
@pytest.mark.parametrize("program", ["copy", "sum"])
def test_headers_are_good_c_and_cpp(compiler, program, folder):
    name, standard = compiler.split()
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    (folder / "cuda_runtime.h").write_text(CUDA)
    words = ("--namespace", "nn::ops", "--header", "k.h", "--options", "o.yaml")
    Path("o.yaml").write_text("mapping: {split: 4}\n" if program == "sum" else "")
    assert main(["compile", f"{program}.tc", *words]) == 0
    (folder / "use.c").write_text(
        '#include "k.h"\n#include "k.h"\nint use(void) { return nn_ops_copy != NULL; }\n'
    )
    flags = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-address", "-I.", "-fsyntax-only")
    language = "c" if name == "gcc" else "c++"
    run(name, standard, *flags, "-x", language, "use.c")


MAIN = """
#include "a.h"
#include "b.h"
int main() {
  float x = 1.0f, y = 0.0f, workspace[1024];
  bool keep = true;
  return a::copy(&x, &keep, &y, 0, nullptr) == cudaErrorInvalidValue &&
         one::two::copy(nullptr, &y, workspace, 1, nullptr) == cudaErrorInvalidValue &&
         one::two::copy_workspace_bytes(1) == one_two_copy_workspace_bytes(1) ? 0 : 1;
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_two_defs_of_one_name_in_one_program(folder):
    """A definition of each for the whole program, although the defs are called the same."""
    Path("o.yaml").write_text("mapping: {split: 4}\n")
    a = ("copy.tc", "--namespace", "a", "-o", "a.cu", "--header", "a.h", "--reference")
    b = (
        "sum.tc",
        "--namespace",
        "one::two",
        "--options",
        "o.yaml",
        "-o",
        "b.cu",
        "--header",
        "b.h",
    )
    assert main(["compile", *a]) == main(["compile", *b]) == 0
    (folder / "main.cpp").write_text(MAIN)
    # The launchers return before they launch anything.
    (folder / "device.cpp").write_text(
        '#include <cuda_runtime.h>\nextern "C" cudaError_t tcc_launch(const char*, const void*, '
        "void (*)(void*), void*, dim3, dim3, size_t) { return cudaSuccess; }\n"
        "tcc_thread tcc_self; uint3 blockIdx; dim3 blockDim, gridDim;\n"
        'extern "C" void tcc_barrier(int) {}\n'
    )
    sources = ("a.cu", "b.cu", "a.reference.cu", "main.cpp", "device.cpp")
    unresolved = ("-Wl,--unresolved-symbols=ignore-all", "-no-pie")
    run("g++", *FLAGS, "-w", f"-I{SHIM}", "-I.", "-x", "c++", *sources, "-o", "main", *unresolved)
    run("./main")


def test_a_prefix_goes_before_every_function(folder):
    words = ("--prefix", "my_", "-o", "k.cu", "--header", "k.h", "--reference")
    assert main(["compile", "copy.tc", *words]) == 0
    for name in ("k.cu", "k.reference.cu"):
        text = (folder / name).read_text()
        functions = [line for line in text.splitlines() if line.startswith('extern "C"')]
        assert functions
        assert all(" my_copy" in line for line in functions)
    assert "cudaError_t my_copy(" in (folder / "k.h").read_text()


def test_a_prefix_of_its_own_beside_a_namespace(folder):
    assert (
        main(["compile", "copy.tc", "--namespace", "a", "--prefix", "p_", "--header", "k.h"]) == 0
    )
    assert "return ::p_copy(" in (folder / "k.h").read_text()


def test_a_tensor_that_is_called_like_a_function(folder):
    Path("c.tc").write_text(
        "def f(float(N) q_f_kernel, float(N) f_sm_80) -> (f) { f(i) = q_f_kernel(i) + f_sm_80(i) }"
    )
    words = ("--prefix", "q_", "--arch", "sm_80", "--arch", "sm_90", "-o", "k.cu")
    assert main(["compile", "c.tc", *words]) == 0
    text = (folder / "k.cu").read_text()
    assert "return q_f_sm_80(q_f_kernel_, f_sm_80_, f, N, stream);" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--prefix", "1a"), "names cannot begin with `1a`"),
        (("--prefix", "__a"), "names cannot begin with `__a`"),
        (("--prefix", "_A"), "names cannot begin with `_A`"),
        (("--prefix", "a-b"), "names cannot begin with `a-b`"),
        (("--namespace", ""), "`` cannot be the name of a namespace"),
        (("--namespace", "a::"), "`` cannot be the name of a namespace"),
        (("--namespace", "a::new"), "`new` cannot be the name of a namespace"),
        (("--namespace", "exp"), "`exp` cannot be the name of a namespace"),
        (("--namespace", "copy", "--prefix", ""), "`copy` cannot be the name of a namespace"),
    ],
)
def test_what_is_no_name(words, message, folder, capsys):
    assert main(["compile", "copy.tc", *words, "-o", "k.cu"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert not (folder / "k.cu").exists()
