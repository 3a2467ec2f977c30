"""The smallest case of a violation, in the words of the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from tcc.affine import Affine
from tcc.diagnostics import Report
from tcc.sched import islx
from tcc.sched.scop import Access, Scop, ScopStatement
from tcc.source import Span


@dataclass(frozen=True)
class Witness:
    """Sizes, and one or more instances at them."""

    sizes: Mapping[str, int]
    point: tuple[int, ...]

    def at(self, shown: Iterable[str]) -> str:
        """`, at M = 1, N = 2` of the sizes to show; nothing for none."""
        known = [f"{s} = {self.sizes[s]}" for s in self.sizes if s in set(shown)]
        return f", at {', '.join(known)}" if known else ""


def allowed(scop: Scop, sizes: Mapping[str, int]) -> isl.Set:
    """The parameter values that the program may meet, { : }; `sizes` are fixed."""
    return scop.context.intersect(scop.parameters.fixed(sizes))


def smallest(scop: Scop, given: Mapping[str, int], cases: isl.Set) -> Witness | None:
    """The case with the smallest sizes; None when it hangs on a product of open sizes.

    isl takes such a product for a number of its own, so its cases may not be real.
    """
    first = len(scop.parameters.sizes)
    for position, product in enumerate(scop.parameters.products, start=first):
        open_ = not Affine(((product, 1),)).variables <= given.keys()
        if open_ and cases.involves_dims(isl.dim_type.param, position, 1):
            return None
    found = islx.smallest_point(cases.intersect_params(allowed(scop, given)))
    if found is None:
        return None
    names = [islx.spell(s) for s in scop.parameters.sizes]
    sizes = {s: found[0][n] for s, n in zip(scop.parameters.sizes, names, strict=True)}
    return Witness(sizes, found[1])


def iteration(statement: ScopStatement, point: Sequence[int]) -> str:
    """`iteration (0, 1)`; with names where there are reduction indices."""
    if not point:
        return "the statement"
    if statement.is_reduction:
        named = (f"{i} = {v}" for i, v in zip(statement.iterators, point, strict=True))
        return f"iteration ({', '.join(named)})"
    return f"iteration ({', '.join(map(str, point))})"


def element(tensor: str, subscripts: Sequence[object]) -> str:
    """`A(1, 0)` in backticks."""
    return f"`{tensor}({', '.join(map(str, subscripts))})`" if subscripts else f"`{tensor}`"


def relevant_sizes(statement: ScopStatement, *expressions: Affine) -> frozenset[str]:
    """The sizes that expressions over a statement's indices hang on, through ranges as well."""
    names: set[str] = set()
    pending = [v for e in expressions for v in e.variables]
    while pending:
        name = pending.pop()
        if name in names:
            continue
        names.add(name)
        if name in statement.source.ranges:
            found = statement.source.ranges[name]
            pending += [*found.low.variables, *found.high.variables]
    return frozenset(names)


def is_reported(report: Report, span: Span) -> bool:
    """Whether an error points at this place already: what follows may be its consequence."""
    return any(e.primary.span == span for e in report.errors)


def values_at(
    statement: ScopStatement, access: Access, witness: Witness, point: Sequence[int]
) -> tuple[int | None, ...]:
    """The subscripts of an access at an instance; None where they depend on data."""
    values = {**witness.sizes, **dict(zip(statement.iterators, point, strict=False))}
    return tuple(None if s is None else s.evaluate(values) for s in access.subscripts)
