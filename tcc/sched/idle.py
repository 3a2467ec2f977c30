"""Options that have no effect on this program, and why: a note instead of silence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.options import Options, resolved
from tcc.sched import tree
from tcc.sched.loop_form import factors_of
from tcc.sched.nest import Nest
from tcc.sched.plan import Plan, Staging
from tcc.sched.reuse import chains
from tcc.sched.scop import Scop


def idle_options(
    options: Options, sizes: Mapping[str, int], scop: Scop, schedule: tree.Node
) -> tuple[str, ...]:
    """A note for each given option of scheduling that changes nothing in a program's schedule."""
    return tuple(_idle(options, sizes, scop, schedule))


def idle_in_plan(nest: Nest, program: tir.Program, plan: Plan, options: Options) -> Iterator[str]:
    """A note for each given option of mapping that changes nothing in a program's plan."""
    mapping = options.mapping
    both = zip(nest.kernels, plan.kernels, strict=True)
    if mapping.tile_imperfectly_nested and not any(
        p.loops and chains(k, program)[1:] for k, p in both
    ):
        why = "no kernel has several reductions whose loops `tile` cuts"
        yield f"`tile_imperfectly_nested` has no effect: {why}"
    if mapping.match_library_calls and not any(p.row or p.sliced for p in plan.kernels):
        why = "there is no reduction that has a point of its tile for every thread of a block"
        yield f"`match_library_calls` has no effect: {why}"
    if any(Staging.SHARED in dict(p.staging).values() for p in plan.kernels):
        return
    if mapping.use_shared_memory:
        why = "no kernel reads anything that is worth a copy and fits"
        yield f"`use_shared_memory` has no effect: {why}"
    for name in ("shared_depth", "unroll_copy_shared"):
        if getattr(mapping, name) is not None:
            yield f"`{name}` has no effect: nothing is copied to shared memory"


def _idle(
    options: Options, sizes: Mapping[str, int], scop: Scop, schedule: tree.Node
) -> Iterator[str]:
    mapping = options.mapping
    found = list(_shared(scop, schedule))
    sums = {parallel for parallel, factors in found if len(factors) > 1}
    if mapping.outer_schedule_allow_skewing and True not in sums:
        yield _note("outer_schedule_allow_skewing", "no parallel loop over a sum of indices")
    if mapping.intra_tile_schedule_allow_skewing and False not in sums:
        yield _note("intra_tile_schedule_allow_skewing", "no inner loop over a sum of indices")
    backward = any(min(f) < 0 for parallel, f in found if not parallel and len(f) == 1)
    if mapping.intra_tile_schedule_positive_orthant is False and not backward:
        yield _note("intra_tile_schedule_positive_orthant", "no inner loop in opposite directions")
    if resolved(options).fix_parameters_before_scheduling and not sizes:
        yield "`fix_parameters_before_scheduling` has no effect: no size is given"


def _note(name: str, what: str) -> str:
    return f"`{name}` has no effect: statements of this program share {what}"


def _shared(scop: Scop, node: tree.Node) -> Iterator[tuple[bool, tuple[int, ...]]]:
    """Of each value in a band of several statements: is the loop parallel, the indices' factors."""
    match node:
        case tree.Leaf():
            return
        case tree.Sequence(children):
            for part in children:
                yield from _shared(scop, part.child)
        case tree.Band(members, _, child):
            for member in members if len(members[0].partial) > 1 else ():
                for statement, value in member.partial.items():
                    factors = _factors(scop, statement, value)
                    if factors:
                        yield member.coincident, factors
            yield from _shared(scop, child)


def _factors(scop: Scop, statement: str, value: Affine) -> tuple[int, ...]:
    iterators = set(scop.by_name[statement].iterators)
    fixed = value.without(value.variables & iterators)
    return factors_of(value - fixed) or ()
