"""The loop structure of a scheduled program as plain data, between the schedule tree and the Plan.

nest   := kernel*                        launched in order
kernel := parallel dimensions, node*     the body of one parallel point, in execution order
node   := Loop | Instance
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tcc.affine import Affine


@dataclass(frozen=True)
class Dim:
    """One loop variable with its half-open range over sizes and the variables around it.

    The range is the hull of the ranges of all statements below. `coincident` is true when
    different values carry no dependence.
    """

    name: str
    low: Affine
    high: Affine
    coincident: bool

    @property
    def extent(self) -> Affine:
        """Number of values."""
        return self.high - self.low


@dataclass(frozen=True)
class Instance:
    """One statement at the point given by the loops around it.

    `iterators` gives each iterator of the statement over the loop variables, `values` the loop
    variables over the iterators; `conditions` are expressions that must be zero for the statement
    to run (loops that it does not have).
    """

    statement: str
    iterators: Mapping[str, Affine]
    values: Mapping[str, Affine]
    conditions: tuple[Affine, ...] = ()


@dataclass(frozen=True)
class Loop:
    """A sequential loop inside one parallel point."""

    dim: Dim
    body: tuple[Node, ...]


Node: TypeAlias = Loop | Instance


@dataclass(frozen=True)
class KernelNest:
    """One kernel: every point of the parallel dimensions is independent of every other."""

    name: str
    parallel: tuple[Dim, ...]
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Nest:
    """All kernels of a program in launch order; `notes` say where a fall-back was taken."""

    kernels: tuple[KernelNest, ...]
    notes: tuple[str, ...] = ()


def instances(nodes: tuple[Node, ...]) -> Iterator[Instance]:
    """All instances below, in execution order."""
    for node in nodes:
        if isinstance(node, Instance):
            yield node
        else:
            yield from instances(node.body)


def runs_over(at: Affine, low: Affine, high: Affine, dims: Mapping[str, Dim]) -> str | None:
    """The one dimension that an iterator, which is `at` and in low:high, has each value of once.

    None where it hangs on several of `dims`, on a multiple, or on a part of a range.
    """
    used = [d for d in at.variables if d in dims]
    if len(used) != 1 or at.coefficient(used[0]) != 1:
        return None
    shift, dim = at.without(used), dims[used[0]]
    return dim.name if (low - shift, high - shift) == (dim.low, dim.high) else None


def text(nest: Nest) -> str:
    """Stable text for `--emit nest`."""
    lines: list[str] = []
    for kernel in nest.kernels:
        lines.append(f"kernel {kernel.name}")
        lines += [f"  parallel {_dim_text(d)}" for d in kernel.parallel]
        lines += _node_lines(kernel.body, "  ")
    lines += [f"note: {n}" for n in nest.notes]
    return "\n".join(lines) + "\n"


def _dim_text(dim: Dim) -> str:
    return f"{dim.name} in {dim.low} : {dim.high}"


def _node_lines(nodes: tuple[Node, ...], indent: str) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        if isinstance(node, Loop):
            kind = "for (coincident)" if node.dim.coincident else "for"
            lines.append(f"{indent}{kind} {_dim_text(node.dim)}")
            lines += _node_lines(node.body, indent + "  ")
        else:
            at = ", ".join(f"{k} = {v}" for k, v in node.iterators.items())
            when = "".join(f" if {c} == 0" for c in node.conditions)
            lines.append(f"{indent}{node.statement}[{at}]{when}")
    return lines
