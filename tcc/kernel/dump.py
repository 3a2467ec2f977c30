"""Kernel IR as stable text, for `--emit kernel`."""

from __future__ import annotations

from tcc.kernel import ir
from tcc.kernel.statements import kernel_lines


def text(kernels: tuple[ir.Kernel, ...]) -> str:
    """All kernels: parameters, launch geometry, body."""
    lines: list[str] = []
    for kernel in kernels:
        buffers = [
            f"{b.type.value} {b.name}({', '.join(map(str, b.shape))})" for b in kernel.buffers
        ]
        lines.append(f"kernel {kernel.name}({', '.join([*buffers, *kernel.sizes])})")
        grid = ", ".join(str(g) for g in kernel.grid)
        lines.append(f"  grid ({grid}), block {kernel.block}, shared {kernel.shared_bytes} bytes")
        lines += kernel_lines(kernel, dict.fromkeys(kernel.sizes, (1, None)), set())
    return "\n".join(lines) + "\n"
