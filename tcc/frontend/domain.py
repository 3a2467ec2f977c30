"""The iteration domain of a statement: runs range inference and reports what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tcc.affine import Affine, const, var
from tcc.diagnostics import Diagnostic, Label, error, warning
from tcc.frontend import ast, tir
from tcc.frontend.guard import guarded_read, in_context
from tcc.frontend.prove import decide
from tcc.frontend.ranges import (
    Condition,
    Inference,
    conditions,
    infer,
    range_variables,
    reads,
)
from tcc.frontend.requirements import Requirement, sizes_note
from tcc.frontend.resolve import StatementNames
from tcc.frontend.rewrite import substitute_sizes
from tcc.frontend.scope import Scope
from tcc.frontend.solve import greatest
from tcc.frontend.subscripts import affine_form

OUTSIDE = "E0307"
"""The code of a read outside of its tensor, which the bounds check finds as well."""

ONCE_KNOWN = "once its sizes are known"
WINDOW = 3
"""Extent of a suggested range where nothing says which one is meant."""


@dataclass(frozen=True)
class Accesses:
    """What takes part in inference: the value, `exists` expressions, the target if it is read."""

    value: tir.Expression
    exists: tuple[tir.Expression, ...]
    target: tir.Read | None


class Domain:
    """Ranges of one statement, and what they demand of the sizes."""

    def __init__(
        self,
        statement: ast.Assign,
        names: StatementNames,
        explicit: Mapping[str, tir.Range],
        accesses: Accesses,
        scope: Scope,
    ) -> None:
        self._statement = statement
        self._names = names
        self._explicit = explicit
        self._accesses = accesses
        self._scope = scope
        self._sizes = frozenset(scope.signature.sizes)
        self._variables = (*names.indices, *names.loops, *names.extra)
        self._conditions = tuple(self._collect())
        self._inference = infer(self._variables, explicit, self._conditions)

    @property
    def value(self) -> tir.Expression:
        """The right side that the ranges are for."""
        return self._accesses.value

    @property
    def is_known(self) -> bool:
        """False where an error hides the shape of a tensor that takes part."""
        accesses = self._accesses
        expressions = (accesses.value, *accesses.exists, *filter(None, (accesses.target,)))
        found = (read for e in expressions for read, _ in reads(e))
        return all(self._scope.tensors[r.tensor].shape is not None for r in found)

    def ranges(self) -> Mapping[str, tir.Range] | None:
        """The range of every index variable; None after an error."""
        if self._inference.unsolved:
            self._scope.report.add(self._unsolved())
            return None
        self._warn_partial()
        return self._inference.ranges

    def requirements(self) -> Iterator[Requirement]:
        """That no range is empty, and that every read that surely happens stays inside.

        A range over other indices, as of a triangle, may be empty at small sizes, as it is for
        some rows at any size; it is wrong when it is empty at all sizes.
        """
        ranges = self._inference.ranges
        loops = (*self._names.indices, *self._names.loops)
        boxes = [n for n in loops if self._is_box(ranges[n])]
        for name in loops:
            needed = self._not_empty(name, ranges[name])
            if name in boxes or decide(needed.expression, {}) is False:
                yield needed
        if len(boxes) == len(loops):
            yield from (
                self._inside(c)
                for c in self._inference.open
                if c.is_checked and c.is_exact and c.expression.variables <= self._sizes
            )

    # -- inference -------------------------------------------------------------------------

    def _collect(self) -> Iterator[Condition]:
        for read, guarded in reads(self._accesses.value):
            yield from self._of(read, is_checked=not guarded)
        for expression in self._accesses.exists:
            for read, _ in reads(expression):
                yield from self._of(read, is_checked=False)
        if self._accesses.target is not None:
            yield from self._of(self._accesses.target, is_checked=False)

    def _of(self, read: tir.Read, *, is_checked: bool) -> Iterator[Condition]:
        symbol = self._scope.tensors[read.tensor]
        return conditions(read, symbol, self._sizes, is_checked=is_checked)

    def _is_box(self, range_: tir.Range) -> bool:
        return range_variables(range_) <= self._sizes

    # -- requirements ----------------------------------------------------------------------

    def _not_empty(self, name: str, range_: tir.Range) -> Requirement:
        most = range_.extent
        ranges = self._inference.ranges
        while inner := sorted(most.variables - self._sizes):
            most, _ = greatest(most, inner[-1], ranges[inner[-1]])
        spelled = f"{range_.low}:{range_.high}"
        reason = f"the range `{spelled}` of `{name}` is not empty"
        clause = self._names.ranges.get(name)
        if clause is not None:
            message = f"the range `{spelled}` of `{name}` is empty"
            place, help = clause.span, (_filled(name, range_),)
            return Requirement(most - 1, reason, "E0302", message, place, "no values", help=help)
        message = f"the range of `{name}` is empty: no value keeps every read inside its tensor"
        place = self._statement.target.span
        label = f"`{name}` would run over `{spelled}`"
        help = (f"state a range with `where`, and guard the reads of `{name}` by a condition",)
        labels = self._reads_of(name)
        return Requirement(most - 1, reason, "E0302", message, place, label, labels, help)

    def _reads_of(self, name: str) -> tuple[Label, ...]:
        for condition in self._conditions:
            if name in condition.expression.variables:
                return (Label(condition.read.span, f"bounds `{name}`"),)
        return ()

    def _inside(self, condition: Condition) -> Requirement:
        read, dimension = condition.read, condition.dimension
        tensor = read.tensor
        symbol = self._scope.tensors[tensor]
        form = affine_form(read.subscripts[dimension])
        text = read.span.text if "\n" not in read.span.text else tensor
        where = "beyond the end" if condition.is_upper else "before the start"
        message = f"`{text}` reads {where} of `{tensor}`"
        shape = const(0) if symbol.shape is None else symbol.shape[dimension]
        low, high = symbol.origin[dimension], symbol.origin[dimension] + shape
        label = f"subscript `{form}` must stay in {low}:{high}"
        reason = f"`{text}` stays inside `{tensor}`"
        bound = high if condition.is_upper else low
        again = guarded_read(text, read.type, form or const(0), bound, is_upper=condition.is_upper)
        again = in_context(again, self._accesses.value, read.span)
        help = (f"guard the read: `{again}`",)
        return Requirement(
            condition.expression, reason, OUTSIDE, message, read.span, label, help=help
        )

    # -- reports ---------------------------------------------------------------------------

    def _unsolved(self) -> Diagnostic:
        unsolved = self._inference.unsolved
        names = " and ".join(f"`{n}`" for n in unsolved)
        plural, one = ("s", "one") if len(unsolved) > 1 else ("", "it")
        message = f"cannot infer the range{plural} of {names}: state {one} with `where`"
        labels, notes = self._explain(unsolved)
        help = (f"for example: `where {self._suggest()}`",)
        if any(n.endswith(ONCE_KNOWN) for n in notes):
            help = ("give these sizes a value, or state the range",)
        label = f"{names} could be anything here"
        target = self._statement.target.span
        return error("E0301", message, target, label, secondary=labels, notes=notes, help=help)

    def _explain(self, unsolved: Sequence[str]) -> tuple[tuple[Label, ...], tuple[str, ...]]:
        """The access that bounds only a sum, or what keeps an access from giving a bound."""
        for condition in self._inference.open:
            together = condition.expression.variables & set(unsolved)
            form = affine_form(condition.read.subscripts[condition.dimension])
            if len(together) > 1 and form is not None:
                others = [n for n in form.variables if n not in together]
                text = f"bounds only `{form.without(others) - form.constant}`"
                return (Label(condition.read.span, text),), ()
        notes = [self._why_unbounded(n) for n in unsolved if not self._mentions(n)]
        return (), tuple(notes)

    def _why_unbounded(self, name: str) -> str:
        sevens = {s: const(7) for s in self._sizes}
        for read, _ in reads(self._accesses.value):
            for subscript in read.subscripts:
                fixed = affine_form(substitute_sizes(subscript, sevens))
                if affine_form(subscript) is None and fixed and name in fixed.variables:
                    return f"a subscript of `{read.tensor}` bounds `{name}` {ONCE_KNOWN}"
        return f"no affine subscript on the right side contains `{name}`"

    def _mentions(self, name: str) -> bool:
        return any(name in c.expression.variables for c in self._conditions)

    def _suggest(self) -> str:
        """Ranges that would do: reduction indices first, as few as possible."""
        unsolved = self._inference.unsolved
        order = [n for n in unsolved if n not in self._names.indices]
        order += [n for n in unsolved if n in self._names.indices]
        added: dict[str, Affine] = {}
        for name in order:
            added[name] = self._likely_extent(name)
            if not self._with(added).unsolved:
                break
        return ", ".join(f"{n} in 0:{high}" for n, high in added.items())

    def _with(self, added: Mapping[str, Affine]) -> Inference:
        more = {n: tir.Range(const(0), high) for n, high in added.items()}
        return infer(self._variables, {**self._explicit, **more}, self._conditions)

    def _likely_extent(self, name: str) -> Affine:
        """The extent that the target has there; a size, for an index that nothing mentions."""
        target = self._scope.tensors.get(self._statement.target.text)
        if name in self._names.indices:
            if target is not None and target.shape is not None:
                return target.shape[self._names.indices.index(name)]
            if not self._mentions(name) and self._scope.signature.sizes:
                return var(next(iter(self._scope.signature.sizes)))
        return const(WINDOW)

    def _warn_partial(self) -> None:
        """A reduction over a stated range that leaves out elements of a dimension."""
        for name in self._names.loops:
            range_ = self._explicit.get(name)
            if range_ is None or not self._is_box(range_):
                continue
            for read, _ in reads(self._accesses.value):
                if self._warn_dimension(name, range_, read):
                    break

    def _warn_dimension(self, name: str, range_: tir.Range, read: tir.Read) -> bool:
        symbol = self._scope.tensors[read.tensor]
        for dimension, subscript in enumerate(read.subscripts):
            if subscript != tir.Index(name) or symbol.shape is None:
                continue
            missing = symbol.shape[dimension] - range_.extent
            if decide(missing - 1, self._scope.given):
                clause = self._names.ranges[name]
                message = (
                    f"`{name}` runs over {range_.extent} of the {symbol.shape[dimension]} "
                    f"elements of dimension {dimension} of `{read.tensor}`"
                )
                label = Label(read.span, f"`{name}` is a whole subscript here")
                notes = sizes_note(missing, self._scope.given)
                self._scope.report.add(
                    warning(
                        "W0301",
                        message,
                        clause.span,
                        "leaves some out",
                        secondary=(label,),
                        notes=notes,
                        help=(f"remove `{clause.span.text}` to run over all of them",),
                    )
                )
                return True
        return False


def _filled(name: str, empty: tir.Range) -> str:
    """How to write a range that has values."""
    low, high = empty.low, empty.high
    if empty.extent.is_constant and empty.extent.value < 0:
        return f"the lower bound comes first: `{name} in {high}:{low}`"
    return f"the upper bound is excluded: `{name} in {low}:{low + 1}` has one value"
