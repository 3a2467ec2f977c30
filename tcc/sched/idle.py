"""Options of the original that are accepted and change nothing here, and why."""

from __future__ import annotations

from collections.abc import Mapping

from tcc.options import Options, resolved

REASONS: Mapping[str, str] = {
    "tile_imperfectly_nested": "every statement is cut by the same tile sizes anyway",
    "outer_schedule_allow_skewing": "loops run over single indices",
    "intra_tile_schedule_allow_skewing": "loops run over single indices",
    "intra_tile_schedule_positive_orthant": "loops inside a tile run forward anyway",
    "private_depth": "results stay in registers for the length of all reduction loops",
}
"""The options, and what is done instead; no preset asks for anything else."""


def idle_options(options: Options, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """A note for each given option that has no effect."""
    mapping = options.mapping
    given = {
        "tile_imperfectly_nested": mapping.tile_imperfectly_nested or None,
        "outer_schedule_allow_skewing": mapping.outer_schedule_allow_skewing or None,
        "intra_tile_schedule_allow_skewing": mapping.intra_tile_schedule_allow_skewing or None,
        "intra_tile_schedule_positive_orthant": mapping.intra_tile_schedule_positive_orthant,
        "private_depth": mapping.private_depth,
    }
    found = [f"`{n}` has no effect: {REASONS[n]}" for n, v in given.items() if v is not None]
    if resolved(options).fix_parameters_before_scheduling and not sizes:
        found.append("`fix_parameters_before_scheduling` has no effect: no size is given")
    return tuple(found)
