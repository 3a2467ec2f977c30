"""Loops cut where a guard inside begins or ceases to hold.

A walk looks at one iteration of a loop, which stands for all. Uncut, a tile with more points than
the problem would cost nothing where its middle lies outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tcc.affine import Affine, const
from tcc.kernel import ir
from tcc.tune.footprint import LoopRange
from tcc.tune.lanes import Mask, Values, evaluate, spread

Run = tuple[int, int]


def pieces(
    loop: ir.For,
    around: LoopRange,
    form: Callable[[Affine], Affine],
    values: Values,
    mask: Mask,
) -> tuple[LoopRange, ...]:
    """The loop as ranges in each of which the same guards hold for some lane.

    `around` is the whole loop. `form` puts in what variables outside stand for, `values` has the
    values of all others; `mask` tells which lanes are there. Loops whose bounds are no numbers
    stay whole.
    """
    if not (around.low.is_constant and around.high.is_constant) or around.first == around.last:
        return (around,)
    starts = {0}
    for conditions in _guards(loop.body, {}):
        runs = [_run(form(c), around, values, mask) for c in conditions]
        starts |= {max(low for low, _ in runs), 1 + min(high for _, high in runs)}
    count = (around.last - around.first) // around.step + 1
    inside = sorted(s for s in starts if 0 <= s < count)
    return tuple(_piece(around, *run) for run in zip(inside, [*inside[1:], count], strict=True))


def _guards(
    body: Sequence[ir.Statement], known: Mapping[str, Affine]
) -> Iterator[Sequence[Affine]]:
    """The affine conditions of every branch, in terms of variables outside.

    Those of inner loops have their first values: inner loops are cut themselves.
    """
    inner = dict(known)
    for statement in body:
        match statement:
            case ir.Let(var, value) if isinstance(value, Affine):
                inner[var] = value.substitute(inner)
            case ir.For(var, low, _, _, _, nested):
                yield from _guards(nested, {**inner, var: low.substitute(inner)})
            case ir.If(conditions, then, otherwise):
                affine = [c.substitute(inner) for c in conditions if isinstance(c, Affine)]
                yield from [affine] if affine else []
                yield from _guards((*then, *otherwise), inner)
            case _:
                pass


def _run(condition: Affine, around: LoopRange, values: Values, mask: Mask) -> Run:
    """The first and the last iteration in which some lane has the condition."""
    whole = 0, (around.last - around.first) // around.step
    factor, rest = condition.coefficient(around.var), condition.without([around.var])
    if not factor or around.var in rest.variables or not rest.variables <= values.keys():
        return whole
    here = spread(evaluate(rest + around.first * factor, values), mask)[mask]
    step = factor * around.step
    if step > 0:
        return max(0, -(int(here.max()) // step)), whole[1]
    return 0, int(here.max()) // -step


def _piece(around: LoopRange, start: int, end: int) -> LoopRange:
    first = around.first + start * around.step
    last = around.first + (end - 1) * around.step
    return replace(
        around, low=const(first), high=const(last + 1), first=first, last=last, trips=end - start
    )
