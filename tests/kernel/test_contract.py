"""Tiled reductions: the results of plain loops, for every staging and every ragged end."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.kernel.running import check

SQUARE = {"i": ["block.y 2", "outer 2", "thread.y 3"], "j": ["block.x", "thread.x 4", "inner 2"]}
STAGES = ("global", "register", "shared")


def plan(
    loops: dict[str, list[str]], staging: dict[str, str], pipeline: int = 1, **more: Any
) -> dict[str, Any]:
    kernel = {
        "parallel": SQUARE,
        "loops": loops,
        "staging": staging,
        "pipeline": pipeline,
        **more,
    }
    return {"f_kernel": kernel}


@pytest.mark.parametrize(("a", "b"), list(product(STAGES, STAGES)))
def test_staging(a: str, b: str) -> None:
    """A sum whose tail adds zeros, and a maximum, where zeros would be wrong."""
    text = """
    def f(float(M, K) A, float(K, N) B) -> (C, D, E) {
        C(i, j) +=! A(i, k) * B(k, j)
        D(i, j) max=! A(i, k) + B(k, j) - 9.0
        E(i, j) = C(i, j) - D(i, j)
    }
    """
    check(
        text,
        {"M": 7, "K": 11, "N": 10},
        outer_schedule_fusion_strategy="max",
        plan=plan({"k": ["tile 4"]}, {"A": a, "B": b}, pipeline=2),
    )


@pytest.mark.parametrize("pipeline", [1, 2, 3, 4])
@pytest.mark.parametrize("length", [1, 4, 9])
def test_pipelines(pipeline: int, length: int) -> None:
    """Fewer k-tiles than stages, exactly as many, more."""
    text = "def f(float(M, K) A, float(K, N) B) -> (C) { C(i, j) += A(i, k) * B(k, j) }"
    staging = {"A": "shared", "B": "shared"}
    loops = {"k": ["tile 2", "rolled"]}
    for rolled in {False, pipeline == 1}:
        check(
            text,
            {"M": 5, "K": length, "N": 9},
            plan=plan(loops, staging, pipeline, rolled_copies=rolled),
        )


@pytest.mark.parametrize("type", ["float16", "uint8", "float64", "bool"])
def test_types(type: str) -> None:
    """Elements that no asynchronous copy moves alone; zeros of every type."""
    operator, value = (
        ("max=!", "A(i, k) && B(k, j)")
        if type == "bool"
        else (
            "+=!",
            "A(i, k) * B(k, j)",
        )
    )
    text = f"def f({type}(M, K) A, {type}(K, N) B) -> (C) {{ C(i, j) {operator} {value} }}"
    staging = {"A": "shared", "B": "shared"}
    check(text, {"M": 7, "K": 10, "N": 12}, plan=plan({"k": ["tile 4"]}, staging, 3))


def test_windows_with_strides_and_guards() -> None:
    """Two reduction loops; one operand is a window, which leaves its tensor on both sides."""
    text = """
    def f(float(M, H) A, float(M, K, L) W) -> (C) {
        C(i, j) +=! (2*j - k + 3*l >= 0 && 2*j - k + 3*l < H ? A(i, 2*j - k + 3*l) : 0.0)
            * W(i, k, l) where j in 0:H
    }
    """
    for staging in ({"A": "shared", "W": "register"}, {"A": "global", "W": "shared"}):
        check(
            text,
            {"M": 5, "H": 13, "K": 3, "L": 2},
            plan=plan({"k": ["tile 2"], "l": ["tile 2"]}, staging, 2),
        )


def test_one_tensor_as_both_operands() -> None:
    text = "def f(float(M, K) A) -> (C) { C(i, j) +=! A(i, k) * A(j, k) where i in 0:M, j in 0:M }"
    check(text, {"M": 9, "K": 7}, plan=plan({"k": ["tile 3"]}, {"A": "shared"}, 2))


def test_one_text_in_two_statements() -> None:
    """A def called twice; the second result is wanted transposed, so its loops are exchanged."""
    text = """
    def g(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, k) * B(k, j) }
    def f(float(N, N) P, float(N, N) Q) -> (Z) {
        X = g(P, Q)
        Y = g(P, Q)
        Z(i, j) = X(i, j) - Y(j, i)
    }
    """
    kernel = check(text, {"N": 11}, entry="f", outer_schedule_fusion_strategy="max")
    assert len(kernel.launches) == 1


def test_an_element_that_data_picks_stays_in_memory() -> None:
    """Beside a box of the same tensor in shared memory: there is nothing of it to copy."""
    plan = {"f_kernel": {"loops": {"i": ["tile 4"]}, "staging": {"A": "shared"}}}
    text = "def f(float(N) A, uint8 G) -> (T) { T +=! A(i) - A(G) where i in 0:N }\n"
    kernel = check(text, {"N": 9}, fixed=False, split=1, plan=plan)
    assert "A[G[0]]" in kernel.cuda_source
