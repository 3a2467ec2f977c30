"""What a loop that statements share may run over: the options on skewing and the orthant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tcc.affine import Affine, Var
from tcc.options import MappingOptions


@dataclass(frozen=True)
class LoopForm:
    """The values that shared loops may have; a loop of one statement alone is over an index.

    `skewed` allows sums and differences of indices, `forward` no index with a negative sign.
    """

    skewed: bool = False
    forward: bool = False

    def allows(self, factors: Sequence[int]) -> bool:
        """Whether a loop may run over the sum of indices with these factors, none of them zero.

        Multiples are never allowed: a loop over `2 * i` would run idle every other time.
        """
        single = all(abs(f) == 1 for f in factors)
        ahead = all(f > 0 for f in factors) or not self.forward
        return single and ahead and (len(factors) <= 1 or self.skewed)


@dataclass(frozen=True)
class LoopForms:
    """The loops that may run in parallel, and those inside of them."""

    outer: LoopForm = LoopForm()
    inner: LoopForm = LoopForm(forward=True)


PLAIN = LoopForms()


def loop_forms(options: MappingOptions) -> LoopForms:
    """What the options allow; inside of parallel loops, loops run forward unless they say so."""
    return LoopForms(
        LoopForm(
            bool(options.outer_schedule_allow_skewing),
            bool(options.outer_schedule_positive_orthant),
        ),
        LoopForm(
            bool(options.intra_tile_schedule_allow_skewing),
            options.intra_tile_schedule_positive_orthant is not False,
        ),
    )


def factors_of(moving: Affine) -> tuple[int, ...] | None:
    """The factors of a sum of indices; None where there is a quotient, minimum or maximum."""
    if not all(isinstance(atom, Var) for atom, _ in moving.terms):
        return None
    return tuple(factor for _, factor in moving.terms)
