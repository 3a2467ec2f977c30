"""The checking build on problems of real size: some of the blocks, or all over several processes."""

from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path

import pytest

from tcc.api import Kernel
from tcc.api import compile as tcc_compile
from tcc.run.device import Array
from tcc.run.findings import FindingKind
from tcc.run.host import HostDevice
from tcc.run.verify_inputs import Style, draw, find_domain

GEMM = Path(__file__).parents[2] / "specs" / "gemm.tc"
SIZES = {"M": 1024, "N": 1024, "K": 1024}
MOST_MIB = 1024
"""Resident memory of a process that executes a kernel with 12 MiB of tensors."""


@pytest.fixture(scope="module")
def gemm() -> tuple[Kernel, dict[str, Array]]:
    kernel = tcc_compile(GEMM, sizes=SIZES)
    assert kernel.compilation.program is not None
    return kernel, draw(find_domain(kernel.compilation.program, SIZES, {}), Style.NORMAL, 0)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"blocks": {0: [0, 5, 63]}}, {"workers": 2}])
def test_a_missing_barrier(gemm, how) -> None:
    kernel, arrays = gemm
    device = HostDevice(check=True, timeout_s=300, **how)
    assert not device.check(kernel.artifact, arrays, {}).findings
    text = kernel.artifact.cuda_source.replace("__syncthreads();", "", 1)
    found = device.check(replace(kernel.artifact, cuda_source=text), arrays, {}).findings
    assert found[0].kind is FindingKind.RACE
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert used < MOST_MIB * 1024
