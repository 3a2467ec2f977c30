"""Where and when a nest runs every statement instance: what the legality check looks at."""

from __future__ import annotations

from tcc.affine import Affine, const
from tcc.sched.legality import Placement
from tcc.sched.nest import KernelNest, Loop, Nest, Node, instances


def place(nest: Nest) -> dict[str, Placement]:
    """Kernel number, parallel point and time inside the point of every statement.

    Times are padded to one length; they alternate positions in a sequence and loop values.
    """
    found: dict[str, Placement] = {}
    for number, kernel in enumerate(nest.kernels):
        times = _times(kernel)
        length = max(len(t) for t in times.values())
        for statement, time in times.items():
            padded = (*time, *(const(0) for _ in range(length - len(time))))
            parallel = _parallel(kernel, statement)
            found[statement] = Placement(number, parallel, padded)
    return found


def _parallel(kernel: KernelNest, statement: str) -> tuple[Affine, ...]:
    values = next(i.values for i in instances(kernel.body) if i.statement == statement)
    return tuple(values[d.name] for d in kernel.parallel)


def _times(kernel: KernelNest) -> dict[str, tuple[Affine, ...]]:
    times: dict[str, tuple[Affine, ...]] = {}

    def visit(nodes: tuple[Node, ...], loops: tuple[str, ...], path: tuple[int, ...]) -> None:
        for position, node in enumerate(nodes):
            here = (*path, position)
            if isinstance(node, Loop):
                visit(node.body, (*loops, node.dim.name), here)
                continue
            steps = [const(here[0])]
            for loop, inner in zip(loops, here[1:], strict=True):
                steps += [node.values[loop], const(inner)]
            times[node.statement] = tuple(steps)

    visit(kernel.body, (), ())
    return times
