"""From options to a Plan: what the user asked for, and a default for what is left open."""

from __future__ import annotations

from tcc.options import PRESETS, Options, resolved
from tcc.sched.nest import Nest
from tcc.sched.plan import Plan
from tcc.sched.tile import tile
from tcc.target import Target

DEFAULT = PRESETS["naive"]


def choose_plan(nest: Nest, options: Options, target: Target) -> Plan:
    """The plan of a nest with all known sizes fixed.

    Tile sizes, threads and blocks that neither the options nor their preset give are those of
    the `naive` preset.
    """
    chosen = resolved(options)
    return tile(
        nest,
        chosen.tile or DEFAULT.tile or (),
        chosen.threads or DEFAULT.threads or (),
        chosen.blocks or DEFAULT.blocks or (),
    )
