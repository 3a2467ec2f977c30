"""Every access stays inside its tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import islpy as isl

from tcc.affine import Affine
from tcc.diagnostics import Label, Report, error
from tcc.frontend import tir
from tcc.frontend.domain import OUTSIDE
from tcc.frontend.guard import guarded_read, in_context
from tcc.sched import islx
from tcc.sched.scop import Access, Part, Scop, ScopStatement
from tcc.sched.witness import (
    allowed,
    element,
    is_reported,
    iteration,
    relevant_sizes,
    smallest,
)


def check_bounds(
    scop: Scop, sizes: Mapping[str, int], report: Report
) -> tuple[tir.Precondition, ...]:
    """Report accesses that leave their tensor; return what must hold of the sizes still open.

    Conditions on indices and sizes around a read are respected. Under a condition on data a read is
    wrong if no instance of it stays inside; of a data-dependent access only the other subscripts
    are checked. An access that is wrong for some of the allowed sizes only becomes preconditions.
    """
    found: dict[tuple[Affine, object], tir.Precondition] = {}
    for statement in scop.statements:
        if statement.part is Part.INIT:
            continue
        for access in statement.accesses:
            if access.accumulates or is_reported(report, access.span):
                continue
            checker = _Checker(scop, sizes, statement, access)
            for condition in checker.check(report):
                found.setdefault((condition.expression, condition.span), condition)
    return tuple(found.values())


@dataclass(frozen=True)
class _Escape:
    """Instances whose subscript of one dimension is below or beyond the tensor."""

    dim: int
    subscript: Affine
    beyond: bool
    instances: isl.Set  # { S[i] }


class _Checker:
    def __init__(
        self, scop: Scop, sizes: Mapping[str, int], statement: ScopStatement, access: Access
    ) -> None:
        self._scop = scop
        self._sizes = sizes
        self._statement = statement
        self._access = access
        self._given = allowed(scop, sizes)
        self._tensor = scop.program.tensors[access.tensor]
        self._bounds = scop.tensor_bounds(access.tensor)
        self._text = access.span.text if "\n" not in access.span.text else access.tensor

    def check(self, report: Report) -> Iterator[tir.Precondition]:
        """Report what is wrong for certain, yield what hangs on open sizes."""
        outside = self._access.guarded.subtract_range(self._scop.tensor_box(self._access.tensor))
        if outside.intersect_params(self._given).is_empty():
            return
        for escape in self._escapes():
            if not self._access.guard_exact:
                if self._happens().is_subset(escape.instances):
                    self._report(escape, report)
                continue
            conditions = self._conditions(escape)
            if conditions is None:
                self._report(escape, report)
                continue
            for condition in conditions:
                reason = f"`{self._text}` stays inside `{self._access.tensor}`"
                yield tir.Precondition(condition, reason, self._access.span)

    def _escapes(self) -> Iterator[_Escape]:
        space = self._statement.space
        domain = self._access.guarded.domain()
        for dim, subscript in enumerate(self._access.subscripts):
            if subscript is None:
                continue
            low, high = (space.text(b) for b in self._bounds[dim])
            value = space.text(subscript)
            for beyond, outside in ((False, f"{value} < {low}"), (True, f"{value} >= {high}")):
                instances = domain.intersect(space.set([outside]))
                if not instances.intersect_params(self._given).is_empty():
                    yield _Escape(dim, subscript, beyond, instances)

    def _happens(self) -> isl.Set:
        """The instances that may access the tensor, { S[i] }."""
        return self._access.guarded.domain().intersect_params(self._given)

    def _conditions(self, escape: _Escape) -> tuple[Affine, ...] | None:
        """What the sizes must fulfil; None when they can't.

        Sizes for which nothing is read do not make a read right.
        """
        wrong = escape.instances.params()
        if self._happens().params().is_subset(wrong):
            return None
        possible = self._given.intersect(self._statement.domain.params())
        fine = possible.subtract(wrong).gist(possible)
        forms = islx.inequalities(self._scop.parameters, fine)
        return tuple(f for f in forms if not self._holds(f, possible))

    def _holds(self, form: Affine, possible: isl.Set) -> bool:
        parameters = self._scop.parameters
        return possible.is_subset(parameters.set([f"{parameters.text(form)} >= 0"]))

    def _report(self, escape: _Escape, report: Report) -> None:
        name, span = self._access.tensor, self._access.span
        side = "beyond the end" if escape.beyond else "before the start"
        low, high = self._bounds[escape.dim]
        label = f"subscript `{escape.subscript}` must stay in {low}:{high}"
        notes = self._notes(escape)
        if self._access is self._statement.write:
            message = f"`{name}` is written {side.replace('the', 'its')}"
            shape = (Label(self._tensor.span, "its shape comes from here"),)
            inside = f"`where {escape.subscript} in {low}:{high}`"
            help = (f"stay inside what the first statement writes: {inside}",)
            report.add(
                error("E0352", message, span, label, secondary=shape, notes=notes, help=help)
            )
            return
        message = f"`{self._text}` reads {side} of `{name}`"
        report.add(error(OUTSIDE, message, span, label, notes=notes, help=self._guard(escape)))

    def _notes(self, escape: _Escape) -> tuple[str, ...]:
        found = smallest(self._scop, self._sizes, escape.instances)
        if found is None:
            return ()
        low, high = self._bounds[escape.dim]
        names = self._statement.iterators
        values = {**found.sizes, **dict(zip(names, found.point, strict=True))}
        at = found.at(relevant_sizes(self._statement, escape.subscript, low, high))
        first, last = low.evaluate(values), high.evaluate(values) - 1
        index = escape.subscript.evaluate(values)
        who = iteration(self._statement, found.point)
        extent = f"dimension {escape.dim} of `{self._access.tensor}` has extent {last - first + 1}"
        where = f", its indices are {first} to {last}" if first else ""
        return (f"smallest case{at}: {who} needs index {index}; {extent}{where}",)

    def _guard(self, escape: _Escape) -> tuple[str, ...]:
        """A condition around the read that keeps it inside."""
        if not self._access.exact:
            return ("guard the read by a condition on this subscript",)
        access, bounds = self._access, self._bounds[escape.dim]
        read = element(access.tensor, access.subscripts).strip("`")
        bound = bounds[1] if escape.beyond else bounds[0]
        text = guarded_read(
            read, self._tensor.type, escape.subscript, bound, is_upper=escape.beyond
        )
        return (f"guard the read: `{in_context(text, self._statement.source.value, access.span)}`",)
