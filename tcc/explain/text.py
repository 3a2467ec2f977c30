"""The terminal view of an explanation: plain text, a section for each question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import dedent

from tcc.explain.facts import Explanation, KernelFacts
from tcc.explain.quantity import count, digits, percent, si, time, times
from tcc.explain.staging import Choice
from tcc.explain.touched import GATHERED, Touched
from tcc.explain.trace import Kind
from tcc.explain.what_if import Outcome
from tcc.sched import tree
from tcc.sched.plan import KernelPlan
from tcc.target import Target


def text(explanation: Explanation) -> str:
    """Everything, as lines of at most about 100 columns."""
    lines = [*_head(explanation), "", "schedule", ""]
    lines += _indented(tree.text(explanation.lowering.schedule).splitlines())
    for kernel in explanation.kernels:
        lines += ["", *_kernel(kernel, explanation.target)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(explanation: Explanation) -> Iterator[str]:
    target, program = explanation.target, explanation.program
    yield f"{program.name} for {target.name} ({target.board})"
    for names, what in ((explanation.sizes, ""), (explanation.assumed, ", which are open")):
        chosen = [n for n in names if what or n not in explanation.assumed]
        if chosen:
            yield f"  {', '.join(f'{n} = {explanation.sizes[n]}' for n in chosen)}{what}"
    yield ""
    yield from (f"  {statement.text}" for statement in program.statements)


def _kernel(facts: KernelFacts, target: Target) -> Iterator[str]:
    grid, block = times(facts.grid), times(facts.kernel.block)
    yield f"kernel {facts.nest.name}: blocks {grid}, threads of a block {block}"
    sections = (
        ("plan", dedent("\n".join(facts.plan.text().splitlines()[1:])).splitlines()),
        (f"what a block touches{_cut(facts)}", _table(_TOUCHED, map(_touched, facts.touched))),
        ("reuse in a k-tile", list(_reuse(facts))),
        ("staging: what each choice costs, the others as planned", list(_staging(facts))),
        ("occupancy", list(_occupancy(facts, target))),
        ("bound", list(_bound(facts))),
        ("other plans that were near", [_other(*pair) for pair in facts.others]),
    )
    for title, lines in sections:
        if lines:
            yield from ("", f"  {title}", *_indented(lines, 4))


def _indented(lines: Sequence[str], by: int = 2) -> Iterator[str]:
    return (" " * by + line for line in lines)


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> list[str]:
    """Aligned columns, the first to the left and the others to the right; none without rows."""
    lines = [head, *rows]
    if len(lines) == 1:
        return []
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    last = len(head) - 1
    return [
        "  ".join(
            cell.ljust(w) if k in (0, last) else cell.rjust(w)
            for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]


_TOUCHED = ("tensor", "elements", "moved", "a thread", "threads", "sectors", "how")


def _cut(facts: KernelFacts) -> str:
    cuts = [f"{c.shown} of {c.total} iterations of {c.loop}" for c in facts.trace.cuts.values()]
    return f" ({', '.join(cuts)})" if cuts else ""


def _touched(row: Touched) -> tuple[str, ...]:
    if row.through == GATHERED:
        return row.tensor, "", "", "", "", "", GATHERED
    width = f", {row.width} at a time" if row.width > 1 else ""
    return (
        row.tensor,
        str(row.elements),
        str(row.moved),
        digits(row.used),
        "" if row.kind is Kind.STORE else digits(row.sharing),
        percent(row.efficiency),
        f"{row.through}{width}",
    )


def _reuse(facts: KernelFacts) -> list[str]:
    head = ("operand", "a block", "a thread", "threads share one", "points use one", "")
    rows = (
        (
            f"{r.tensor}({r.subscripts})",
            str(r.block),
            str(r.thread),
            str(r.sharing),
            digits(r.inside),
            f"-> {facts.plan.stage(r.tensor).value}",
        )
        for r in facts.reuse
    )
    return _table(head, rows)


def _staging(facts: KernelFacts) -> list[str]:
    head = ("", "predicted", "registers", "shared memory", "barriers", "")
    rows = (
        (f"{tensor}: {choice.staging.value}", *_choice(choice))
        for tensor, choices in facts.choices.items()
        for choice in choices
    )
    return _table(head, rows)


def _choice(choice: Choice) -> tuple[str, ...]:
    if isinstance(choice.outcome, str):
        return "refused", "", "", "", choice.outcome
    kernel, prediction = choice.outcome.kernel, choice.outcome.prediction
    return (
        time(prediction.time_us),
        str(prediction.registers),
        f"{kernel.shared_bytes} bytes",
        f"{choice.barriers} per k-tile",
        "<- chosen" if choice.chosen else "",
    )


def _occupancy(facts: KernelFacts, target: Target) -> Iterator[str]:
    found, first = facts.prediction, facts.limits[0]
    most = target.max_threads_per_sm // target.warp_size
    share = percent(found.resident_warps / most)
    yield f"predicted {found.registers} registers a thread"
    yield (
        f"{count(found.resident_blocks, 'block')} and {found.resident_warps} of {most} warps "
        f"({share}) on an SM, {digits(found.waves)} waves of blocks"
    )
    used = first.per_block * found.resident_blocks
    yield f"the limit is {first.resource}: {used} of {first.total} in use"


def _bound(facts: KernelFacts) -> Iterator[str]:
    work, roof, predicted = facts.work, facts.roof, facts.prediction
    yield (
        f"{si(work.operations, 'FLOP')}, {si(work.bytes, 'B')} of tensors: "
        f"{digits(work.intensity)} FLOP/B"
    )
    yield f"predicted least time  {time(roof.time_us)}, by {roof.limit}"
    share = percent(roof.time_us / predicted.time_us)
    yield f"predicted time        {time(predicted.time_us)}, {share} of the roof"
    for level in predicted.levels:
        most = ", the most" if level.name == predicted.bound else ""
        yield f"  {level.name:19} {time(level.time_us)}{most}"
    yield f"  {'not hidden':19} {time(predicted.exposed_us)}"


def _other(plan: KernelPlan, outcome: Outcome) -> str:
    dims = ", ".join(
        f"{d.dim} {d.threads} threads x {d.registers}"
        for d in plan.dims
        if d.threads > 1 or d.registers > 1
    )
    tiles = ", ".join(f"{p.dim} {p.tile}" for p in plan.loops)
    return f"predicted {time(outcome.prediction.time_us)}: {dims}; k-tiles {tiles}"
