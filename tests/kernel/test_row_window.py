"""Windows in registers: the results of plain reads, each element of a row loaded once."""

from __future__ import annotations

import re

import pytest

from tests.kernel.running import check, compiled, data

STENCIL = """
def f(float(N, M) A) -> (B) {
    B(i, j) = A(i, j)
    B(i, j) = A(i - 1, j) + A(i + 1, j) + A(i, j - 1) + 2.0 * A(i, j) + A(i, j + 1)
        where i in 1:N - 1, j in 1:M - 1
}
"""
SHIFTED = "def f(float(N, M) A) -> (B) { B(i, j) = A(i, j) + A(i + 1, j + 2) + A(i + 1, j + 5) }"
PADDED = """
def f(float(M) A) -> (B) {
    B(i) = (i > 1 ? A(i - 2) : 0.0) + A(i) + (i < M - 3 ? A(i + 3) : 0.0)
        where i in 0:M
}
"""
FOUR = {"i": ["block.y", "outer 2", "thread.y 2"], "j": ["block.x", "thread.x 3", "inner 4"]}


def both(text: str, sizes: dict[str, int], parallel: dict[str, list[str]], fixed: bool) -> str:
    given = {"f_kernel": {"parallel": parallel, "staging": {"A": "register"}}}
    options = {"outer_schedule_fusion_strategy": "max", "plan": given}
    kernel = check(text, sizes, fixed=fixed, **options)
    kernel.run(data(kernel.compilation.program, sizes), check=True)
    return kernel.cuda_source


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("width", [3, 7, 16, 24])
@pytest.mark.parametrize("text", [STENCIL, SHIFTED])
def test_results(text: str, width: int, fixed: bool) -> None:
    """Ragged and whole vectors, several rows a thread; no access outside, no race."""
    sizes = {"N": 5, "M": width + (5 if text is SHIFTED else 0)}
    assert "row_A" in both(text, sizes, FOUR, fixed)


@pytest.mark.parametrize("size", [1, 4, 8, 13])
def test_guarded_reads_outside(size: int) -> None:
    """The rows reach beyond both ends; what is there is not used."""
    both(PADDED, {"M": size}, {"i": ["block.x", "outer 2", "thread.x 2", "inner 4"]}, fixed=True)


def test_every_element_once_in_vectors() -> None:
    text = both(STENCIL, {"N": 6, "M": 16}, FOUR, fixed=True)
    body = text.partition("row_A")[2].partition("// B(i, j)")[0]
    assert len(re.findall(r"&A\[", body)) == 3, "one vector of each row"
    assert len(re.findall(r" A\[", body)) == 2, "and the two ends of the middle one"
    assert " A[" not in text.partition("// B(i, j)")[2].partition("\n}")[0]


def test_the_default_where_points_share_elements_of_a_row() -> None:
    sizes = {"N": 1024, "M": 1024}
    assert "row_A" in compiled(STENCIL, sizes).cuda_source
    assert "row_A" not in compiled(STENCIL, sizes, staging={"A": "global"}).cuda_source
    plain = "def f(float(N, M) A) -> (B) { B(i, j) = A(i, j) + 1.0 }"
    assert "row_A" not in compiled(plain, sizes).cuda_source
