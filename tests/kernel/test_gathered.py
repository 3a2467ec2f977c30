"""Gathers in tiled reductions: vectors of rows, indices and rows in shared memory, open sizes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tcc.api import Kernel
from tcc.errors import RunError
from tcc.run.findings import FindingsError
from tcc.run.host import HostDevice
from tests.agreement import assert_agrees, run_both_orders
from tests.kernel.running import compiled, data

BAG = """
def f({type}(E, D) T, int32(B, L) I) -> (O) {{
    O(b, d) +=! T(I(b, l) + 2, d)
}}"""
LENGTHS = (1, 3, 4, 5, 33, 64)
DIGITS = {"b": ["block.y 2", "thread.y 3"], "d": ["block.x", "thread.x 4", "inner 4"]}
STAGINGS = [
    {"I": "global", "T": "register"},
    {"I": "register", "T": "global"},
    {"I": "shared", "T": "register"},
    {"I": "register", "T": "shared"},
    {"I": "shared", "T": "shared"},
]


def plan(staging: dict[str, str], *, pipeline: int = 1, **more: Any) -> dict[str, Any]:
    given = {"parallel": DIGITS, "loops": {"l": ["tile 4"]}, "staging": staging}
    return {"plan": {"f_kernel": {**given, "pipeline": pipeline, **more}}}


def arrays(kernel: Kernel, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Indices from -2 to E - 3, with the first and the last row among them."""
    found = data(kernel.compilation.program, sizes)
    random = np.random.default_rng(1)
    where = random.integers(-2, sizes["E"] - 2, (sizes["B"], sizes["L"]))
    where[0, 0], where[-1, -1] = -2, sizes["E"] - 3
    return {**found, "I": where.astype(np.int32)}


def agrees(kernel: Kernel, sizes: dict[str, int], *, check: bool = False) -> None:
    given = arrays(kernel, sizes)
    assert_agrees(kernel.compilation.program, given, sizes, run_both_orders(kernel, given))
    if check:
        kernel.run(given, check=True)


def bodies(kernel: Kernel) -> dict[str, str]:
    """The text of every kernel by name."""
    parts = re.split(r'(?=extern "C" __global__)', kernel.cuda_source)
    return {re.search(r"(\w+)\(const", p)[1]: p for p in parts if p.startswith("extern")}


@pytest.mark.parametrize(
    ("type", "vector"),
    [
        ("float", "float4"),
        ("double", "double2"),
        ("float16", "ushort4"),
        ("bfloat16", "ushort4"),
        ("int8", "char4"),
    ],
)
def test_open_row_lengths(type: str, vector: str) -> None:
    kernel = compiled(BAG.format(type=type))
    aligned = bodies(kernel)["f_kernel_aligned"]
    assert all(re.search(rf"{vector}\*>\(&{tensor}\[", aligned) for tensor in "TO")
    for length in LENGTHS:
        agrees(kernel, {"E": 7, "D": length, "B": 5, "L": 9}, check=length == 5)


@pytest.mark.parametrize("length", LENGTHS)
def test_fixed_row_lengths(length: int) -> None:
    sizes = {"E": 7, "D": length, "B": 5, "L": 50}
    agrees(compiled(BAG.format(type="float"), sizes), sizes, check=length == 33)


@pytest.mark.parametrize("staging", STAGINGS)
def test_staging_of_open_sizes(staging: dict[str, str]) -> None:
    """Fewer k-tiles than one, ragged ones, whole ones; rows of whole vectors and others."""
    kernel = compiled(BAG.format(type="float"), **plan(staging, pipeline=2))
    for d, length in ((16, 8), (36, 9), (5, 3), (1, 1)):
        agrees(kernel, {"E": 6, "D": d, "B": 7, "L": length}, check=length != 9)


@pytest.mark.parametrize("more", [{"rolled_copies": True}, {"vector": 2}, {"readonly_cache": True}])
def test_ways_to_copy(more: dict[str, Any]) -> None:
    sizes = {"E": 6, "D": 20, "B": 7, "L": 10}
    staging = {"I": "shared", "T": "shared"}
    agrees(compiled(BAG.format(type="float"), sizes, **plan(staging, **more)), sizes, check=True)


@pytest.mark.parametrize("pipeline", [2, 3])
def test_rows_are_fetched_ahead_where_their_indices_are_not_staged(pipeline: int) -> None:
    sizes = {"E": 6, "D": 20, "B": 7, "L": 18}
    staging = {"I": "register", "T": "shared"}
    kernel = compiled(BAG.format(type="float"), sizes, **plan(staging, pipeline=pipeline))
    assert f"shared_T[{pipeline}]" in kernel.cuda_source
    assert "i_" not in kernel.cuda_source, "only copies need the indices"
    agrees(kernel, sizes, check=True)


def test_indices_come_before_the_rows_that_they_pick() -> None:
    """Two stages: a barrier after the copy of the indices, the next after that of the rows.

    Neither can be left out, and no other is needed: each thread writes indices when all have been
    used for the copy of the rows before.
    """
    staging = {"I": "shared", "T": "shared"}
    kernel = compiled(BAG.format(type="float"), **plan(staging))
    for body in bodies(kernel).values():
        loop = body[body.index("for (int l_t") :]
        order = re.findall(
            r"__syncthreads|&?shared_I\[.* = |T\[[^;]*shared_I|&?shared_T\[.* = ", loop
        )
        names = [re.sub(r"\[.*", "", o).strip("&") for o in order]
        compact = [n for k, n in enumerate(names) if not k or n != names[k - 1]]
        barrier = "__syncthreads"
        assert compact == ["shared_I", barrier, "T", "shared_T", barrier]


