"""The page of an explanation: one HTML file with pictures, which needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files

from markupsafe import Markup

from tcc.explain.code import code_beside
from tcc.explain.facts import Explanation, KernelFacts
from tcc.explain.markup import Child, element, figure, table
from tcc.explain.picture_bound import level_bars, occupancy_bars, roofline
from tcc.explain.picture_schedule import picture_schedule
from tcc.explain.picture_shared import pictures_of_shared
from tcc.explain.picture_space import picture_space, table_space
from tcc.explain.picture_tensor import pictures_of_tensors
from tcc.explain.quantity import digits, percent, si, time, times
from tcc.explain.space import space
from tcc.explain.staging import Choice
from tcc.sched.reuse import source_of
from tcc.sched.tree import Band, Node, Sequence

PINNED = 42
"""The thread that is outlined before the reader chooses one."""


def page(explanation: Explanation) -> str:
    """The HTML text; the same explanation gives the same text."""
    script, style = _resource("explain.js"), _resource("explain.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    title = f"{explanation.program.name}: what tcc made of it"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width"),
        element("title", title),
        element("style", Markup(style)),
    )
    body = element("body", *_body(explanation), element("script", Markup(script)))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _resource(name: str) -> str:
    return (files("tcc") / "templates" / name).read_text("utf-8")


def _body(explanation: Explanation) -> Iterator[Markup]:
    program, target = explanation.program, explanation.target
    yield element(
        "header",
        element("h1", program.name, element("small", f" on {target.name}, {target.board}")),
        element("pre", "\n".join(s.text for s in program.statements), class_="statements"),
        element("p", *_sizes(explanation)),
        element("p", _MARK, " is what a model says of a GPU; nothing on this page was measured."),
    )
    for number, facts in enumerate(explanation.kernels):
        yield _kernel(facts, explanation, number)
    yield element(
        "section",
        element("h2", "The schedule"),
        element(
            "p",
            "Loops that the scheduler found, outermost first. ",
            element("span", "parallel", class_="parallel"),
            " ones carry no dependence, ",
            element("span", "sequential", class_="sequential"),
            " ones do.",
        ),
        picture_schedule(explanation.lowering.schedule, _leaves(explanation)),
    )
    yield element(
        "section",
        element("h2", "The code, beside the statement it came from"),
        element("p", "Point at a statement or at a line of code."),
        code_beside(explanation),
        class_="listing",
    )


_MARK = element("b", "predicted", class_="predicted")


def _sizes(explanation: Explanation) -> Iterator[Child]:
    given = {n: v for n, v in explanation.sizes.items() if n not in explanation.assumed}
    if given:
        yield ", ".join(f"{n} = {v}" for n, v in given.items())
        yield ". "
    if explanation.assumed:
        names = ", ".join(explanation.assumed)
        yield f"{names} stay open; the pictures take {next(iter(explanation.assumed.values()))}."


def _kernel(facts: KernelFacts, explanation: Explanation, number: int) -> Markup:
    sizes, program = explanation.sizes, explanation.program
    cut = space(facts.nest, facts.plan, program, sizes)
    pinned = cut.busy(min(PINNED, facts.threads - 1))
    parts = (
        element("h2", facts.nest.name),
        element("div", *_cards(facts, explanation), class_="cards"),
        _part(
            "cut",
            "The iteration space, cut",
            element("figure", picture_space(cut, pinned), table_space(cut), class_="wide"),
        ),
        _part(
            "tensors",
            "Which thread loads and computes what",
            element("p", *_reading(facts, pinned)),
            element("div", pictures_of_tensors(facts, program, sizes), class_="figures"),
        ),
        _shared(facts),
        _part(
            "bound",
            "What bounds the time",
            element("div", *_bounds(facts, explanation), class_="figures"),
        ),
        _part("staging", "Reuse in a k-tile, and what each way to stage costs", *_staging(facts)),
    )
    block = ",".join(map(str, facts.kernel.block))
    return element(
        "section", *parts, class_="kernel", data_block=block, data_pin=pinned, id=f"kernel{number}"
    )


def _part(name: str, title: str, *children: Child) -> Markup:
    """A part of a section, under its title; nothing where there is nothing to show."""
    return element("div", element("h3", title), *children, class_=name) if children else Markup("")


def _cards(facts: KernelFacts, explanation: Explanation) -> Iterator[Markup]:
    target, found = explanation.target, facts.prediction
    yield _card("grid", times(facts.grid), "blocks")
    yield _card("block", times(facts.kernel.block), "threads")
    yield _card("shared memory", si(facts.kernel.shared_bytes, "B"), "a block")
    yield _card("registers", str(found.registers), "a thread", guess=True)
    share = percent(found.resident_warps * target.warp_size / target.max_threads_per_sm)
    yield _card("occupancy", share, f"{found.resident_warps} warps an SM", guess=True)
    yield _card("time", time(found.time_us), f"most in {found.bound}", guess=True)
    yield _card("least time", time(facts.roof.time_us), f"by {facts.roof.limit}", guess=True)


def _card(name: str, value: str, unit: str, *, guess: bool = False) -> Markup:
    mark = element("b", "predicted", class_="predicted") if guess else ""
    return element(
        "div", element("small", name), element("strong", value), element("span", unit), mark
    )


def _reading(facts: KernelFacts, pinned: int) -> Iterator[Child]:
    yield "One block of the emitted kernel, its addresses run thread by thread"
    cuts = [f"{c.shown} of {c.total} iterations of {c.loop}" for c in facts.trace.cuts.values()]
    yield f" ({', '.join(cuts)}). " if cuts else ". "
    yield "A colour is a thread, a hue a warp. Point at an element; click to keep a thread: "
    yield element("output", f"thread {pinned}", class_="readout")
    if facts.trace.unknown:
        names = ", ".join(facts.names.get(n, n) for n in sorted(facts.trace.unknown))
        yield f". Where {names} is read depends on data, so it is not drawn."


def _shared(facts: KernelFacts) -> Markup:
    pictures = pictures_of_shared(facts)
    shown = [element("div", pictures, class_="figures")] if pictures else []
    return _part("shared", "Shared memory and its banks", *shown)


def _bounds(facts: KernelFacts, explanation: Explanation) -> Iterator[Markup]:
    work = facts.work
    counted = (
        f"{si(work.operations, 'FLOP')} and {si(work.bytes, 'B')} of tensors: "
        f"{digits(work.intensity)} FLOP/B. Data sheet rates of {explanation.target.board}."
    )
    yield figure(roofline(facts, explanation), "Roofline (predicted)", counted)
    found = facts.prediction
    caption = f"{time(found.exposed_us)} are not hidden: waits, and parts that are busy in turns."
    yield figure(level_bars(facts), "Where the time goes (predicted)", caption)
    caption = f"The limit is {facts.limits[0].resource}. {digits(found.waves)} waves of blocks."
    yield figure(occupancy_bars(facts), "What fills an SM (predicted registers)", caption)


def _staging(facts: KernelFacts) -> Iterator[Markup]:
    if not facts.reuse:
        return
    rows = (
        (
            element("code", f"{r.tensor}({r.subscripts})"),
            str(r.block),
            str(r.thread),
            str(r.sharing),
            digits(r.inside),
            facts.plan.stage(r.tensor).value,
        )
        for r in facts.reuse
    )
    head = ("operand", "a block", "a thread", "threads share one", "points use one", "staged in")
    yield table(head, rows, "numbers")
    every = [(tensor, c) for tensor, choices in facts.choices.items() for c in choices]
    slowest = max(c.outcome.prediction.time_us for _, c in every if not isinstance(c.outcome, str))
    costs = ("others as planned", "predicted", "", "registers", "shared memory", "barriers", "")
    cells = ((f"{tensor}: {c.staging.value}", *_choice(c, slowest)) for tensor, c in every)
    yield table(costs, cells, "numbers choices")


def _choice(choice: Choice, slowest: float) -> tuple[Child, ...]:
    if isinstance(choice.outcome, str):
        return "refused", "", "", "", "", choice.outcome
    kernel, prediction = choice.outcome.kernel, choice.outcome.prediction
    width = 100 * prediction.time_us / slowest
    return (
        time(prediction.time_us),
        element("span", class_="meter", style=f"width:{width:.1f}px"),
        str(prediction.registers),
        f"{kernel.shared_bytes} bytes",
        f"{choice.barriers} a k-tile",
        element("b", "chosen") if choice.chosen else "",
    )


def _leaves(explanation: Explanation) -> dict[str, str]:
    """What the leaf of every statement says."""
    names = _names(explanation.lowering.schedule)
    return {name: _leaf(name, explanation) for name in names}


def _leaf(name: str, explanation: Explanation) -> str:
    statement = source_of(name, explanation.program)
    if name.endswith("_init"):
        return f"start {statement.target}({', '.join(statement.indices)})"
    return statement.text


def _names(node: Node) -> tuple[str, ...]:
    """The statements of a tree, in order."""
    if isinstance(node, Band):
        below = _names(node.child)
        return below or tuple(node.members[0].partial)
    if isinstance(node, Sequence):
        return tuple(s for c in node.children for s in c.statements)
    return ()
