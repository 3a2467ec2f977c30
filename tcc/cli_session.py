"""One call of the command line: its words as a source with carets, its streams, what it read."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TextIO

import click

from tcc.diagnostics import Diagnostic
from tcc.errors import TccError
from tcc.render import render_json, render_short, render_text, summary
from tcc.source import Source, Span


@dataclass
class Session:
    """The state of one command; what it read is kept for a reproducer."""

    words: tuple[str, ...]
    message_format: str = "text"
    read: dict[str, str] = field(default_factory=dict)

    @cached_property
    def command(self) -> Source:
        """The command line as it could be typed."""
        return Source("<command line>", shlex.join(("tcc", *self.words)))

    def word(self, value: str, nth: int = 0) -> Span:
        """Where the nth word that is `value`, or ends in `=value`, stands in `command`."""
        at, found = len("tcc "), []
        for word in self.words:
            quoted = shlex.quote(word)
            if word == value or (word.startswith("-") and word.endswith(f"={value}")):
                found.append(Span(self.command, at, at + len(quoted)))
            at += len(quoted) + 1
        return found[nth] if nth < len(found) else Span(self.command, 0, len("tcc"))

    def value(self, option: str, value: str) -> Span:
        """Where the value of an option stands in `command`, whatever else is spelled like it."""
        pairs = [(option, value) == pair for pair in zip(self.words, self.words[1:], strict=False)]
        word = self.word(
            value, self.words[: pairs.index(True) + 1].count(value) if any(pairs) else 0
        )
        is_end = word.text.endswith(value)
        return Span(word.source, word.end - len(value), word.end) if is_end else word

    def report(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Write diagnostics to stderr, in the format that was asked for."""
        match self.message_format:
            case "json":
                self.say(render_json(diagnostics))
            case "short":
                self.say(render_short(diagnostics))
            case _:
                closing = summary(diagnostics)
                self.say(render_text(diagnostics) + (f"\n{closing}" if closing else ""))

    def fail(self, problem: TccError, diagnostics: Iterable[Diagnostic]) -> None:
        """Write an expected failure to stderr."""
        items, text = tuple(diagnostics), str(problem).rstrip("\n")
        if items:
            self.report(items)
        elif self.message_format == "json":
            self.say(json.dumps({"severity": "error", "message": text}))
        else:
            self.say(text if text.startswith("error") else f"error: {text}")

    def note(self, text: str) -> None:
        """Write a remark that belongs to no place to stderr."""
        as_json = self.message_format == "json"
        self.say(json.dumps({"severity": "note", "message": text}) if as_json else f"note: {text}")

    def say(self, text: str) -> None:
        """Write to stderr; coloured where a person reads it."""
        if not text:
            return
        text = text if text.endswith("\n") else text + "\n"
        if _wants_colour(sys.stderr):
            from tcc.cli_colour import write_coloured

            write_coloured(text)
        else:
            click.echo(text, err=True, nl=False)


def put(text: str) -> None:
    """Write data to stdout, as UTF-8 whatever the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def is_terminal() -> bool:
    """Whether a line on stderr can be drawn anew."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def put_sections(text: str) -> None:
    """Write text in sections to stdout; with colour where a person reads it."""
    if _wants_colour(sys.stdout):
        from tcc.cli_colour import write_sections

        write_sections(text)
    else:
        put(text)


def _wants_colour(stream: TextIO) -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream.isatty()
