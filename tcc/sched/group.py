"""The option `kernels`: which tensors each kernel computes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tcc.diagnostics import Report, error
from tcc.errors import InternalError
from tcc.options import Options
from tcc.sched.dependences import Dependences
from tcc.sched.fuse import statements
from tcc.sched.fusion import Fusion
from tcc.sched.legality import check_kernels
from tcc.sched.nest import Instance, KernelNest, Loop, Nest, Node
from tcc.sched.place import place
from tcc.sched.schedule import compute_schedule
from tcc.sched.scop import Scop
from tcc.sched.structure import numbered, program_order, structure
from tcc.sched.unknown import unknown

PATH = "mapping.kernels"


def group_kernels(
    scop: Scop, dependences: Dependences, nest: Nest, options: Options, report: Report
) -> Nest:
    """The nest regrouped into the kernels that the options list, in their order.

    Tensors that the compiler made (the parts of a long reduction) get kernels of their own, before
    the first kernel that reads them. What cannot be done is reported, and `nest` returned.

    Requires: `nest` is legal. Establishes: the result is legal (checked by isl).
    """
    return _Grouping(scop, dependences, nest, options, report).nest()


class _Impossible(Exception):
    """Reported already."""


class _Grouping:
    def __init__(
        self, scop: Scop, dependences: Dependences, nest: Nest, options: Options, report: Report
    ) -> None:
        self._scop = scop
        self._dependences = dependences
        self._nest = nest
        self._options = options
        self._report = report
        self._asked: tuple[tuple[str, ...], ...] = options.mapping.kernels or ()
        self._targets = {s.name: s.source.target for s in scop.statements}
        self._wider: list[KernelNest] | None = None
        self._notes: tuple[str, ...] = ()

    def nest(self) -> Nest:
        """The regrouped nest."""
        try:
            self._check_names()
            groups = self._with_made_tensors()
            self._check_order(groups)
            kernels = [self._kernel(tensors, path) for tensors, path in groups]
        except _Impossible:
            return self._nest
        named = numbered(self._scop.program.name, kernels)
        result = replace(self._nest, kernels=named, notes=(*self._nest.notes, *self._notes))
        try:
            check_kernels(self._dependences, place(result))
        except InternalError:
            self._report_(PATH, "these kernels are not possible", "values pass between threads")
            return self._nest
        return result

    def _report_(self, path: str, message: str, note: str = "") -> None:
        notes = (note,) if note else ()
        help = ("remove `kernels`: the compiler groups the statements then",)
        self._report.add(
            error(
                "E0526", message, self._options.place(path), "not possible", notes=notes, help=help
            )
        )

    # -- names -----------------------------------------------------------------------------

    def _check_names(self) -> None:
        written = list(dict.fromkeys(self._targets.values()))
        own = [t for t in written if not self._is_made(t)]
        seen: dict[str, str] = {}
        for k, group in enumerate(self._asked):
            for j, tensor in enumerate(group):
                path = f"{PATH}[{k}][{j}]"
                if tensor not in own:
                    self._report.add(
                        unknown("tensor to compute", tensor, own, self._options.place(path))
                    )
                elif tensor in seen:
                    self._report_(path, f"`{tensor}` is in two kernels")
                seen.setdefault(tensor, path)
        missing = [t for t in own if t not in seen]
        if missing:
            listed = ", ".join(f"`{t}`" for t in missing)
            self._report_(PATH, f"`kernels` leaves out {listed}")
        if self._report.errors:
            raise _Impossible

    def _is_made(self, tensor: str) -> bool:
        """Whether the compiler made the tensor, for the parts of a reduction."""
        return any(
            s.source.target == tensor and s.source.name.endswith("_parts")
            for s in self._scop.statements
        )

    def _with_made_tensors(self) -> list[tuple[frozenset[str], str]]:
        """The groups with their places, made tensors before their readers."""
        result: list[tuple[frozenset[str], str]] = []
        waiting = [t for t in dict.fromkeys(self._targets.values()) if self._is_made(t)]
        for k, group in enumerate(self._asked):
            mine = [t for t in waiting if self._feeds({t}, set(group))]
            result += [(frozenset((t,)), f"{PATH}[{k}]") for t in mine]
            waiting = [t for t in waiting if t not in mine]
            result.append((frozenset(group), f"{PATH}[{k}]"))
        return result

    def _feeds(self, sources: set[str], sinks: set[str]) -> bool:
        return any(
            self._targets[d.source] in sources and self._targets[d.sink] in sinks
            for d in self._dependences.pairs
        )

    # -- kernels ---------------------------------------------------------------------------

    def _check_order(self, groups: Sequence[tuple[frozenset[str], str]]) -> None:
        number = {t: k for k, (group, _) in enumerate(groups) for t in group}
        for pair in self._dependences.pairs:
            source, sink = self._targets[pair.source], self._targets[pair.sink]
            if number[source] > number[sink]:
                message = f"the kernel of `{sink}` comes before that of `{source}`, which it needs"
                self._report_(groups[number[sink]][1], message)
                raise _Impossible

    def _kernel(self, tensors: frozenset[str], path: str) -> KernelNest:
        """A kernel for exactly these tensors: one that there is, or a part of one."""
        names = frozenset(s for s, t in self._targets.items() if t in tensors)
        alone = program_order(self._scop).kernels
        for kernel in (*self._nest.kernels, *alone):
            if statements(kernel) == names:
                return kernel
        for kernel in (*self._nest.kernels, *self._fused()):
            if statements(kernel) >= names:
                return replace(kernel, body=_only(kernel.body, names))
        listed = " and ".join(f"`{t}`" for t in sorted(tensors))
        note = "a thread would need what other threads compute, or nothing would run in parallel"
        self._report_(path, f"{listed} cannot share a kernel", next(iter(self._notes), note))
        raise _Impossible

    def _fused(self) -> Iterable[KernelNest]:
        if self._wider is None:
            scheduled = compute_schedule(self._scop, self._dependences, Fusion.MAX)
            self._wider = list(structure(self._scop, scheduled.tree).kernels)
            if scheduled.fell_back:
                self._notes = tuple(f"while looking for `kernels`: {n}" for n in scheduled.notes)
        return self._wider


def _only(nodes: tuple[Node, ...], names: frozenset[str]) -> tuple[Node, ...]:
    """The nodes with only some statements."""
    kept: list[Node] = []
    for node in nodes:
        if isinstance(node, Instance):
            kept += [node] if node.statement in names else []
        else:
            body = _only(node.body, names)
            kept += [Loop(node.dim, body)] if body else []
    return tuple(kept)
