"""`tcc lsp` from end to end: a client over its pipes, whole conversations."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pygls", reason="pygls is not installed")

from lsprotocol import types

from tcc.cli import main
from tests.lsp.conversation import talk

MATMUL = """\
def matmul(float(M, K) A, float(K, N) B) -> (C) {
    C(m, n) +=! A(m, k) * B(k, n)
}
"""
WRONG = MATMUL.replace("B(k, n)", "Bb(k, n)")
UGLY = "def f(float(N) A)->(B){B(i)=A( i )# same\n}"


def span(of: types.Range) -> tuple[int, int, int, int]:
    return of.start.line, of.start.character, of.end.line, of.end.character


def test_a_conversation():
    async def conversation(client):
        client.open(MATMUL)
        assert (await client.diagnostics()).diagnostics == ()
        assert await client.hover(1, 16) == "input `A`: `float32(M, K)`"
        assert await client.hover(1, 4) == "output `C`: `float32(M, N)`"
        assert await client.hover(1, 18) == "index `m` in `0:M`"
        assert await client.hover(1, 21) == "reduction index `k` in `0:K`"
        assert (await client.hover(0, 17)).startswith("size `M`")
        assert await client.hover(1, 14) is None
        assert span(await client.definition(1, 16)) == (0, 23, 0, 24)
        assert span(await client.definition(1, 18)) == (1, 6, 1, 7)
        assert await client.formatted() == []

        client.change(WRONG, 2)
        found = await client.diagnostics()
        assert found.version == 2
        (problem,) = found.diagnostics
        assert (problem.code, problem.source) == ("E0201", "tcc")
        assert problem.severity is types.DiagnosticSeverity.Error
        assert span(problem.range) == (1, 26, 1, 28)
        assert problem.message == (
            "cannot find tensor or function `Bb`\nnot found\n"
            "help: assign `Bb` in a statement above, or add it to the inputs"
        )

        client.change(MATMUL, 3)
        assert (await client.diagnostics()).diagnostics == ()
        client.close_text()
        assert (await client.diagnostics()).diagnostics == ()
        assert await client.hover(1, 16) is None
        assert await client.definition(1, 16) is None
        assert await client.formatted() == []

    status, messages = talk(conversation)
    assert status == 0
    assert messages == []


def test_only_the_last_of_quick_changes_is_checked():
    async def conversation(client):
        client.open(MATMUL)
        await client.diagnostics()
        for version in range(2, 12):
            client.change(WRONG if version < 11 else MATMUL + "#", version)
        assert (await client.diagnostics()).version == 11
        assert client.published.empty()

    talk(conversation)


def test_format():
    async def conversation(client):
        client.open(UGLY)
        (edit,) = await client.formatted()
        assert span(edit.range) == (0, 0, 1, 1)
        assert edit.new_text == "def f(float(N) A) -> (B) {\n    B(i) = A(i)  # same\n}\n"
        client.change("def f(", 2)
        assert await client.formatted() == []

    talk(conversation)


@pytest.mark.parametrize(
    ("encoding", "character"), [("utf-8", 11), ("utf-16", 9), ("utf-32", 8), (None, 9)]
)
def test_editors_count_in_their_own_units(encoding, character):
    async def conversation(client):
        client.open("# \r\n#\n    \U0001f600 a $\n")
        starts = [d.range.start for d in (await client.diagnostics()).diagnostics]
        assert types.Position(2, 4) in starts
        assert types.Position(2, character) in starts

    talk(conversation, None if encoding is None else [encoding])


def test_it_stays_alive_on_broken_text():
    """Every beginning of a program, odd characters, a text of another language."""
    texts = [MATMUL[:length] for length in range(0, len(MATMUL), 7)]
    texts += [
        "\0",
        "def " * 2000,
        "(" * 3000,
        "{" * 500 + "}" * 500,
        "\ud7ff\u2028\x0b\x0c",
        "int main() { return 0; }",
    ]

    async def conversation(client):
        client.open("")
        await client.diagnostics()
        for version, text in enumerate(texts, start=2):
            client.change(text, version)
            await client.hover(0, 5)
            await client.definition(1, 10)
            await client.hover(900, 900)
            await client.formatted()
        client.change(MATMUL, 1000)
        while (found := await client.diagnostics()).version != 1000:
            pass
        assert found.diagnostics == ()
        assert await client.hover(1, 21) == "reduction index `k` in `0:K`"

    status, messages = talk(conversation)
    assert status == 0
    assert messages == []


def test_an_editor_that_goes_away():
    """The end of its input ends the server."""
    done = subprocess.run(
        [sys.executable, "-m", "tcc", "lsp"],
        input=b"",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_what_is_no_message_does_no_harm():
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}'
    text = b"Content-Length: 4\r\n\r\n{{{{" + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    done = subprocess.run(
        [sys.executable, "-m", "tcc", "lsp"],
        input=text,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b'"id": 1' in done.stdout or b'"id":1' in done.stdout


def test_without_pygls(monkeypatch, capfd):
    for name in [m for m in sys.modules if m.startswith("tcc.lsp.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    assert main(["lsp"]) == 4
    assert "error[E0712]: the language server needs a library" in capfd.readouterr().err
