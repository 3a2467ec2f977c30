"""The server that `tcc lsp` runs: the Language Server Protocol over standard input and output.

pygls keeps the conversation and the texts; only this module imports it. Texts come whole with
every change, since they are small; a check waits until nobody has typed for a moment.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from tcc import __version__
from tcc.check import check_source
from tcc.diagnostics import Diagnostic, Report
from tcc.frontend.unparse import format_source
from tcc.lsp.analysis import analyse
from tcc.lsp.positions import Encoding, Positions
from tcc.lsp.symbols import Meaning, meaning
from tcc.render import ordered
from tcc.source import Source, Span

PAUSE_S = 0.1
"""How long nobody types before a text is checked."""
_SEVERITIES = {True: types.DiagnosticSeverity.Error, False: types.DiagnosticSeverity.Warning}


def serve() -> None:
    """Answer one editor until it says goodbye or closes its end."""
    # The server closes its streams; what it is given are other ends of those of the process.
    with os.fdopen(os.dup(0), "rb") as asked, os.fdopen(os.dup(1), "wb") as answered:
        make_server().start_io(asked, answered)


def make_server() -> LanguageServer:
    """A server with all features."""
    server = LanguageServer("tcc", __version__, types.TextDocumentSyncKind.Full)
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(_opened)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(_changed)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(_closed)
    server.feature(types.TEXT_DOCUMENT_HOVER)(_hover)
    server.feature(types.TEXT_DOCUMENT_DEFINITION)(_definition)
    server.feature(types.TEXT_DOCUMENT_FORMATTING)(_format)
    return server


class _Text:
    """An open text, with the positions that the editor counts in."""

    def __init__(self, server: LanguageServer, uri: str) -> None:
        document = server.workspace.get_text_document(uri)
        self.uri = uri
        self.version = document.version
        self.source = Source(document.path or uri, document.source)
        self._positions = Positions(self.source.text, _encoding(server))

    def offset(self, position: types.Position) -> int:
        return self._positions.offset(position.line, position.character)

    def range(self, span: Span) -> types.Range:
        start, end = self._positions.of(span.start), self._positions.of(span.end)
        return types.Range(types.Position(*start), types.Position(*end))

    @property
    def all(self) -> Span:
        return Span(self.source, 0, len(self.source.text))


def _open(server: LanguageServer, uri: str) -> _Text | None:
    """The text that the editor has open; None for any other one."""
    return _Text(server, uri) if uri in server.workspace.text_documents else None


def _encoding(server: LanguageServer) -> Encoding:
    chosen = server.workspace.position_encoding
    match getattr(chosen, "value", chosen):
        case "utf-8":
            return "utf-8"
        case "utf-32":
            return "utf-32"
        case _:
            return "utf-16"


# -- diagnostics ---------------------------------------------------------------------------


def _opened(server: LanguageServer, asked: types.DidOpenTextDocumentParams) -> None:
    _check(server, _Text(server, asked.text_document.uri))


async def _changed(server: LanguageServer, asked: types.DidChangeTextDocumentParams) -> None:
    uri, version = asked.text_document.uri, asked.text_document.version
    await asyncio.sleep(PAUSE_S)
    text = _open(server, uri)  # it may be closed in between
    if text is not None and text.version == version:
        _check(server, text)


def _closed(server: LanguageServer, asked: types.DidCloseTextDocumentParams) -> None:
    _publish(server, asked.text_document.uri, None, [])


def _check(server: LanguageServer, text: _Text) -> None:
    _, found = check_source(text.source)
    _publish(server, text.uri, text.version, [_diagnostic(text, d) for d in ordered(found)])


def _publish(
    server: LanguageServer, uri: str, version: int | None, found: Sequence[types.Diagnostic]
) -> None:
    server.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=list(found))
    )


def _diagnostic(text: _Text, found: Diagnostic) -> types.Diagnostic:
    """Everything that the command line shows: label, notes and helps belong to the message."""
    lines = [found.message, *([found.primary.text] if found.primary.text else [])]
    lines += [f"note: {note}" for note in found.notes]
    lines += [f"help: {help}" for help in found.help]
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(text.uri, text.range(label.span)), label.text
        )
        for label in found.secondary
    ]
    return types.Diagnostic(
        range=text.range(found.primary.span),
        message="\n".join(lines),
        severity=_SEVERITIES[found.is_error],
        code=found.code,
        source="tcc",
        related_information=related,
    )


# -- questions -----------------------------------------------------------------------------


def _meaning(text: _Text | None, position: types.Position) -> Meaning | None:
    return None if text is None else meaning(analyse(text.source), text.offset(position))


def _hover(server: LanguageServer, asked: types.HoverParams) -> types.Hover | None:
    """The word's kind, with its inferred range or shape."""
    text = _open(server, asked.text_document.uri)
    found = _meaning(text, asked.position)
    if text is None or found is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
    return types.Hover(content, text.range(found.span))


def _definition(server: LanguageServer, asked: types.DefinitionParams) -> types.Location | None:
    """Where the word is introduced."""
    text = _open(server, asked.text_document.uri)
    found = _meaning(text, asked.position)
    if text is None or found is None or found.place is None:
        return None
    return types.Location(text.uri, text.range(found.place))


def _format(server: LanguageServer, asked: types.DocumentFormattingParams) -> list[types.TextEdit]:
    """The text as `tcc fmt` writes it; no change where it does not parse."""
    text = _open(server, asked.text_document.uri)
    if text is None:
        return []
    formatted = format_source(text.source, Report())
    if formatted is None or formatted == text.source.text:
        return []
    return [types.TextEdit(text.range(text.all), formatted)]
