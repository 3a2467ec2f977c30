"""Numbers for people: three digits and a unit."""

from __future__ import annotations

from collections.abc import Sequence

_THOUSAND = 1000
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def si(value: float, unit: str) -> str:
    """`12.6 MB` of 12582912: a value of at least 1 with a decimal prefix."""
    for factor, prefix in _LARGE:
        if value >= factor:
            return f"{digits(value / factor)} {prefix}{unit}"
    return f"{digits(value)} {unit}"


def digits(value: float) -> str:
    """Three significant digits, and all of a larger integer part."""
    if value == 0:
        return "0"
    return f"{value:.3g}" if abs(value) < _THOUSAND else f"{value:.0f}"


def time(microseconds: float) -> str:
    """A time in the unit that suits it."""
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= factor:
            return f"{digits(microseconds / factor)} {unit}"
    return f"{digits(microseconds)} us"


def percent(share: float) -> str:
    """`87 %` of 0.87."""
    return f"{100 * share:.0f} %"


def times(extents: Sequence[int]) -> str:
    """`16 x 8 = 128` of (16, 8, 1); extents of 1 are left out."""
    moving = [n for n in extents if n > 1]
    total = 1
    for n in moving:
        total *= n
    product = " x ".join(map(str, moving))
    return f"{product} = {total}" if len(moving) > 1 else str(total)


def count(number: int, noun: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
