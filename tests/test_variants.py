"""One file for several architectures: what each compiles of it, and that nvcc is content."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tcc.cli import main
from tcc.run.nvrtc import compile_ptx
from tcc.run.toolchain import find_nvcc
from tests.doc_blocks import ROOT

GEMM = str(ROOT / "specs" / "gemm.tc")
SUM = str(ROOT / "specs" / "full_reduction.tc")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compiled(*words: str) -> str:
    assert main(["compile", *words, "-o", "k.cu"]) == 0
    return Path("k.cu").read_text()


@pytest.mark.usefixtures("folder")
def test_an_architecture_gets_code_for_its_kernels_only():
    """The others are there, for the launcher to name, and do nothing but stop."""
    pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")
    Path("copy.tc").write_text("def copy(float(N) A) -> (B) { B(i) = A(i) }")
    text = compiled("copy.tc", "--arch", "sm_90", "--arch", "sm_75", "--arch", "sm_80")
    for running, has_code in (("sm_75", "sm_75"), ("sm_86", "sm_80"), ("sm_100", "sm_90")):
        entries = re.findall(r"\.entry (\w+)\((.*?)\n}", compile_ptx(text, running), re.DOTALL)
        assert len(entries) == 3
        for name, body in entries:
            is_chosen = f"_{has_code}_" in name
            assert ("st.global" in body) == is_chosen, (running, name)
            assert ("trap;" in body) == (not is_chosen), (running, name)


@pytest.mark.skipif(find_nvcc() is None, reason="nvcc is not installed")
@pytest.mark.parametrize(
    "program",
    [pytest.param(GEMM, id="gemm", marks=pytest.mark.slow), pytest.param(SUM, id="sum")],
)
def test_nvcc_compiles_it_without_a_warning(program, folder):
    sizes = [f"--size={n}=256" for n in "MNK"] if program == GEMM else []
    compiled(program, *sizes, "--arch", "sm_80", "--arch", "sm_90", "--namespace", "a::b")
    flags = [
        "-std=c++17",
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90,code=sm_90",
        "-Werror=all-warnings",
        "-Xcompiler=-Wall,-Wextra,-Werror",
    ]
    command = [str(find_nvcc()), *flags, "-c", "-o", "k.o", "k.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_order_and_repetitions_do_not_matter(folder):
    first = compiled(GEMM, "--arch", "sm_80", "--arch", "sm_90", "--manifest", "k.json")
    data = json.loads((folder / "k.json").read_text())
    again = ("--arch", "sm_90", "--arch", "sm_80", "--arch", "sm_90")
    assert compiled(GEMM, *again) == first
    assert data["function"] == "matmul"
    assert [v["target"] for v in data["variants"]] == ["sm_80", "sm_90"]
    assert [v["function"] for v in data["variants"]] == ["matmul_sm_80", "matmul_sm_90"]


@pytest.mark.usefixtures("folder")
def test_one_architecture_twice_is_one():
    assert compiled(GEMM, "--arch", "sm_80", "--arch", "sm_80") == compiled(GEMM, "--arch", "sm_80")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words",
    [
        ("--ptx", "k.ptx"),
        ("--cubin", "k.cubin"),
        ("--emit", "plan"),
        ("--stop-after", "plan"),
        ("--time-passes",),
    ],
)
def test_what_makes_no_sense_for_several(words, capsys):
    assert main(["compile", GEMM, "--arch", "sm_80", "--arch", "sm_90", *words]) == 2
    wanted = f"error: `{words[0]}` is for one architecture, not for sm_80 and sm_90\n"
    assert capsys.readouterr().err == wanted


@pytest.mark.usefixtures("folder")
def test_a_program_that_one_architecture_rejects(capsys):
    """Whichever of them it is."""
    Path("o.yaml").write_text("mapping: {max_shared_memory: 100000}\n")
    for words in (("--arch", "sm_90", "--arch", "sm_75"), ("--arch", "sm_75", "--arch", "sm_90")):
        assert main(["compile", GEMM, "--options", "o.yaml", *words, "-o", "k.cu"]) == 1
        assert "E0512" in capsys.readouterr().err
    assert not Path("k.cu").exists()
