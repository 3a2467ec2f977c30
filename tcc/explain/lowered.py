"""The kernels that a launcher would run at some sizes, with their launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcc.artifact import Launch
from tcc.driver import Compilation
from tcc.errors import InternalError
from tcc.kernel import ir
from tcc.kernel.context import VECTOR


@dataclass(frozen=True)
class Lowered:
    """A kernel with its launch, the program's `sizes`, and those of which it takes a quarter."""

    kernel: ir.Kernel
    launch: Launch
    sizes: Mapping[str, int]
    quarters: tuple[str, ...]

    @property
    def names(self) -> dict[str, str]:
        """The user's name of every buffer."""
        pairs = zip(self.kernel.buffers, self.launch.arguments, strict=False)
        return {buffer.name: name for buffer, name in pairs}

    @property
    def values(self) -> dict[str, int]:
        """The values that the kernel gets for its sizes."""
        given = self.launch.arguments[len(self.kernel.buffers) :]
        pairs = zip(self.kernel.sizes, given, strict=True)
        return {own: self._value(name) for own, name in pairs}

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks along x, y and z."""
        x, y, z = (e.evaluate(self.sizes) for e in self.launch.grid)
        return x, y, z

    def _value(self, name: str) -> int:
        return self.sizes[name] // VECTOR if name in self.quarters else self.sizes[name]


def lowered(compilation: Compilation, sizes: Mapping[str, int]) -> tuple[Lowered, ...]:
    """The kernels of a compilation, the faster ones where the sizes allow them.

    `sizes` has a value for every size. InternalError where the compilation was stopped early.
    """
    lowering, artifact = compilation.lowering, compilation.artifact
    if lowering is None or artifact is None:
        raise InternalError("the compilation stopped before it emitted anything")
    kernels, launches = lowering.mapped.kernels, artifact.interface.launches
    fast, path = lowering.mapped.fast, artifact.interface.fast
    quarters: tuple[str, ...] = ()
    fits = fast is not None and all(sizes[q] % VECTOR == 0 for q in fast.quarters)
    if fast is not None and path is not None and fits:
        kernels, launches, quarters = fast.kernels, path.launches, fast.quarters
    pairs = zip(kernels, launches, strict=True)
    return tuple(Lowered(kernel, launch, sizes, quarters) for kernel, launch in pairs)
