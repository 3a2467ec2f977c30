"""What a search came to, in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tcc.tune.progress import best_words, clock, counts, microseconds
from tcc.tune.record import State
from tcc.tune.tuner import Tuning

REASONS = 3
"""Ways to fail that are told, the most frequent ones."""
_TOLD = (State.REJECTED, State.WRONG, State.CRASHED, State.TIMED_OUT)


def summary(title: str, tuning: Tuning) -> Iterator[str]:
    """Lines without line ends."""
    found = Counter(t.evaluation.state for t in tuning.tried)
    total = len(tuning.tried)
    ended = ", interrupted" if tuning.interrupted else ""
    yield f"{title}: {total} of {size_words(tuning.space_size)} candidates in " + ", ".join(
        [clock(tuning.seconds) + ended, *counts(found)]
    )
    yield from (f"  {line}" for line in failures(tuning))
    if tuning.best is None:
        yield "  no candidate could be verified" if total else "  none was tried"
        return
    predicted = tuning.means.predicted
    words = best_words(tuning.best, tuning.default, predicted=predicted)
    yield f"  {words} ({tuning.best.origin})"
    if tuning.default is not None and tuning.default.time_us is not None:
        kind = "predicted " if predicted else ""
        yield f"  default {kind}{microseconds(tuning.default.time_us)}"


def failures(tuning: Tuning) -> Iterator[str]:
    """The most frequent reasons of failure, each with its number."""
    found = Counter(
        f"{t.evaluation.state.value}: {t.evaluation.reason}"
        for t in tuning.tried
        if t.evaluation.state in _TOLD
    )
    for reason, count in found.most_common(REASONS):
        yield f"{count} {reason}"


def size_words(size: int) -> str:
    """The size of a space: exact where it is small."""
    return str(size) if size < 10**6 else f"{size:.1e}"
