"""Options files: YAML text to `Options`, with a span for every key and value.

A small, safe part of YAML: one document of tables, lists and scalars. What makes YAML surprising
or dangerous is refused with a place: tags, anchors and aliases, merge keys, several documents.
PyYAML is used for its events only, so that depth and size are bounded before anything is built.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from tcc.diagnostics import Report, error
from tcc.option_values import read_root
from tcc.options import Options
from tcc.source import Source, Span
from tcc.yaml_tree import Node, Scalar, Sequence, Table

MAX_CHARACTERS = 100_000
MAX_DEPTH = 16


def read_options(source: Source, report: Report) -> Options:
    """The options of a file. What is wrong is reported and left at its default."""
    if len(source.text) > MAX_CHARACTERS:
        at = Span(source, MAX_CHARACTERS, MAX_CHARACTERS + 1)
        message = f"an options file has at most {MAX_CHARACTERS} characters"
        help = ("remove what is no option, such as long comments",)
        report.add(error("E0508", message, at, f"this one has {len(source.text)}", help=help))
        return Options()
    root = _Composer(source, report).document()
    return Options() if root is None else read_root(root, report)


class _Rejected(Exception):
    """The text is no YAML that we accept; reported already."""


class _Composer:
    """Builds nodes from parser events."""

    def __init__(self, source: Source, report: Report) -> None:
        self._source = source
        self._report = report
        self._events = self._checked_events()

    def document(self) -> Node | None:
        """The root node; None when there is none, or when the text is rejected."""
        try:
            return self._first_document()
        except _Rejected:
            return None

    def _first_document(self) -> Node | None:
        root: Node | None = None
        for event in self._events:
            match event:
                case yaml.DocumentStartEvent() if root is not None:
                    self._refuse(event, "a second document", "remove it")
                    return root
                case yaml.NodeEvent():
                    root = self._node(event, 0)
                case _:
                    continue
        return root

    def _checked_events(self) -> Iterator[yaml.Event]:
        """The events of the text; its syntax errors become diagnostics."""
        reached = 0
        try:
            for event in yaml.parse(self._source.text, Loader=yaml.SafeLoader):
                reached = _end(event)
                yield event
        except yaml.MarkedYAMLError as problem:
            self._syntax_error(problem)
        except yaml.reader.ReaderError as problem:
            self._report_syntax("a character that YAML does not allow", problem.position)
        except (ValueError, OverflowError):
            # PyYAML converts escapes and version numbers without checking their range.
            self._report_syntax("a number out of range after this", reached)

    def _syntax_error(self, problem: yaml.MarkedYAMLError) -> None:
        mark = problem.problem_mark or problem.context_mark
        text = problem.problem or problem.context or "unexpected text"
        label = text.replace("'", "`").replace("could not", "cannot")
        self._report_syntax(label, mark.index if mark else 0)

    def _report_syntax(self, label: str, index: int) -> None:
        at = min(index, max(len(self._source.text) - 1, 0))
        span = Span(self._source, at, at + 1)
        help = ("close brackets and quotes, and put a blank after each colon",)
        if self._source.text[at : at + 1] == "\t":
            help = ("indent with blanks",)
        self._report.add(error("E0505", "this is not readable as YAML", span, label, help=help))
        raise _Rejected

    def _node(self, event: yaml.Event, depth: int) -> Node:
        if depth > MAX_DEPTH:
            label = f"more than {MAX_DEPTH} levels deep"
            message = "options are nested too deeply"
            help = ("remove it; no option has so many levels",)
            self._report.add(error("E0508", message, self._span(event), label, help=help))
            raise _Rejected
        match event:
            case yaml.AliasEvent():
                self._refuse(event, "an alias", "write the value itself")
                return Scalar("", True, self._span(event))
            case yaml.ScalarEvent():
                self._refuse_extras(event)
                return Scalar(event.value, event.style is None, self._span(event))
            case yaml.SequenceStartEvent():
                self._refuse_extras(event)
                return self._sequence(event, depth)
            case yaml.MappingStartEvent():
                self._refuse_extras(event)
                return self._table(event, depth)
            case _:
                raise TypeError(f"unexpected YAML event {event}")

    def _sequence(self, start: yaml.SequenceStartEvent, depth: int) -> Sequence:
        items: list[Node] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                last = items[-1].span if items else None
                return Sequence(tuple(items), self._closed(start, event, last))
            items.append(self._node(event, depth + 1))
        raise _Rejected

    def _table(self, start: yaml.MappingStartEvent, depth: int) -> Table:
        pairs: list[tuple[Node, Node]] = []
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                last = pairs[-1][0].span.to(pairs[-1][1].span) if pairs else None
                return Table(tuple(pairs), self._closed(start, event, last))
            key = self._node(event, depth + 1)
            value = self._node(next(self._events), depth + 1)
            if isinstance(key, Scalar) and key.plain and key.text == "<<":
                self._refuse(event, "the merge key `<<`", "write the options themselves")
            else:
                pairs.append((key, value))
        raise _Rejected

    def _closed(self, start: yaml.Event, end: yaml.Event, last: Span | None) -> Span:
        """A collection in brackets ends with them, another one with its last item."""
        begin = self._span(start)
        if last is None or self._source.text[begin.start : begin.start + 1] in ("[", "{"):
            return begin.to(self._span(end))
        return begin.to(last)

    def _refuse_extras(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.anchor is not None:
            self._refuse(event, "an anchor", "remove it")
        if event.tag is not None:
            self._refuse(event, "a tag", "remove it")

    def _refuse(self, event: yaml.Event, what: str, help: str) -> None:
        message = f"options files do without {what}"
        self._report.add(error("E0507", message, self._span(event), "not read", help=(help,)))

    def _span(self, event: yaml.Event) -> Span:
        return Span(self._source, event.start_mark.index if event.start_mark else 0, _end(event))


def _end(event: yaml.Event) -> int:
    return event.end_mark.index if event.end_mark else 0
