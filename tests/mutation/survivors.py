"""Why a mutant may survive: rules for changes that change nothing that can be seen.

A rule is for an operator and the changed line; docs/verification.md tells them in words. What no
rule covers has to be found.
"""

from __future__ import annotations

import re

from tests.mutation.mutants import Mutant

_REGISTERS = re.compile(
    r"^(?:\*reinterpret_cast<\w+\*>\(&)?(?:next_|shared_|[a-z][a-z0-9]*_+\[|[a-z]+_+ )"
)


def reason(mutant: Mutant) -> str | None:
    """Why this change may stay unseen; None when it may not."""
    match mutant.operator:
        case "change_grid" if mutant.after.count("+ 1") > mutant.before.count("+ 1"):
            return "the blocks that are too many find their guards false"
        case "swap_statements":
            return "the statements do not depend on each other"
        case "drop_barrier" | "move_barrier":
            return "another barrier, or a loop that runs once, orders the same accesses"
        case "drop_guard" | "shift_guard" | "drop_choice":
            return "what the guard keeps out is read within the buffer and not used"
        case "shift_bound":
            return "the additional iterations do nothing, or the lost ones repeat others"
        case "shrink_array":
            return "the last elements are padding"
        case "change_stride":
            return "the factor belongs to an index that is always 0, or to a quotient that stays"
        case "shift_index" | "drop_statement" if _REGISTERS.match(mutant.before):
            return "a padded element: the other factor of its product is 0"
        case _:
            return _by_value(mutant)


def _by_value(mutant: Mutant) -> str | None:
    line = mutant.before
    if "Top" in line:
        return "the result does not depend on the number that the exponents are shifted by"
    if re.match(r"(private_\w+) = \1 \+ \1_;", line) or "_ = warps_" in line:
        return "the first partial result is added to the identity, or is the thread's own"
    return None
