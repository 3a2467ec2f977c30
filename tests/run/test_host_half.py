"""The half types of the host shim: all values to float, and each rounding from float and double."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

TYPES = {
    "float16": (np.float16, "cuda_fp16.h", "__half", "__half2float", "__float2half_rn"),
    "bfloat16": (
        ml_dtypes.bfloat16,
        "cuda_bf16.h",
        "__nv_bfloat16",
        "__bfloat162float",
        "__float2bfloat16_rn",
    ),
}
BLOCK = 256


@pytest.fixture(params=list(TYPES), scope="module")
def half(request, unit, tensor, host):
    """dtype, widen (bits to float32), narrow (float32 to bits), narrow from float64."""
    dtype, header, c_type, widen, narrow = TYPES[request.param]
    from_double = narrow.replace("__float2", "__double2").removesuffix("_rn")
    text = f"""
#include <{header}>
extern "C" __global__ void widen(const {c_type}* H, float* F, int N) {{
  const int i = blockIdx.x * {BLOCK} + threadIdx.x;
  if (i < N) F[i] = {widen}(H[i]);
}}
extern "C" __global__ void narrow(const float* F, {c_type}* H, int N) {{
  const int i = blockIdx.x * {BLOCK} + threadIdx.x;
  if (i < N) H[i] = {narrow}(F[i]);
}}
extern "C" __global__ void narrow_double(const double* D, {c_type}* H, int N) {{
  const int i = blockIdx.x * {BLOCK} + threadIdx.x;
  if (i < N) H[i] = {from_double}(D[i]);
}}
"""

    def converter(kernel: str, source: str, target: str):
        tensors = [tensor("X", "in", source, "N"), tensor("Y", "out", target, "N")]
        launch = f"{kernel}; (N + {BLOCK - 1}) / {BLOCK}; {BLOCK}; 0; X; Y; N"
        artifact = unit(text, tensors, [launch], sizes=("N",))
        return lambda x: host().run(artifact, {"X": x}, {})["Y"]

    return (
        dtype,
        converter("widen", request.param, "float32"),
        converter("narrow", "float32", request.param),
        converter("narrow_double", "float64", request.param),
    )


def bits(values: np.ndarray) -> np.ndarray:
    return values.view(np.uint16)


def assert_same(got: np.ndarray, wanted: np.ndarray) -> None:
    """Equal bits; any NaN equals any NaN."""
    nan = np.isnan(wanted.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), nan)
    np.testing.assert_array_equal(bits(got)[~nan], bits(wanted)[~nan])


def test_all_values_widen(half):
    dtype, widen, _, _ = half
    every = np.arange(65536, dtype=np.uint16).view(dtype)
    got, wanted = widen(every), every.astype(np.float32)
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(got), nan)
    np.testing.assert_array_equal(got.view(np.uint32)[~nan], wanted.view(np.uint32)[~nan])


def test_all_values_and_all_ties_narrow(half):
    dtype, _, narrow, _ = half
    every = np.arange(65536, dtype=np.uint16).view(dtype).astype(np.float32)
    positive = every[: 0x7F80 if dtype is ml_dtypes.bfloat16 else 0x7C00]
    ties = (positive[:-1].astype(np.float64) + positive[1:]).astype(np.float64) / 2
    ties = ties.astype(np.float32)
    near = np.concatenate(
        [np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(np.inf))]
    )
    values = np.concatenate([every, ties, -ties, near, -near])
    with np.errstate(all="ignore"):  # NaN is among them
        wanted = values.astype(dtype)
    assert_same(narrow(values), wanted)


def test_random_bits_narrow(half):
    dtype, _, narrow, _ = half
    values = np.random.default_rng(5).integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        wanted = values.astype(dtype)
    assert_same(narrow(values), wanted)


def test_doubles_round_once(half):
    dtype, _, _, narrow_double = half
    every = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    if dtype is ml_dtypes.bfloat16:
        every = np.arange(0x100, 0x7F00, dtype=np.uint16).view(dtype).astype(np.float64)
    middle = (every[:-1] + every[1:]) / 2
    down, up = np.nextafter(middle, 0), np.nextafter(middle, np.inf)
    values = np.concatenate([middle, down, up, -middle, -down, -up])
    below, above = every[:-1].astype(dtype), every[1:].astype(dtype)
    even = np.where(bits(below) % 2 == 0, bits(below), bits(above)).view(dtype)
    wanted = np.concatenate([even, below, above, -even, -below, -above])
    assert_same(narrow_double(values), wanted)
