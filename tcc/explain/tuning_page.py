"""The page of a tuning: its course, its result, and the best plan beside the default."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files

from markupsafe import Markup

from tcc.driver import Compilation, compile_program
from tcc.errors import InternalError
from tcc.explain.markup import Child, element, figure, table
from tcc.explain.picture_space import picture_space, table_space
from tcc.explain.quantity import time
from tcc.explain.space import space
from tcc.explain.tuning_charts import curve, distribution
from tcc.inputs import options_of_source
from tcc.sched.model import TYPICAL_SIZE
from tcc.source import Source
from tcc.tune.progress import clock
from tcc.tune.record import State
from tcc.tune.summary import failures, size_words
from tcc.tune.tuner import Tried, Tuning

_STYLE = """
body { max-width: 1900px; }
.pair { display: flex; flex-wrap: wrap; gap: 18px; align-items: flex-start; }
.pair > div { flex: 1 1 560px; min-width: 0; }
.pair h4 { font-size: 16px; }
"""


def tuning_page(tunings: Sequence[tuple[str, Tuning]]) -> str:
    """The HTML text for one or more programs, each under a title; it needs nothing else."""
    style = (files("tcc") / "templates" / "explain.css").read_text("utf-8") + _STYLE
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width"),
        element("title", f"tcc tune: {', '.join(name for name, _ in tunings)}"),
        element("style", Markup(style)),
    )
    body = element("body", *(_program(name, tuning) for name, tuning in tunings))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _program(title: str, tuning: Tuning) -> Markup:
    target = tuning.request.target
    return element(
        "section",
        element("h1", title, element("small", f" on {target.name}, {tuning.means.device}")),
        element("p", *_words(tuning)),
        element("div", *_cards(tuning), class_="cards"),
        element("h2", "The search"),
        element("div", *_charts(tuning), class_="figures"),
        element("div", *_tables(tuning), class_="figures"),
        *_plans(tuning),
    )


def _mark(tuning: Tuning) -> Markup:
    """What stands beside a time that nobody measured."""
    if not tuning.means.predicted:
        return Markup("")
    return element("b", "predicted", class_="predicted")


def _words(tuning: Tuning) -> Iterator[Child]:
    sizes = tuning.request.sizes
    if sizes:
        yield ", ".join(f"{n} = {v}" for n, v in sizes.items())
        yield ". "
    if tuning.means.predicted:
        yield _mark(tuning)
        yield " is what a model says of a GPU; nothing on this page was measured. "
    yield "What counts as best computes what the reference kernel does on random inputs."


def _cards(tuning: Tuning) -> Iterator[Markup]:
    best, default = tuning.best, tuning.default
    for name, one in (("best", best), ("default", default)):
        if one is not None and one.time_us is not None:
            yield _card(name, time(one.time_us), one.origin, _mark(tuning))
    if best and default and best.time_us and default.time_us:
        yield _card("ratio", f"{default.time_us / best.time_us:.2f}", "times as fast", "")
    found = Counter(t.evaluation.state for t in tuning.tried)
    yield _card("tried", str(len(tuning.tried)), f"of {size_words(tuning.space_size)}", "")
    yield _card("verified", str(found[State.DONE]), "candidates", "")
    yield _card("took", clock(tuning.seconds), "interrupted" if tuning.interrupted else "", "")


def _card(name: str, value: str, unit: str, mark: Child) -> Markup:
    return element(
        "div", element("small", name), element("strong", value), element("span", unit), mark
    )


def _charts(tuning: Tuning) -> Iterator[Markup]:
    kind = "Predicted times" if tuning.means.predicted else "Times"
    caption = "Blue: verified. Grey: pruned, too slow to be worth it. Green: the best so far."
    yield figure(curve(tuning), f"{kind} in the order in which candidates came back", caption)
    yield figure(distribution(tuning), f"{kind}, how often", "Blue: verified. Grey: pruned.")


def _tables(tuning: Tuning) -> Iterator[Markup]:
    states = Counter(t.evaluation.state for t in tuning.tried)
    rows = [(state.value, str(states[state])) for state in State if states[state]]
    why = [element("li", text) for text in failures(tuning)]
    reasons = element("ul", *why) if why else Markup("")
    yield element("div", element("h4", "How candidates ended"), table(("", ""), rows), reasons)
    yield element("div", element("h4", "Where they came from"), _origins(tuning))


def _origins(tuning: Tuning) -> Markup:
    found: dict[str, list[Tried]] = {}
    for one in sorted(tuning.tried, key=lambda t: t.number):
        found.setdefault(one.origin, []).append(one)
    rows = []
    for origin, ones in found.items():
        times = [t.time_us for t in ones if t.time_us is not None]
        rows.append((origin, str(len(ones)), time(min(times)) if times else ""))
    return table(("", "tried", "best"), rows, "numbers")


def _plans(tuning: Tuning) -> Iterator[Markup]:
    if tuning.best is None:
        return
    sides = [("The best plan", tuning.best)]
    if tuning.default is not None and tuning.default is not tuning.best:
        sides.append(("The default plan", tuning.default))
    yield element("h2", "The best plan beside the default")
    yield element("div", *(_side(name, one, tuning) for name, one in sides), class_="pair")


def _side(title: str, one: Tried, tuning: Tuning) -> Markup:
    found = _compiled(one, tuning)
    if found.lowering is None or found.plan is None:
        raise InternalError("the compilation stopped before it was complete")
    lowering = found.lowering
    sizes = {**dict.fromkeys(lowering.program.sizes, TYPICAL_SIZE), **tuning.request.sizes}
    shown = []
    for nest, plan in zip(lowering.nest.kernels, found.plan.kernels, strict=True):
        cut = space(nest, plan, lowering.program, sizes)
        drawn = element("figure", picture_space(cut, cut.busy(0)), table_space(cut), class_="wide")
        shown += [element("h4", nest.name), drawn]
    words = "" if one.time_us is None else f": {time(one.time_us)} "
    heading = element("h3", f"{title}{words}", _mark(tuning))
    return element("div", heading, *shown, element("pre", one.text, class_="statements"))


def _compiled(one: Tried, tuning: Tuning) -> Compilation:
    mapping = options_of_source(Source("<candidate>", one.text)).mapping
    options = replace(tuning.request.options, preset=None, mapping=mapping)
    return compile_program(replace(tuning.request, options=options))
