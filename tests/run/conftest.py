"""Hand-written translation units in the form that the emitter writes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tcc.affine import Affine, const, lift, var
from tcc.artifact import Argument, ArgumentKind, Artifact, Interface
from tcc.frontend.tir import Role
from tcc.run.cache import ObjectCache
from tcc.run.host import HostDevice
from tcc.run.toolchain import Compiler, find_cxx
from tcc.scalar import ScalarType

ROLES = {"in": Role.INPUT, "out": Role.OUTPUT, "inout": Role.INOUT}
Unit = Callable[..., Artifact]


def extent(value: int | str | Affine) -> Affine:
    return var(value) if isinstance(value, str) else lift(value)


def make_tensor(name: str, role: str, scalar: str, *shape: int | str | Affine) -> Argument:
    dims = tuple(extent(e) for e in shape)
    return Argument(
        name,
        ArgumentKind.TENSOR,
        ScalarType(scalar),
        ROLES[role],
        dims,
        tuple(const(0) for _ in dims),
    )


def make_unit(
    text: str,
    tensors: list[Argument],
    launches: list[str],
    *,
    sizes: tuple[str, ...] = (),
    workspace: Affine | None = None,
    before: str = "",
    fixed: dict[str, int] | None = None,
) -> Artifact:
    """`launches`: `kernel, grid, block, shared bytes, argument names` as one C++ line each."""
    types = {"float32": "float", "float64": "double", "bool": "bool", "float16": "__half"}
    types |= {"bfloat16": "__nv_bfloat16", "int64": "long long", "uint64": "unsigned long long"}
    types |= {"int8": "signed char", "uint8": "unsigned char", "int16": "short", "int32": "int"}
    types |= {"uint16": "unsigned short", "uint32": "unsigned int"}
    parameters = []
    for t in tensors:
        assert t.type is not None
        const_ = "const " if t.role is Role.INPUT else ""
        parameters.append(f"{const_}{types[t.type.value]}* {t.name}")
    arguments = list(tensors)
    if workspace is not None:
        parameters.append("void* workspace")
        arguments.append(Argument("workspace", ArgumentKind.WORKSPACE))
    parameters += [f"int {s}" for s in sizes]
    arguments += [Argument(s, ArgumentKind.SIZE) for s in sizes]
    calls = ""
    for launch in launches:
        kernel, grid, block, shared, *names = [p.strip() for p in launch.split(";")]
        pointers = ", ".join(f"&{n}" for n in names)
        calls += f"""  {{
    void* arguments[] = {{{pointers}}};
    const cudaError_t status = cudaLaunchKernel(
        {kernel}, dim3({grid}), dim3({block}), arguments, {shared}, stream);
    if (status != cudaSuccess) return status;
  }}
"""
    workspace_text = ""
    if workspace is not None:
        size_list = ", ".join(f"int {s}" for s in sizes)
        workspace_text = (
            f'extern "C" size_t entry_workspace_bytes({size_list}) {{ return {workspace}; }}\n'
        )
    source = f"""#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif
{text}
#ifndef __CUDACC_RTC__
{workspace_text}extern "C" cudaError_t entry({", ".join([*parameters, "cudaStream_t stream"])}) {{
{before}{calls}  return cudaGetLastError();
}}
#endif
"""
    interface = Interface(
        "entry",
        tuple(arguments),
        (),
        fixed or {},
        sizes,
        lift(0) if workspace is None else workspace,
    )
    return Artifact(source, "", interface)


@pytest.fixture
def gcc() -> Compiler:
    found = find_cxx()
    if found.name != "g++":
        pytest.skip("g++ is not installed")
    return found


@pytest.fixture(scope="session")
def unit() -> Unit:
    return make_unit


@pytest.fixture(scope="session")
def tensor() -> Callable[..., Argument]:
    return make_tensor


@pytest.fixture(scope="session")
def object_cache(tmp_path_factory: pytest.TempPathFactory) -> ObjectCache:
    return ObjectCache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def host(object_cache: ObjectCache) -> Callable[..., HostDevice]:
    def make(**settings: object) -> HostDevice:
        return HostDevice(cache=object_cache, **settings)  # type: ignore[arg-type]

    return make
