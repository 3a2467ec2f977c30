"""The canonical layout of a file: comments stay with what they stand beside or above."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from tcc.diagnostics import Report
from tcc.frontend.ast import Definition, Module
from tcc.frontend.lexer import comments, tokenize
from tcc.frontend.spelling import header_text, output_text, parameter_text
from tcc.frontend.tokens import Token
from tcc.frontend.wrap import INDENT, WIDTH, wrapped
from tcc.source import Span


@dataclass
class _Item:
    """Something with a place of its own, and the comments that go with it."""

    span: Span
    above: list[Span] = field(default_factory=list)
    inside: list[Span] = field(default_factory=list)
    beside: Span | None = None

    @property
    def commented(self) -> bool:
        return bool(self.above or self.inside or self.beside)


def layout(module: Module) -> str:
    """The text of a module that parsed without errors, with the comments of its source.

    A comment on the line where something ends stays beside it; a comment inside a statement moves
    above it. At most one blank line is kept between statements, and one is put between defs.
    """
    tokens = tokenize(module.source, Report())
    entries = [(tokens[k - 1], t) for k, t in enumerate(tokens) if t.text == "{"]
    every = comments(module.source)
    items = [_Item(d.span) for d in module.definitions]
    rest = _attach(items, [c for c in every if not any(_within(c, i.span) for i in items)])
    chunks = []
    for item, definition, (closing, brace) in zip(items, module.definitions, entries, strict=True):
        own = [c for c in every if _within(c, item.span)]
        text = _definition(definition, own, closing, brace)
        chunks.append("\n".join([*_trimmed(_above(item, "")), *_beside(text, item)]))
    return "\n".join(["\n\n".join(chunks), *_free(rest, "")]) + "\n"


def _definition(
    definition: Definition, own: Sequence[Span], closing: Token, brace: Token
) -> list[str]:
    """The lines of a def; `closing` is the parenthesis after the outputs, `brace` the `{`."""
    items = [_Item(s.span) for s in definition.statements]
    body_start = items[0].span.start if items else definition.span.end
    head = [c for c in own if c.start < closing.span.start]
    entry = [c for c in own if closing.span.end <= c.start < body_start]
    beside = [c for c in entry if _same_line(closing.span, c) or _same_line(brace.span, c)][:1]
    header, moved = _header(definition, head)
    moved += [c for c in entry if c.start < brace.span.start and c not in beside]
    taken = {*head, *moved, *beside}
    rest = _attach(items, [c for c in own if c not in taken])
    lines = []
    for item, statement in zip(items, definition.statements, strict=True):
        text = [f"{INDENT}{line}" for line in wrapped(statement)]
        lines += [*_above(item, INDENT), *_beside(text, item)]
    lines += _free(rest, INDENT)
    header[-1] += "".join(f"  {c.text}" for c in beside)
    return [*header, *(f"{INDENT}{c.text}" for c in moved), *_trimmed(lines), "}"]


def _header(definition: Definition, head: Sequence[Span]) -> tuple[list[str], list[Span]]:
    """The lines up to `{`, and the comments that belong to nothing in them."""
    inputs = [_Item(p.type.span.to(p.name.span)) for p in definition.parameters]
    outputs = [_Item(_output_span(definition, k)) for k in range(len(definition.outputs))]
    rest = _attach([*inputs, *outputs], head)
    one_line = header_text(definition)
    texts = [parameter_text(p) for p in definition.parameters]
    opening = f"def {definition.name.text}("
    lines: list[str] = []
    if inputs and (len(one_line) > WIDTH or any(i.commented for i in inputs)):
        lines += [opening, *_listed(texts, inputs)]
        opening = ") -> ("
    else:
        opening += f"{', '.join(texts)}) -> ("
    texts = [output_text(o) for o in definition.outputs]
    last = f"{opening}{', '.join(texts)}) {{"
    if len(last) > WIDTH or any(o.commented for o in outputs):
        return [*lines, opening, *_listed(texts, outputs), ") {"], rest
    return [*lines, last], rest


def _output_span(definition: Definition, position: int) -> Span:
    output = definition.outputs[position]
    return output.type.span.to(output.name.span) if output.type else output.name.span


def _listed(texts: Sequence[str], items: Sequence[_Item]) -> list[str]:
    """Inputs or outputs, one a line, with their comments."""
    lines = []
    for k, (text, item) in enumerate(zip(texts, items, strict=True)):
        lines += [f"{INDENT}{c.text}" for c in (*item.above, *item.inside)]
        comma = "," if k + 1 < len(items) else ""
        lines += _beside([f"{INDENT}{text}{comma}"], item)
    return lines


def _attach(items: Sequence[_Item], found: Sequence[Span]) -> list[Span]:
    """Give each comment to an item; returns those after the last one, on lines of their own."""
    starts = [i.span.start for i in items]
    rest = []
    for comment in found:
        k = bisect_right(starts, comment.start) - 1
        if k >= 0 and comment.start < items[k].span.end:
            items[k].inside.append(comment)
        elif k >= 0 and _same_line(items[k].span, comment):
            items[k].beside = comment
        elif k + 1 < len(items):
            items[k + 1].above.append(comment)
        else:
            rest.append(comment)
    return rest


def _above(item: _Item, indent: str) -> list[str]:
    """The lines before an item: its comments, and the blank lines of the source."""
    blank = [""] if _after_blank(item.span) else []
    return [*_free(item.above, indent), *blank, *(f"{indent}{c.text}" for c in item.inside)]


def _free(found: Sequence[Span], indent: str) -> list[str]:
    """Comments on lines of their own, with the blank lines before them."""
    return [line for c in found for line in ([""] * _after_blank(c) + [f"{indent}{c.text}"])]


def _beside(lines: list[str], item: _Item) -> list[str]:
    """The lines of an item, the last one with the comment beside it."""
    return lines if item.beside is None else [*lines[:-1], f"{lines[-1]}  {item.beside.text}"]


def _trimmed(lines: list[str]) -> list[str]:
    """Without a blank line at the top."""
    return lines[1:] if lines[:1] == [""] else lines


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start < outer.end


def _same_line(before: Span, comment: Span) -> bool:
    """Whether a comment after a span is on the line where the span ends."""
    return (
        before.end <= comment.start and "\n" not in before.source.text[before.end : comment.start]
    )


def _after_blank(span: Span) -> bool:
    """Whether an empty line precedes, with nothing but white space between."""
    before = span.source.text[: span.start].rstrip()
    return span.source.text.count("\n", len(before), span.start) > 1
