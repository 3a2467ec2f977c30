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
    sizes; with `fast` the launcher has a choice.
    """

    function: str
    arguments: tuple[Argument, ...]
    launches: tuple[Launch, ...]
    sizes: Mapping[str, int]
    symbolic: tuple[str, ...]
    workspace_bytes: Affine
    temporaries: Mapping[str, Affine] = field(default_factory=dict)
    fast: FastPath | None = None

    @property
    def tensors(self) -> tuple[Argument, ...]:
        """The tensor arguments, inputs first."""
        return tuple(a for a in self.arguments if a.kind is ArgumentKind.TENSOR)


@dataclass(frozen=True)
class Artifact:
    """One emitted translation unit: `.cu` text, `.h` text and how to call it."""

    cuda_source: str
    header: str
    interface: Interface
