"""The result of a search as an options file that `tcc compile --options` takes."""

from __future__ import annotations

from tcc.driver import Request
from tcc.options import VerifyOptions, given, spell
from tcc.tune.progress import best_words
from tcc.tune.tuner import Tried, Tuning


def best_text(tuning: Tuning, best: Tried) -> str:
    """The options of a candidate, for the def, sizes and target that it was found for."""
    request = tuning.request
    words = best_words(best, tuning.default, predicted=tuning.means.predicted)
    lines = [f"# Found by `tcc tune`: {words}", *_head(request)]
    return "\n".join(lines) + "\n" + best.text + _verify(request.options.verify)


def _head(request: Request) -> list[str]:
    entry = [] if request.entry is None else [f"entry: {request.entry}"]
    sizes = [f"sizes: {spell(dict(request.sizes))}"] if request.sizes else []
    return [*entry, f"target: {request.target.name}", *sizes]


def _verify(options: VerifyOptions) -> str:
    lines = [f"  {name}: {spell(value)}\n" for name, value in given(options).items()]
    return "".join(["verify:\n", *lines]) if lines else ""
