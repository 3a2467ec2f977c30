"""Options of the original that are accepted and change nothing here, and why."""

from __future__ import annotations

from collections.abc import Mapping

from tcc.options import Options, resolved


def idle_options(options: Options, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """A note for each given option that has no effect."""
    given = resolved(options)
    reasons = {
        "tile_imperfectly_nested": "every statement is cut by the same tile sizes anyway",
        "outer_schedule_allow_skewing": "loops run over single indices",
        "intra_tile_schedule_allow_skewing": "loops run over single indices",
        "private_depth": "results stay in registers for the length of all reduction loops",
    }
    found = [f"`{n}` has no effect: {why}" for n, why in reasons.items() if getattr(given, n)]
    if given.fix_parameters_before_scheduling and not sizes:
        found.append("`fix_parameters_before_scheduling` has no effect: no size is given")
    return tuple(found)
