"""The program that checks a kernel: it runs here on a stand-in for the GPU, and notices mistakes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tcc.cli import main
from tcc.run.host_build import FLAGS, SHIM
from tcc.run.toolchain import find_nvcc, is_x86_64_v3
from tcc.sched.split import OPEN_PART
from tests.doc_blocks import ROOT

STAND_IN = Path(__file__).parent / "gpu_stand_in"
NEEDS_GXX = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
RIGHT, WRONG, USAGE = 0, 1, 2
KINDS = """
def kinds(half(N, M) H, bfloat16(N) B, bool(N) K, int64(N) I, uint8(M) U, double(N) D)
        -> (S, T, half(N) Q, double(N) E, L) {
    S(n) +=! H(n, m) * B(n) + U(m)
    T(n) = I(n) + 2
    Q(n) = half(B(n))
    E(n) = D(n) * 0.5
    L(n) = I(n) > 1 && K(n)
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compiled(program: str, *words: str) -> None:
    if "\n" in program:
        Path("p.tc").write_text(program)
        program = "p.tc"
    assert main(["compile", program, "-o", "k.cu", "--self-test", "k.test.cu", *words]) == 0


def built(*sources: str) -> None:
    """The program, for this machine: launches run in its own process."""
    level = ("-march=x86-64-v3",) if is_x86_64_v3() else ()
    flags = (*FLAGS, *level, "-w", "-O1", f"-I{SHIM}", "-include", str(STAND_IN / "memory.h"))
    for source in sources:
        command = ("g++", *flags, "-x", "c++", "-c", source, "-o", f"{Path(source).stem}.o")
        subprocess.run(command, check=True)
    runtime = ("g++", *FLAGS, "-w", f"-I{SHIM}", "-c", str(STAND_IN / "device.cpp"))
    if not Path("device.o").exists():
        subprocess.run(runtime, check=True)
    objects = ("device.o", "k.o", "k.test.o")
    subprocess.run(("g++", *objects, "-lm", "-o", "k"), check=True)


def result(*words: str) -> tuple[int, str]:
    done = subprocess.run(["./k", *words], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout


@NEEDS_GXX
@pytest.mark.usefixtures("folder")
def test_it_agrees_with_a_right_kernel_and_notices_a_wrong_one():
    compiled(str(ROOT / "specs" / "softmax.tc"), "--arch", "sm_80", "--arch", "sm_90")
    built("k.cu", "k.test.cu")
    status, text = result()
    assert status == RIGHT, text
    assert text.startswith("N = 1, D = 1\n  O: largest error ")
    assert "time at N = " in text
    assert text.endswith("softmax: ok\n")
    assert result("--no-check")[1].endswith("softmax: not checked\n")
    assert "time at" not in result("--no-time")[1]
    assert result("--fast")[0] == USAGE
    source = Path("k.cu").read_text()
    assert "expf(" in source
    Path("k.cu").write_text(source.replace("expf(", "1.0f + expf("))
    built("k.cu")
    status, text = result("--no-time")
    assert status == WRONG, text
    assert "WRONG in " in text
    assert text.endswith("softmax: WRONG\n")


@NEEDS_GXX
@pytest.mark.usefixtures("folder")
def test_all_types_and_options():
    """Sizes, ranges and the tolerance come from the options file."""
    Path("o.yaml").write_text(
        "sizes: {M: 12}\n"
        "verify: {sizes: [{N: 70}], inputs: {D: [2, 3]}, relative_tolerance: 1e-3}\n"
    )
    compiled(KINDS, "--options", "o.yaml", "--prefix", "p_")
    built("k.cu", "k.test.cu")
    status, text = result("--no-time")
    assert status == RIGHT, text
    assert text.startswith("M = 12, N = 70\n")
    assert "{kReal, 2.0, 3.0}" in Path("k.test.cu").read_text()
    assert "  E: largest error 0, tolerance 0.00" in text


@NEEDS_GXX
@pytest.mark.usefixtures("folder")
def test_subscripts_from_data_and_inouts():
    text = "def f(float(N) A, int(M) I) -> (float(M) B) {\n B(j) += A(I(j)) }\n"
    compiled(text)
    built("k.cu", "k.test.cu")
    assert result("--no-time")[0] == RIGHT
    source = Path("k.cu").read_text()
    assert "B[" in source
    Path("k.cu").write_text(source.replace("A == nullptr", "A != nullptr"))
    built("k.cu")
    status, printed = result("--no-time")
    assert (status, printed.splitlines()[-1]) == (2, "error: launch: invalid value")


@pytest.mark.usefixtures("folder")
def test_no_inputs_that_are_safe(capsys):
    text = "def f(float(N) A, int(M) I) -> (B) {\n B(j) = A(I(j) + 5) }\n"
    Path("p.tc").write_text(text)
    words = ("--self-test", "t.cu", "--size", "N=2", "--size", "M=2")
    Path("o.yaml").write_text("verify: {inputs: {I: [0, 1]}}\n")
    assert main(["compile", "p.tc", *words, "--options", "o.yaml"]) == USAGE
    assert "give their ranges under `verify: inputs`" in capsys.readouterr().err


@pytest.mark.skipif(find_nvcc() is None, reason="nvcc is not installed")
@pytest.mark.usefixtures("folder")
def test_nvcc_compiles_it_without_a_warning():
    compiled(KINDS)
    flags = ("-std=c++17", "-arch=sm_80", "-Werror=all-warnings")
    strict = "-Xcompiler=-Wall,-Wextra,-Werror"
    command = [str(find_nvcc()), *flags, strict, "-c", "-o", "k.o", "k.test.cu"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("folder")
def test_the_same_program_gives_the_same_text():
    compiled(KINDS)
    first = Path("k.test.cu").read_text()
    compiled(KINDS)
    assert Path("k.test.cu").read_text() == first


@pytest.mark.usefixtures("folder")
def test_a_sum_in_two_parts_is_among_the_sizes():
    compiled("\ndef total(float(N) A) -> (S) { S +=! A(n) }\n")
    assert f"N = {OPEN_PART + 1}" in Path("k.test.cu").read_text()
