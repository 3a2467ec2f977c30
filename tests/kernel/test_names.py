"""C++ names near the user's, whatever CUDA, the C library and the emitted text declare."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tcc.kernel.names import Names, spell, spell_function
from tests.kernel.running import check, compiled

# Names that mean something to C++, CUDA, the C library or the launcher's text.
HARD = (
    "arguments",
    "char",
    "char_",
    "cudaSuccess",
    "expf",
    "f_kernel",
    "f_kernel_aligned",
    "HUGE_VAL",
    "M_PI",
    "N_MAX",
    "status",
    "stream",
    "t0",
    "unsigned",
    "workspace",
)


def test_legal_names_stay() -> None:
    for name in ("A", "index", "sum", "time", "norm", "a_1", "OUT_C", "_x"):
        assert spell(name) == name
    assert spell_function("gemm") == "gemm"


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("int", "int_"),
        ("float4", "float4_"),
        ("INT_MAX", "INT_MAX_"),
        ("expf", "expf_"),
        ("cudaSuccess", "cudaSuccess_"),
        ("__x", "x_"),
        ("__int__", "int_"),
        ("______", "_"),
    ],
)
def test_reserved_names_change(name: str, spelled: str) -> None:
    assert spell(name) == spelled
    assert spell_function(name) == spelled


def test_names_of_library_functions_are_fine_inside_functions_only() -> None:
    for name in ("read", "main", "gamma", "uint32_t", "norm"):
        assert spell_function(name) == f"{name}_"


def test_taken_names() -> None:
    assert spell("a", ["a", "a_"]) == "a__"


def test_fresh_names_are_free_again_after_their_scope() -> None:
    names = Names(["A"])
    with names.scope():
        assert names.fresh("A") == "A_2"
        assert names.fresh("A") == "A_3"
    assert names.fresh("A") == "A_2"


@pytest.mark.parametrize("fixed", [True, False])
def test_tensors(fixed: bool) -> None:
    inputs = ", ".join(f"float(N, K) {n}" for n in HARD)
    product = " + ".join(f"exp(0.0 * {n}(i, k))" for n in HARD)
    text = f"def f({inputs}) -> (float4) {{ float4(i) +=! {product} }}"
    check(text, {"N": 3, "K": 8}, fixed=fixed)


def test_sizes() -> None:
    inputs = ", ".join(f"float({n}) A{k}" for k, n in enumerate(HARD))
    product = " + ".join(f"exp(0.0 * A{k}(i))" for k in range(len(HARD)))
    text = f"def f({inputs}) -> (S) {{ S(i) = {product} }}"
    check(text, dict.fromkeys(HARD, 3), fixed=False)


def test_indices() -> None:
    outputs = ", ".join(f"S{k}" for k in range(len(HARD)))
    lines = [f"    S{k}({n}) +=! exp(0.0 * A({n}, r))" for k, n in enumerate(HARD)]
    text = "\n".join([f"def f(float(N, K) A) -> ({outputs}) {{", *lines, "}"])
    check(text, {"N": 3, "K": 8}, fixed=False)


def test_aligned_kernels_keep_apart_from_sizes() -> None:
    """`N_4` is what the kernel for aligned sizes calls a quarter of N."""
    text = "def f(float(M, K) N_4, float(K, N) K_4) -> (C) { C(i, j) +=! N_4(i, k) * K_4(k, j) }"
    kernel = check(text, {"M": 5, "K": 8, "N": 12}, fixed=False)
    assert kernel.artifact.interface.fast is not None


def test_a_def_called_like_a_library_function() -> None:
    kernel = compiled("def read(float(N) A) -> (B) { B(i) = A(i) }")
    assert kernel.artifact.interface.function == "read_"


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_functions_compile(tmp_path: Path) -> None:
    """A sample of what defs are called."""
    names = ("sum", "mean", "softmax", "index_select", "conv", "norm", "unit", "half2", "pow")
    text = "#include <cuda_runtime.h>\n" + "\n".join(
        f'extern "C" cudaError_t {spell_function(n)}(const float* A) {{ return (cudaError_t)!A; }}'
        for n in names
    )
    (tmp_path / "names.cu").write_text(text, encoding="utf-8")
    subprocess.run(["nvcc", "-c", "-o", "names.o", "names.cu"], cwd=tmp_path, check=True)
