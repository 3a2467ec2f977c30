"""A client of the language server: starts `tcc lsp` and talks to it over its pipes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

from lsprotocol import types
from pygls.lsp.client import LanguageClient

URI = "file:///programs/a.tc"
TIMEOUT_S = 60


class Client(LanguageClient):
    """Keeps what the server publishes."""

    def __init__(self) -> None:
        super().__init__("tests", "1")
        self.published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.messages: list[str] = []

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(found: types.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(found)

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def _(shown: types.ShowMessageParams) -> None:
            self.messages.append(shown.message)

        @self.feature(types.WINDOW_LOG_MESSAGE)
        def _(logged: types.LogMessageParams) -> None:
            self.messages.append(logged.message)

    def open(self, text: str) -> None:
        document = types.TextDocumentItem(URI, "tc", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def change(self, text: str, version: int) -> None:
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, URI),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def close_text(self) -> None:
        self.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI))
        )

    async def diagnostics(self) -> types.PublishDiagnosticsParams:
        return await asyncio.wait_for(self.published.get(), TIMEOUT_S)

    async def hover(self, line: int, character: int) -> str | None:
        found = await self.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(URI), types.Position(line, character))
        )
        return None if found is None else found.contents.value

    async def definition(self, line: int, character: int) -> types.Range | None:
        found = await self.text_document_definition_async(
            types.DefinitionParams(
                types.TextDocumentIdentifier(URI), types.Position(line, character)
            )
        )
        return None if found is None else found.range

    async def formatted(self) -> list[types.TextEdit]:
        found = await self.text_document_formatting_async(
            types.DocumentFormattingParams(
                types.TextDocumentIdentifier(URI), types.FormattingOptions(4, True)
            )
        )
        return list(found or ())


def talk(
    conversation: Callable[[Client], Awaitable[None]], encodings: list[str] | None = None
) -> tuple[int, list[str]]:
    """Have a conversation from hello to goodbye; exit status of the server, and its messages."""

    async def run() -> tuple[int, list[str]]:
        client = Client()
        await client.start_io(sys.executable, "-m", "tcc", "lsp")
        general = types.GeneralClientCapabilities(position_encodings=encodings)
        capabilities = types.ClientCapabilities(general=general)
        hello = await client.initialize_async(types.InitializeParams(capabilities=capabilities))
        assert hello.server_info is not None
        assert hello.server_info.name == "tcc"
        client.initialized(types.InitializedParams())
        await asyncio.wait_for(conversation(client), TIMEOUT_S)
        await client.shutdown_async(None)
        client.exit(None)
        server = client._server
        assert server is not None
        status = await asyncio.wait_for(server.wait(), TIMEOUT_S)
        await client.stop()
        return status, client.messages

    return asyncio.run(run())
