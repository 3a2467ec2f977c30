"""What a block reads outside of tiled reductions: stencils, transpositions, repeated reads.

A window is a box of one tensor that the points of a block's tile touch, at subscripts that are
sums of parallel indices; reads that differ by constants only are in one window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.frontend.subscripts import affine_form
from tcc.sched.nest import Instance, KernelNest, Loop, instances
from tcc.sched.reuse import chain, source_of


@dataclass(frozen=True)
class Window:
    """`forms` are storage subscripts without their constants, which reach from `low` to `high`.

    `reads` counts the reads of one point.
    """

    tensor: str
    forms: tuple[Affine, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    reads: int


def windows(kernel: KernelNest, program: tir.Program) -> tuple[Window, ...]:
    """The windows of a kernel, in the order of their first reads."""
    found: dict[tuple[str, tuple[Affine, ...]], Window] = {}
    for tensor, forms in _reads_outside(kernel, program):
        at = tuple(f.constant for f in forms)
        linear = tuple(f - f.constant for f in forms)
        old = found.get((tensor, linear), Window(tensor, linear, at, at, 0))
        low, high = tuple(map(min, old.low, at)), tuple(map(max, old.high, at))
        found[tensor, linear] = Window(tensor, linear, low, high, old.reads + 1)
    return tuple(found.values())


@dataclass(frozen=True)
class WindowRow:
    """Neighbouring elements of a window: all its reads that differ in the last subscript only.

    `at` are the constants of the other subscripts, `low` and `high` those of the last one; `reads`
    counts the reads of one point.
    """

    tensor: str
    forms: tuple[Affine, ...]
    at: tuple[int, ...]
    low: int
    high: int
    reads: int


def window_rows(kernel: KernelNest, program: tir.Program) -> tuple[WindowRow, ...]:
    """The rows of all windows of a kernel, in the order of their first reads."""
    found: dict[tuple[str, tuple[Affine, ...], tuple[int, ...]], WindowRow] = {}
    for tensor, forms in _reads_outside(kernel, program):
        *at, last = (f.constant for f in forms)
        linear = tuple(f - f.constant for f in forms)
        key = tensor, linear, tuple(at)
        old = found.get(key, WindowRow(*key, last, last, 0))
        low, high = min(old.low, last), max(old.high, last)
        found[key] = WindowRow(*key, low, high, old.reads + 1)
    return tuple(found.values())


def reads_of(instance: Instance, program: tir.Program) -> Iterator[tir.Read]:
    """The reads of an instance; an initialisation has none."""
    if instance.statement.endswith("_init"):
        return
    for expression in tir.walk(source_of(instance.statement, program).value):
        if isinstance(expression, tir.Read):
            yield expression


def window_forms(
    read: tir.Read, instance: Instance, kernel: KernelNest, program: tir.Program
) -> tuple[Affine, ...] | None:
    """Storage subscripts over the parallel dimensions and sizes, where they are sums of these."""
    dims = {d.name for d in kernel.parallel}
    known = dims | set(program.sizes)
    forms: list[Affine] = []
    for subscript, origin in zip(read.subscripts, program.tensors[read.tensor].origin, strict=True):
        form = affine_form(subscript)
        if form is None:
            return None
        stored = form.substitute(instance.iterators) - origin
        if not stored.variables <= known or stored.without(dims).variables & dims:
            return None
        forms.append(stored)
    return tuple(forms) if forms else None


def _reads_outside(
    kernel: KernelNest, program: tir.Program
) -> Iterator[tuple[str, tuple[Affine, ...]]]:
    """Tensor and subscripts of every read that belongs to a window."""
    written = {source_of(i.statement, program).target for i in instances(kernel.body)}
    for instance in _outside_of_chains(kernel, program):
        for read in reads_of(instance, program):
            forms = window_forms(read, instance, kernel, program)
            if forms is not None and read.tensor not in written:
                yield read.tensor, forms


def _outside_of_chains(kernel: KernelNest, program: tir.Program) -> Iterator[Instance]:
    for node in kernel.body:
        tiled = isinstance(node, Loop) and chain(kernel, program, node) is not None
        if not tiled:
            yield from instances((node,))
