"""What a person sees while a search runs: a live line on a terminal, plain lines elsewhere.

Everything goes to the error stream. Times that nobody measured are called predicted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tcc.tune.record import State
from tcc.tune.tuner import Tried

PLAIN_EVERY_S = 10.0
"""Between two plain lines, unless a better candidate is found."""
Say = Callable[[str], None]


class Progress:
    """Counts what comes back and words it. `end` is a time of `time.monotonic`, or infinite."""

    def __init__(self, title: str, end: float, most: int | None, *, predicted: bool) -> None:
        self._title = title
        self._end = end
        self._most = most
        self._predicted = predicted
        self._counts: Counter[State] = Counter()
        self._default: Tried | None = None
        self._best: Tried | None = None

    def count(self, one: Tried, best: Tried | None) -> bool:
        """Take a candidate into account; whether it is better than all before it."""
        better = best is not None and best is not self._best
        self._counts[one.evaluation.state] += 1
        self._default = one if one.origin == "default" else self._default
        self._best = best
        return better

    def line(self) -> str:
        """Where the search is, in one line."""
        return ", ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        left = max(0.0, self._end - time.monotonic())
        total = sum(self._counts.values())
        until = "" if left == float("inf") else f"{clock(left)} left, "
        of = "" if self._most is None else f" of {self._most}"
        yield f"{self._title}: {until}{total}{of} tried"
        yield from counts(self._counts)
        if self._best is not None:
            yield best_words(self._best, self._default, predicted=self._predicted)


class Plain:
    """Lines of text: one for each better candidate, and one from time to time."""

    def __init__(self, progress: Progress, say: Say) -> None:
        self._progress = progress
        self._say = say
        self._last = time.monotonic()

    def tried(self, one: Tried, best: Tried | None) -> None:
        """A candidate came back."""
        if self._progress.count(one, best):
            self._tell()

    def tick(self) -> None:
        """Some time passed."""
        if time.monotonic() - self._last > PLAIN_EVERY_S:
            self._tell()

    def _tell(self) -> None:
        self._last = time.monotonic()
        self._say(self._progress.line())


class _Live:
    """One line that is drawn anew."""

    def __init__(self, progress: Progress, draw: Say) -> None:
        self._progress = progress
        self._draw = draw

    def tried(self, one: Tried, best: Tried | None) -> None:
        """A candidate came back."""
        self._progress.count(one, best)
        self._draw(self._progress.line())

    def tick(self) -> None:
        """Some time passed."""
        self._draw(self._progress.line())


@contextmanager
def live(progress: Progress) -> Iterator[_Live]:
    """A line at the bottom of the terminal, as long as the block runs."""
    from rich.console import Console  # noqa: PLC0415  (only where there is a terminal)
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True, highlight=False)
    with Live(Text(progress.line()), console=console, auto_refresh=False, transient=True) as shown:
        yield _Live(progress, lambda line: shown.update(Text(line), refresh=True))


def best_words(best: Tried, default: Tried | None, *, predicted: bool) -> str:
    """The best time, and its ratio to that of the default plan."""
    kind = "predicted " if predicted else ""
    words = f"best {kind}{microseconds(best.time_us)}"
    if default is None or default.time_us is None or not best.time_us:
        return words
    return f"{words}, {default.time_us / best.time_us:.2f} times as fast as the default"


def counts(found: Counter[State]) -> Iterator[str]:
    """How many candidates ended in which way."""
    for state in State:
        if found[state]:
            yield f"{found[state]} {_WORDS[state]}"


_WORDS = {
    State.DONE: "verified",
    State.REJECTED: "rejected",
    State.WRONG: "wrong",
    State.CRASHED: "crashed",
    State.TIMED_OUT: "timed out",
    State.PRUNED: "pruned",
}


def microseconds(time_us: float | None) -> str:
    """A time with three digits: `3.21 us`, `1.05 ms`."""
    if time_us is None:
        return "none"
    value, unit = (time_us, "us") if time_us < 1000 else (time_us / 1000, "ms")  # noqa: PLR2004
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"  # noqa: PLR2004


def clock(seconds: float) -> str:
    """Minutes and seconds: `1:05`; hours before them where there are any."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
