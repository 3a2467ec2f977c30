"""Diagnostics as plain text, as one line each, or as JSON lines; the terminal adds the colour."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from tcc.diagnostics import Diagnostic, Label, Severity
from tcc.snippet import Marked, shown, snippet
from tcc.source import Span

LIMIT = 20
WIDTH = 80
"""Notes and helps wrap at this column, except inside backticks."""


def ordered(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Errors before warnings; within these, stages in order of appearance, then by position."""
    items = tuple(diagnostics)
    stages: dict[str, int] = {}
    for item in items:
        stages.setdefault(item.code[:3], len(stages))
    key = {id(d): (not d.is_error, stages[d.code[:3]], d.line, d.column) for d in items}
    return tuple(sorted(items, key=lambda d: key[id(d)]))


def render_text(diagnostics: Iterable[Diagnostic], *, limit: int = LIMIT) -> str:
    """The diagnostics with source lines and carets, at most `limit`; ends in a newline."""
    items = ordered(diagnostics)
    blocks = [render_one(d) for d in items[:limit]]
    hidden = items[limit:]
    if hidden:
        blocks.append(f"{count(hidden)} more not shown\n")
    return "\n".join(blocks)


def render_one(diagnostic: Diagnostic) -> str:
    """One diagnostic with source lines and carets; ends in a newline."""
    groups = _by_source(diagnostic)
    last = max(m.label.span.line for group in groups for m in group)
    pad = " " * len(str(last))
    out = [f"{_head(diagnostic)}: {shown(diagnostic.message)}"]
    for arrow, group in zip(["-->", *[":::"] * len(groups)], groups, strict=False):
        out += [f"{pad}{arrow} {_place(group[0].label.span)}", f"{pad} |"]
        out += snippet(group, pad)
    if diagnostic.notes or diagnostic.help:
        out.append(f"{pad} |")
    for kind, texts in (("note", diagnostic.notes), ("help", diagnostic.help)):
        for text in texts:
            out += _footer(pad, kind, text)
    return "\n".join(out) + "\n"


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """The closing lines after rejected input; empty when there is no error; ends in a newline."""
    items = ordered(diagnostics)
    if not items or not items[0].is_error:
        return ""
    first = items[0]
    name = shown(first.primary.span.source.name)
    return f"error: {name} rejected: {count(items)}\nhelp: tcc explain {first.code}\n"


def render_short(diagnostics: Iterable[Diagnostic]) -> str:
    """One line each, `file:line:column: error[CODE]: message`; all of them."""
    return "".join(
        f"{_place(d.primary.span)}: {_head(d)}: {shown(d.message)}\n" for d in ordered(diagnostics)
    )


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """One JSON object a line, ASCII, keys in a fixed order; all of them."""
    return "".join(json.dumps(_data(d)) + "\n" for d in ordered(diagnostics))


def count(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`."""
    errors = sum(d.is_error for d in diagnostics)
    numbers = ((errors, Severity.ERROR), (len(diagnostics) - errors, Severity.WARNING))
    return ", ".join(f"{n} {s.value}{'s' if n > 1 else ''}" for n, s in numbers if n)


def _by_source(diagnostic: Diagnostic) -> list[list[Marked]]:
    """The labels of each source, the primary one's first."""
    labels = [Marked(diagnostic.primary, "^"), *(Marked(s, "-") for s in diagnostic.secondary)]
    groups: list[list[Marked]] = []
    for marked in labels:
        for group in groups:
            if group[0].label.span.source == marked.label.span.source:
                group.append(marked)
                break
        else:
            groups.append([marked])
    return groups


def _head(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.severity.value}[{diagnostic.code}]"


def _place(span: Span) -> str:
    return f"{shown(span.source.name)}:{span.line}:{span.column}"


def _footer(pad: str, kind: str, text: str) -> Iterator[str]:
    start, more = f"{pad} = {kind}: ", f"{pad}         "
    lines = [line for part in text.split("\n") for line in _wrap(shown(part), WIDTH - len(start))]
    yield start + lines[0]
    yield from (f"{more}{line}".rstrip() for line in lines[1:])


def _wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters where a break outside backticks makes that possible."""
    lines = [""]
    for word in _words(text):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def _words(text: str) -> Iterator[str]:
    """Words at single blanks; what stands in backticks is not cut."""
    word = ""
    for part in text.split(" "):
        word = f"{word} {part}" if word else part
        if word.count("`") % 2 == 0:
            yield word
            word = ""
    if word:
        yield from word.split(" ")


def _data(diagnostic: Diagnostic) -> dict[str, object]:
    return {
        "severity": diagnostic.severity.value,
        "code": diagnostic.code,
        "message": diagnostic.message,
        **_label(diagnostic.primary),
        "secondary": [_label(label) for label in diagnostic.secondary],
        "notes": list(diagnostic.notes),
        "help": list(diagnostic.help),
    }


def _label(label: Label) -> dict[str, object]:
    """Lines and columns count from 1; the end is the position after the last character."""
    source = label.span.source
    line, column = source.position(label.span.start)
    end_line, end_column = source.position(label.span.end)
    return {
        "file": source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "label": label.text,
    }
