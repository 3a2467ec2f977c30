"""What a device is: something that runs an artifact on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from tcc.artifact import Artifact

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Device(Protocol):
    """Runs kernels: the CPU (`host`) or a GPU (`cuda`)."""

    name: str

    def run(
        self, artifact: Artifact, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> dict[str, Array]:
        """The outputs, in fresh arrays, in/out tensors among them.

        `arrays` has an array for every input and every in/out tensor, by name; `sizes` may give
        sizes that no shape tells. CompileError (E06) for arrays that do not fit, RunError when
        the kernel crashes, hangs or refuses, ToolchainError when something needed is missing.
        """
        ...
