"""The plan of one kernel from an options file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tcc.diagnostics import Report, error
from tcc.frontend import tir
from tcc.options import KernelOptions, Options
from tcc.sched.nest import Dim, KernelNest, Loop, Node, instances
from tcc.sched.plan import AXES, DimPlan, KernelPlan, LoopPlan, RowPlan, Staging
from tcc.sched.reuse import chains
from tcc.sched.rows import RowForm, row_form
from tcc.sched.stageable import stageable
from tcc.sched.unknown import not_stageable, unknown

_DIGIT = re.compile(r"([a-z]+)(?:\.([a-z]+))?(?: +([0-9]+))?")
_LARGEST = 2**31 - 1
_WITH_AXIS = ("block", "thread")
_WITHOUT_NUMBER = ("serial", "rolled", "keep")
_NUMBER_OPTIONAL = ("block",)
DIM_DIGITS = ("serial", "block", "outer", "thread", "inner", "tile")
LOOP_DIGITS = ("tile", "thread", "rolled")
ROW_DIGITS = ("thread", "vector", "keep")


@dataclass(frozen=True)
class _Digit:
    """One digit with its place in the list; axis and number where it has them."""

    kind: str
    axis: int | None
    number: int | None


def read_plan(
    kernel: KernelNest, program: tir.Program, options: Options, report: Report
) -> KernelPlan:
    """The plan that the options give for a kernel.

    What it leaves out is said in `report`, like everything that is wrong with it: the result then
    only stands in for a plan.
    """
    return _Reader(kernel, program, options, report).plan()


class _Refused(Exception):
    """Reported already."""


class _Reader:
    def __init__(
        self, kernel: KernelNest, program: tir.Program, options: Options, report: Report
    ) -> None:
        self._kernel = kernel
        self._program = program
        self._options = options
        self._report = report
        self._path = f"mapping.plan.{kernel.name}"
        self._given: KernelOptions = options.mapping.plan[kernel.name]

    def plan(self) -> KernelPlan:
        """The plan; its parts are checked one by one."""
        given = self._given
        dims = self._dims()
        return KernelPlan(
            self._kernel.name,
            dims,
            self._loops(dims),
            self._staging(),
            given.pipeline or 1,
            self._row(dims),
            given.vector,
            given.unroll,
            bool(given.rolled_copies),
            bool(given.readonly_cache),
            given.private_depth,
        )

    # -- parallel loops --------------------------------------------------------------------

    def _dims(self) -> tuple[DimPlan, ...]:
        names = [d.name for d in self._kernel.parallel]
        self._known("parallel", self._given.parallel, "parallel loop", names)
        missing = [n for n in names if n not in self._given.parallel]
        if missing:
            self._incomplete("parallel", missing)
        plans = [
            self._dim(d, self._given.parallel[d.name])
            for d in self._kernel.parallel
            if d.name in self._given.parallel
        ]
        self._check_bounds([p for p in plans if p is not None])
        return tuple(p or DimPlan(n, 1) for p, n in zip(plans, names, strict=False))

    def _dim(self, dim: Dim, items: Sequence[str]) -> DimPlan | None:
        path = f"{self._path}.parallel.{dim.name}"
        try:
            found = self._digits(path, items, DIM_DIGITS)
        except _Refused:
            return None
        block, thread = found.get("block"), found.get("thread")
        if ("serial" in found) == (block is not None):
            self._wrong(path, f"`{dim.name}` needs `block.x`, `block.y`, `block.z` or `serial`")
            return None
        plan = DimPlan(
            dim.name,
            1,
            None if block is None else block.axis,
            None if block is None else block.number,
            None if thread is None else thread.axis,
            _number(thread),
            _number(found.get("outer")),
            _number(found.get("inner")),
        )
        tile = found.get("tile")
        plan = replace(plan, tile=plan.covered if tile is None else _number(tile))
        if plan.tile > plan.covered:
            message = (
                f"the digits of `{dim.name}` reach {plan.covered} of the {plan.tile} values of "
                f"a tile"
            )
            help = (f"write `tile {plan.covered}`, or digits that reach {plan.tile}",)
            self._contradiction(path, message, help)
        return plan

    def _check_bounds(self, plans: Iterable[DimPlan]) -> None:
        """An axis of the grid has one bound: that of the first dimension on it."""
        seen: dict[int, str] = {}
        for plan in plans:
            if plan.grid_axis is None:
                continue
            first = seen.setdefault(plan.grid_axis, plan.dim)
            if first != plan.dim and plan.blocks is not None:
                axis = AXES[plan.grid_axis]
                message = f"`{first}` and `{plan.dim}` share the blocks along {axis}"
                path = f"{self._path}.parallel.{plan.dim}"
                help = (f"give the number of blocks with `{first}`",)
                self._contradiction(path, message, help)

    # -- reduction loops and rows ----------------------------------------------------------

    def _loops(self, dims: tuple[DimPlan, ...]) -> tuple[LoopPlan, ...]:
        found = chains(self._kernel, self._program)
        tilable = list(dict.fromkeys(d.name for c in found for d in c.loops))
        every = list(dict.fromkeys(_loop_names(self._kernel.body)))
        self._known("loops", self._given.loops, "reduction loop", every)
        for name in self._given.loops:
            if name in every and name not in tilable:
                message = f"`{name}` cannot be cut into tiles in `{self._kernel.name}`"
                note = (
                    "tiles are for sums and the like whose operands are read at subscripts "
                    "that are sums of indices, and which no other statement of their loops uses"
                )
                place = self._options.place_of_name(f"{self._path}.loops.{name}")
                help = (f"remove `{name}` here",)
                self._report.add(
                    error("E0525", message, place, "cannot be cut", notes=(note,), help=help)
                )
        for chain in found:
            own = [d.name for d in chain.loops]
            missing = [n for n in own if n not in self._given.loops]
            if missing and len(missing) < len(own):
                self._incomplete("loops", missing)
        plans = [self._loop(n) for n in tilable if n in self._given.loops]
        made = tuple(p for p in plans if p is not None)
        for plan, problem in _loop_problems(made, dims, has_row=self._given.row is not None):
            self._contradiction(f"{self._path}.loops.{plan.dim}", problem)
        return made

    def _loop(self, name: str) -> LoopPlan | None:
        path = f"{self._path}.loops.{name}"
        try:
            found = self._digits(path, self._given.loops[name], LOOP_DIGITS)
        except _Refused:
            return None
        if "tile" not in found:
            self._wrong(path, f"`{name}` needs a `tile`")
        thread = found.get("thread")
        return LoopPlan(
            name,
            _number(found.get("tile")),
            "rolled" not in found,
            None if thread is None else thread.axis,
            _number(thread),
        )

    def _row(self, dims: tuple[DimPlan, ...]) -> RowPlan | None:
        if self._given.row is None:
            return None
        path = f"{self._path}.row"
        try:
            found = self._digits(path, self._given.row, ROW_DIGITS)
        except _Refused:
            return None
        form = row_form(self._kernel, self._program)
        thread = found.get("thread")
        if form is None:
            message = f"`{self._kernel.name}` has no rows that threads can share"
            place, help = self._options.place(path), ("remove `row`",)
            self._report.add(error("E0525", message, place, "no rows", help=help))
            return None
        if thread is None or thread.axis is None:
            self._wrong(path, "`row` needs `thread.x` or `thread.y`")
            return None
        vector = found.get("vector")
        row = RowPlan(_number(thread), _number(vector), thread.axis, "keep" in found)
        for problem in _row_problems(row, form, dims):
            self._contradiction(path, problem)
        return row

    def _staging(self) -> tuple[tuple[str, Staging], ...]:
        read = _tensors_read(self._kernel, self._program)
        self._known("staging", self._given.staging, "tensor read by this kernel", read)
        known = {t: Staging(s) for t, s in self._given.staging.items() if t in read}
        possible = stageable(
            self._kernel,
            self._program,
            self._given.loops.keys(),
            has_row=self._given.row is not None,
        )
        for tensor, where in known.items():
            if where is Staging.SHARED and tensor not in possible:
                place = self._options.place_of_name(f"{self._path}.staging.{tensor}")
                self._report.add(not_stageable(tensor, place))
        return tuple(sorted(known.items()))

    # -- digits ----------------------------------------------------------------------------

    def _digits(self, path: str, items: Sequence[str], order: Sequence[str]) -> dict[str, _Digit]:
        """Digits by kind; each at most once, in the order of nesting."""
        found: dict[str, _Digit] = {}
        for position, text in enumerate(items):
            place = f"{path}[{position}]"
            digit = self._digit(place, text, order)
            later = [k for k in found if order.index(k) >= order.index(digit.kind)]
            if digit.kind in found:
                self._wrong(place, f"`{digit.kind}` is given twice")
            elif later:
                message = f"`{digit.kind}` stands inside of `{later[0]}`"
                note = f"digits are written outermost first: {', '.join(order)}"
                self._wrong(place, message, note)
            found[digit.kind] = digit
        return found

    def _digit(self, path: str, text: str, order: Sequence[str]) -> _Digit:
        match = _DIGIT.fullmatch(text.strip())
        kind = match[1] if match else ""
        if match is None or kind not in order:
            note = f"digits are {', '.join(_spelled(k) for k in order)}"
            self._wrong(path, f"`{text}` is no digit here", note)
            raise _Refused
        axis, number = match[2], match[3]
        axes = AXES[:2] if order is ROW_DIGITS else AXES
        misplaced = axis is not None and (kind not in _WITH_AXIS or axis not in axes)
        if misplaced or (kind in _WITH_AXIS and axis is None):
            self._wrong(path, f"`{text}` is no digit here", f"write {_spelled(kind)}")
            raise _Refused
        if (number is None) != (kind in _WITHOUT_NUMBER) and kind not in _NUMBER_OPTIONAL:
            self._wrong(path, f"`{text}` is no digit here", f"write {_spelled(kind)}")
            raise _Refused
        if number is not None and not 1 <= int(number[:20]) <= _LARGEST:
            self._wrong(path, f"`{number}` is not from 1 to {_LARGEST}")
            raise _Refused
        return _Digit(
            kind,
            None if axis is None else AXES.index(axis),
            None if number is None else int(number),
        )

    # -- reporting -------------------------------------------------------------------------

    def _wrong(self, path: str, message: str, note: str = "") -> None:
        notes = (note,) if note else ()
        place, help = (
            self._options.place(path),
            ("start from the digits that `tcc compile --emit plan` prints",),
        )
        self._report.add(
            error("E0521", message, place, "not possible here", notes=notes, help=help)
        )

    def _contradiction(
        self, path: str, message: str, help: tuple[str, ...] = ("change one of the numbers",)
    ) -> None:
        place = self._options.place(path)
        self._report.add(error("E0523", message, place, "does not fit together", help=help))

    def _incomplete(self, part: str, missing: Sequence[str]) -> None:
        path = f"{self._path}.{part}"
        given: Mapping[str, object] = getattr(self._given, part)
        place = self._options.place(path if given else self._path)
        names = ", ".join(f"`{n}`" for n in missing)
        message = f"the plan of `{self._kernel.name}` leaves out {names}"
        help = (f"add {names} below `{part}`",)
        self._report.add(error("E0523", message, place, "not all there", help=help))

    def _known(self, part: str, names: Iterable[str], kind: str, known: Sequence[str]) -> None:
        for name in names:
            if name not in known:
                place = self._options.place_of_name(f"{self._path}.{part}.{name}")
                self._report.add(unknown(kind, name, known, place))


def _loop_problems(
    loops: tuple[LoopPlan, ...], dims: tuple[DimPlan, ...], *, has_row: bool
) -> Iterable[tuple[LoopPlan, str]]:
    """What is wrong with loops whose tiles several threads share."""
    shared = [p for p in loops if p.thread_axis is not None]
    for plan in shared:
        if plan.tile % plan.threads:
            yield plan, f"{plan.threads} threads cannot share tiles of {plan.tile} evenly"
        if plan is not shared[0]:
            yield plan, f"`{shared[0].dim}` and `{plan.dim}` are both shared by threads"
        if has_row:
            yield plan, f"threads share `{plan.dim}`, and rows"
        for dim in dims:
            if dim.thread_axis is not None and dim.thread_axis == plan.thread_axis:
                axis = AXES[dim.thread_axis]
                yield plan, f"`{dim.dim}` and `{plan.dim}` share the threads along {axis}"


def _row_problems(row: RowPlan, form: RowForm, dims: tuple[DimPlan, ...]) -> Iterable[str]:
    last = form.loops[-1].extent
    if row.axis == 0 and row.threads & (row.threads - 1):
        yield f"{row.threads} threads cannot share a row; it takes a power of two"
    if row.vector > 1 and not (last.is_constant and last.value % row.vector == 0):
        yield f"rows cannot be cut into vectors of {row.vector}"
    if row.keep and not all(d.extent.is_constant for d in form.loops):
        yield "rows of open length cannot be kept in registers"
    for dim in dims:
        if dim.registers > 1:
            yield f"`{dim.dim}` has more than one value a thread, and rows are shared"
        if dim.thread_axis == row.axis:
            yield f"`{dim.dim}` and the row share the threads along {AXES[row.axis]}"


def _number(digit: _Digit | None) -> int:
    return 1 if digit is None or digit.number is None else digit.number


def _spelled(kind: str) -> str:
    axis = ".x" if kind in _WITH_AXIS else ""
    return f"`{kind}{axis}{'' if kind in (*_WITHOUT_NUMBER, *_NUMBER_OPTIONAL) else ' 8'}`"


def _loop_names(nodes: tuple[Node, ...]) -> Iterable[str]:
    for node in nodes:
        if isinstance(node, Loop):
            yield node.dim.name
            yield from _loop_names(node.body)


def _tensors_read(kernel: KernelNest, program: tir.Program) -> list[str]:
    by_name = {s.name: s for s in program.statements}
    found: dict[str, None] = {}
    for instance in instances(kernel.body):
        statement = by_name.get(instance.statement)
        if statement is not None:
            reads = (e for e in tir.walk(statement.value) if isinstance(e, tir.Read))
            found |= {r.tensor: None for r in reads}
    return list(found)
