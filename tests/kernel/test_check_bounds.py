"""Kernels that stop where a subscript from data is outside of its tensor."""

from __future__ import annotations

import numpy as np
import pytest

from tcc.api import Kernel
from tcc.errors import RunError
from tcc.run.findings import FindingsError
from tests.kernel.running import compiled

LUT = """
def lut(float(E, D) Table, {type}(B, L) Index) -> (Sum) {{
    Sum(b, d) +=! Table(Index(b, l), d)
}}"""


def arrays(type: str, index: int) -> dict[str, np.ndarray]:
    where = np.zeros((3, 2), type)
    where[1, 1] = index
    return {"Table": np.arange(20, dtype=np.float32).reshape(5, 4), "Index": where}


@pytest.mark.parametrize("type", ["int32", "uint8", "int64", "uint64"])
@pytest.mark.parametrize("check", [False, True])
def test_right_subscripts(type: str, check: bool) -> None:
    kernel = compiled(LUT.format(type=type), check_bounds=True)
    given = arrays(type, 4)
    found = kernel.run(given, check=check)["Sum"]
    np.testing.assert_array_equal(found, given["Table"][given["Index"].astype(int)].sum(1))


@pytest.mark.parametrize(
    ("type", "index"), [("int32", 5), ("int32", -1), ("uint8", 255), ("int64", 1 << 40)]
)
def test_a_wrong_subscript_stops_the_kernel(type: str, index: int) -> None:
    kernel = compiled(LUT.format(type=type), check_bounds=True)
    said = rf"subscript 0 of `Table\(Index\(b, l\), d\)` is {index}, outside of 0:5"
    with pytest.raises(RunError, match=said):
        kernel.run(arrays(type, index))
    with pytest.raises(FindingsError, match=said):
        kernel.run(arrays(type, index), check=True)


def source(kernel: Kernel) -> tuple[str, str]:
    reference = kernel.compilation.reference
    assert reference is not None
    return kernel.cuda_source, reference.cuda_source


def test_the_reference_kernel_checks_as_well() -> None:
    assert all("__trap" in t for t in source(compiled(LUT.format(type="int32"), check_bounds=True)))


def test_nothing_is_checked_unless_asked_for() -> None:
    for text in source(compiled(LUT.format(type="int32"))):
        assert "__trap" not in text
        assert "stdio" not in text


def test_a_subscript_that_is_no_affine_form() -> None:
    """Without data, but only the run decides it."""
    text = "def f(float(N) X) -> (Y) { Y(i) = X(i * i) where i in 0:4 }"
    kernel = compiled(text, check_bounds=True)
    assert kernel.run({"X": np.arange(10, dtype=np.float32)})["Y"].tolist() == [0, 1, 4, 9]
    with pytest.raises(RunError, match=r"subscript 0 of `X\(i \* i\)` is 9, outside of 0:9"):
        kernel.run({"X": np.arange(9, dtype=np.float32)})


def test_the_quoted_read_is_safe_text() -> None:
    text = 'def f(float(N) X, int32(N) P) -> (Y) { Y(i) = X(P(i) +  # "%s\\"\n 0) }'
    found = compiled(text, check_bounds=True)
    assert "\"subscript 0 of `X(P(i) + # '%s?' 0)`\"" in found.cuda_source
    assert found.run({"X": np.ones(3, np.float32), "P": np.zeros(3, np.int32)})["Y"].sum() == 3
