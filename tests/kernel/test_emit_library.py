"""The launcher that chooses: by the architecture of the code that runs, never another's kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tcc.api import request_of
from tcc.artifact import Artifact, Library, Naming, Variant
from tcc.driver import compile_program
from tcc.errors import RunError
from tcc.inputs import options_of_data
from tcc.kernel.emit_library import emit_library
from tcc.run.host import HostDevice
from tcc.source import Source

ADD = "def f(float(N) A) -> (B) {{ B(i) = A(i) + {0} }}"
SUM = "def f(float(N) A) -> (S) { S +=! A(i) }"


def variant(text: str, architecture: str, below: int | None, **mapping: object) -> Artifact:
    """The artifact of a program for one architecture of several."""
    naming = Naming(variant=Variant(architecture, int(architecture[3:]), below))
    options = options_of_data("<options>", {"mapping": mapping})
    request = request_of(Source("f.tc", text), None, {}, options, architecture)
    artifact = compile_program(replace(request, naming=naming)).artifact
    assert artifact is not None
    return artifact


def on(architecture: int, library: Library, bytes_of: Artifact | None = None) -> Artifact:
    """The file as a GPU of some architecture would run it."""
    macro = "TCC_HOST_ARCHITECTURE"
    source = f"#undef {macro}\n#define {macro} {architecture}\n{library.cuda_source}"
    interface = library.interface
    if bytes_of is not None:
        interface = replace(interface, workspace_bytes=bytes_of.interface.workspace_bytes)
    return Artifact(source, library.header, interface)


@pytest.fixture(scope="module")
def two():
    """Kernels that tell which one ran: no two architectures of one program do."""
    variants = {
        "sm_80": variant(ADD.format(80), "sm_80", 90),
        "sm_90": variant(ADD.format(90), "sm_90", None),
    }
    return emit_library(variants, "f", Naming())


@pytest.mark.parametrize(("architecture", "chosen"), [(80, 80), (86, 80), (90, 90), (120, 90)])
def test_the_nearest_architecture_below_is_chosen(two, architecture, chosen):
    result = HostDevice().run(on(architecture, two), {"A": np.zeros(5, np.float32)}, {})
    assert (result["B"] == chosen).all()


def test_no_kernel_runs_where_none_was_compiled(two):
    with pytest.raises(RunError, match="209"):
        HostDevice().run(on(75, two), {"A": np.zeros(5, np.float32)}, {})


@pytest.mark.parametrize("largest", ["sm_80", "sm_90"])
def test_the_workspace_is_as_large_as_any_needs(largest):
    parts = {"sm_80": 2, "sm_90": 2, largest: 64}
    variants = {
        name: variant(SUM, name, below, split=parts[name])
        for name, below in (("sm_80", 90), ("sm_90", None))
    }
    library = emit_library(variants, "f", Naming())
    values = np.arange(100, dtype=np.float32)
    for architecture in (80, 90):
        artifact = on(architecture, library, variants[largest])
        result = HostDevice().run(artifact, {"A": values}, {"N": 100})
        assert result["S"] == values.sum()


@pytest.mark.parametrize("without", ["sm_80", "sm_90"])
def test_a_workspace_that_one_needs(without):
    """The launcher takes it; the other kernels do without."""
    variants = {
        name: variant(SUM, name, below, split=1 if name == without else 8)
        for name, below in (("sm_80", 90), ("sm_90", None))
    }
    library = emit_library(variants, "f", Naming())
    assert "void* workspace, int N" in library.header
    (needs,) = (a for name, a in variants.items() if name != without)
    values = np.arange(100, dtype=np.float32)
    for architecture in (80, 90):
        result = HostDevice().run(on(architecture, library, needs), {"A": values}, {})
        assert result["S"] == values.sum()


def test_what_all_share_stands_once(two):
    assert two.cuda_source.count("#include <cuda_runtime.h>") == 1
    assert two.cuda_source.startswith("// f, compiled by tcc for sm_80 and sm_90\n")
    assert two.cuda_source.count("\n// plan:\n") == 2
    assert "\n// For sm_80\n" in two.cuda_source
    assert two.header.count("cudaError_t f(") == 1
