"""What a compilation produces: the text, its calling convention, its launches, the manifest.

The launcher is `extern "C" cudaError_t NAME(tensors in, tensors out, [void* workspace,]
[int sizes...,] cudaStream_t stream)`; the arguments are listed in that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tcc.affine import Affine
from tcc.frontend.tir import Role
from tcc.scalar import ScalarType


class ArgumentKind(Enum):
    """What one parameter of the launcher is."""

    TENSOR = "tensor"
    WORKSPACE = "workspace"
    SIZE = "size"


@dataclass(frozen=True)
class Variant:
    """One architecture of a library that holds kernels for several.

    Its kernels have code for compute capabilities from `least` to below `below`, in tenths; None:
    for all from `least` on.
    """

    architecture: str
    least: int
    below: int | None

    @property
    def condition(self) -> str:
        """The preprocessor condition under which its kernels have code; on the host they do."""
        known = f"__CUDA_ARCH__ >= {10 * self.least}"
        if self.below is not None:
            known = f"({known} && __CUDA_ARCH__ < {10 * self.below})"
        return f"!defined(__CUDA_ARCH__) || {known}"


@dataclass(frozen=True)
class Naming:
    """How the functions of an emitted file are called, besides by the name of the def.

    All names with external linkage begin with `prefix`. In C++ the header declares the launcher
    also inside of `namespace`. With a `variant` the launcher is a part of a library: it and its
    kernels carry the name of the architecture.
    """

    prefix: str = ""
    namespace: tuple[str, ...] = ()
    variant: Variant | None = None

    def function(self, name: str) -> str:
        """The name of a launcher: `prefix_matmul_sm_80`."""
        suffix = f"_{self.variant.architecture}" if self.variant else ""
        return f"{self.prefix}{name}{suffix}"


PLAIN = Naming()


@dataclass(frozen=True)
class Argument:
    """One parameter of the launcher, without the stream, which always comes last.

    Tensors: dense row-major, `shape` over the symbolic sizes, `origin` the logical subscripts of
    the first element. Sizes: C `int`. Workspace: device memory of `Interface.workspace_bytes`.
    """

    name: str
    kind: ArgumentKind
    type: ScalarType | None = None
    role: Role | None = None
    shape: tuple[Affine, ...] = ()
    origin: tuple[Affine, ...] = ()


@dataclass(frozen=True)
class Requirement:
    """`expression >= 0` must hold of the sizes; `text` is the comparison, `H >= KH`."""

    expression: Affine
    text: str
    reason: str


@dataclass(frozen=True)
class Launch:
    """One kernel launch: extents over the symbolic sizes, shared memory in bytes.

    `arguments` names what the kernel takes: tensors and temporaries by pointer, sizes as `int`.
    """

    kernel: str
    grid: tuple[Affine, Affine, Affine]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class FastPath:
    """Kernels that the launcher prefers where open sizes allow vector accesses.

    They run when every size of `quarters` is a multiple of 4, all pointers are aligned to 16
    bytes and no tensor has more than 2^31 - 1 elements; a kernel takes size / 4 for such a size.
    """

    quarters: tuple[str, ...]
    launches: tuple[Launch, ...]


@dataclass(frozen=True)
class Interface:
    """How to call one emitted launcher. `sizes` are the fixed sizes, `symbolic` the open ones.

    `temporaries` has the byte offset of each temporary in the workspace. `launches` work for all
    sizes that fulfil `requirements`; with `fast` the launcher has a choice. `alignments` has the
    bytes that the address of a tensor must be a multiple of, where that is more than its type's.
    `unordered` names the tensors that threads combine values into in any order: floating-point
    results that depend on them can differ in rounding from run to run.
    """

    function: str
    arguments: tuple[Argument, ...]
    launches: tuple[Launch, ...]
    sizes: Mapping[str, int]
    symbolic: tuple[str, ...]
    workspace_bytes: Affine
    temporaries: Mapping[str, Affine] = field(default_factory=dict)
    fast: FastPath | None = None
    requirements: tuple[Requirement, ...] = ()
    alignments: Mapping[str, int] = field(default_factory=dict)
    unordered: tuple[str, ...] = ()

    @property
    def tensors(self) -> tuple[Argument, ...]:
        """The tensor arguments, inputs first."""
        return tuple(a for a in self.arguments if a.kind is ArgumentKind.TENSOR)


@dataclass(frozen=True)
class Parts:
    """What a `.cu` is put together from, so that one file can hold several.

    `names` spells the arguments of the interface, `parameters` declares them. NVRTC is spared the
    `host_includes`.
    """

    comment: tuple[str, ...]
    host_includes: tuple[str, ...]
    includes: tuple[str, ...]
    helpers: tuple[str, ...]
    kernels: str
    launcher: str
    parameters: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class Artifact:
    """One emitted translation unit: `.cu` text, `.h` text and how to call it."""

    cuda_source: str
    header: str
    interface: Interface
    parts: Parts | None = None


@dataclass(frozen=True)
class Library:
    """One file with kernels for several architectures, and a launcher that chooses among them.

    `interface` is that of the launcher, but for launches and workspace bytes, which depend on the
    architecture. `variants` has the artifact for each, by name, lowest first.
    """

    cuda_source: str
    header: str
    interface: Interface
    parts: Parts
    variants: Mapping[str, Artifact]