def test_no_barrier_can_be_left_out() -> None:
    sizes = {"E": 6, "D": 20, "B": 7, "L": 18}
    kernel = compiled(BAG.format(type="float"), sizes, **plan({"I": "shared", "T": "shared"}))
    given, barrier = arrays(kernel, sizes), "__syncthreads();"
    *parts, last = kernel.cuda_source.split(barrier)
    assert len(parts) == 2
    for k in range(2):
        joined = barrier.join(parts[: k + 1]) + barrier.join([*parts[k + 1 :], last])
        artifact = replace(kernel.artifact, cuda_source=joined)
        with pytest.raises(FindingsError, match="race"):
            HostDevice(check=True).run(artifact, given, {})


@pytest.mark.parametrize("staging", STAGINGS)
def test_rows_are_read_in_vectors(staging: dict[str, str]) -> None:
    """By the kernel for row lengths that are multiples of 4; any other length has another one."""
    kernel = compiled(BAG.format(type="float"), **plan(staging))
    found = bodies(kernel)
    assert list(found) == ["f_kernel_aligned", "f_kernel"]
    wide = re.findall(r"const float4\*>\(&T\[", found["f_kernel_aligned"])
    assert len(wide) == (staging["T"] != "global")
    assert "float4*>(&O[" in found["f_kernel_aligned"]
    assert "const float4*>(&T[" not in found["f_kernel"]
    assert "D % 4 == 0" in kernel.cuda_source
    assert "L % 4" not in kernel.cuda_source, "vectors do not run along the indices"


def test_the_default_reads_whole_vectors() -> None:
    sizes = {"E": 1000, "D": 64, "B": 128, "L": 50}
    kernel = compiled(BAG.format(type="float"), sizes)
    (load,) = re.findall(r".*\bT\[.*", kernel.cuda_source)
    (store,) = re.findall(r".*\bO\[.*", kernel.cuda_source)
    assert len(re.findall(r"\bI\[", kernel.cuda_source)) == 1
    assert "float4" in load
    assert "float4" in store
    assert "I[" not in load, "an index is read once for all elements of its row"
    (mine,) = kernel.plan.kernels
    assert {d.dim: d.threads * d.inner for d in mine.dims}["d"] == sizes["D"], "by one block"
    assert mine.sliced is not None, "threads share the rows of a sum"


@pytest.mark.parametrize(
    "text",
    [
        "O(b, d) +=! W(b, l) * T(I(b, l), d) where l in 1:L",
        "O(b, d) max=! T(I(b, l), d) + W(b, l)",
        "O(b, d) +=! T(I(b, l), d) where b in 0:B, l in 0:b",
        "O(b, d) +=! I(b, l) > 0 ? T(I(b, l), d) : 0.0",
        "O(b, d) +=! T(I(b, l), D - 1 - d)",
        "O(b, d) +=! T(I(b, l), d) * T(I(b, L - 1 - l), d)",
        "O(b, d) +=! T(J(I(b, l)), d)",
        "O(b, d) +=! T(I(b, l) < 1 ? 0 : I(b, l), d)",
        "O(d, b) +=! T(I(b, l), d)",
        "O(b, l) +=! T(I(b, l), d)",
        "O(b, d) +=! T(d, I(b, l)) where d in 0:3",
        "O(b, d) +=! T(l * l / 200, d) + float(I(b, l))",
        "O(b, l) +=! T(I(b, l), d) * W(l, d) where l in 0:3",
        "O(b, l) +=! V(S(), d) * float(I(b, l))",
    ],
)
def test_gathers_of_all_kinds(text: str) -> None:
    """Weights, empty sums, conditions, other operators, nested gathers, columns, products."""
    program = f"""
    def f(float(E, D) T, int32(B, L) I, int32(E) J, float(B, D) W, float(E, D) V, int32 S) -> (O) {{
        {text}
    }}"""
    used = [p for p in ("J", "W", "V", "S") if re.search(rf"\b{p}\b", text)]
    for name in {"J", "W", "V", "S"} - set(used):
        program = re.sub(rf", \w+(\([\w, ]+\))? {name}\b", "", program)
    program = program.replace("S()", "S")
    sizes = {"E": 7, "D": 12, "B": 5, "L": 10}
    for given in (sizes, None):
        kernel = compiled(program, given)
        for at in (sizes,) if given else (sizes, {"E": 4, "D": 11, "B": 3, "L": 11}):
            values = data(kernel.compilation.program, at)
            random = np.random.default_rng(1)
            for name in ("I", "J", "S"):
                if name in values:
                    shape = values[name].shape
                    values[name] = random.integers(0, 4, shape).astype(np.int32)
            assert_agrees(kernel.compilation.program, values, at, run_both_orders(kernel, values))


@pytest.mark.parametrize("staging", STAGINGS)
def test_wrong_indices_are_found(staging: dict[str, str]) -> None:
    kernel = compiled(BAG.format(type="float"), check_bounds=True, **plan(staging))
    sizes = {"E": 6, "D": 8, "B": 4, "L": 5}
    agrees(kernel, sizes)
    given = arrays(kernel, sizes)
    given["I"][2, 4] = 4
    said = r"subscript 0 of `T\(I\(b, l\) \+ 2, d\)` is 6, outside of 0:6"
    with pytest.raises(RunError, match=said):
        kernel.run(given)
    with pytest.raises(FindingsError, match=said):
        kernel.run(given, check=True)
