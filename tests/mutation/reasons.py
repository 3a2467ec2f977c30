"""What runs can show about a mutant that was not found."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """Why a mutant changes nothing."""

    SAME = "the compiler makes the same machine code of it"
    UNREACHED = "no thread comes to the change at any of the sizes"
    PADDED = "the array keeps its bytes, which are rounded up to its alignment"
    ORDERED = (
        "a barrier or wait: every loop around it takes a second turn, "
        "and no two accesses of any thread conflict"
    )
    INDEPENDENT = "neither of the swapped statements stores what the other one uses"
    REORDERED = "the same terms are joined in another order"
    UNUSED = "poison in place of what it changes is not seen in any result, or it changes no value"
    TIMES_ZERO = "what it changes is multiplied by 0: large numbers there are not seen, NaN is"
