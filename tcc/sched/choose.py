"""From options to a Plan: what the user asked for, or the derived default."""

from __future__ import annotations

from tcc.frontend import tir
from tcc.options import PRESETS, MappingOptions, Options, resolved
from tcc.sched.derive import derive
from tcc.sched.nest import Nest
from tcc.sched.plan import Plan
from tcc.sched.tile import tile
from tcc.target import Target

NAIVE = PRESETS["naive"]


def choose_plan(nest: Nest, program: tir.Program, options: Options, target: Target) -> Plan:
    """The plan of a nest with all known sizes fixed.

    Without tile sizes, threads or blocks in the options or their preset the plan is derived;
    with some of them, the others are those of the `naive` preset.
    """
    chosen = resolved(options)
    if not _is_mapped(chosen):
        return derive(nest, program, target)
    return tile(
        nest,
        chosen.tile or NAIVE.tile or (),
        chosen.threads or NAIVE.threads or (),
        chosen.blocks or NAIVE.blocks or (),
    )


def _is_mapped(options: MappingOptions) -> bool:
    return any(o is not None for o in (options.tile, options.threads, options.blocks))
