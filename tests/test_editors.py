"""What editors and pre-commit read: the grammar, the VS Code extension, the hooks."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, Whitespace

from tcc.highlight import TcLexer
from tests import generate_grammar

textmate = pytest.importorskip(
    "textmate_grammar.parsers.base", reason="textmate-grammar-python is not installed"
)

ROOT = Path(__file__).parents[1]
SPECS = sorted((ROOT / "specs").glob("*.tc"))
EXTENSION = ROOT / "editors" / "vscode"
PACKAGE = json.loads((EXTENSION / "package.json").read_text("utf-8"))
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
SCOPES = {
    "comment.line.number-sign.tc": Comment.Single,
    "entity.name.function.tc": Name.Function,
    "keyword.control.tc": Keyword,
    "storage.type.tc": Keyword.Type,
    "support.function.builtin.tc": Name.Builtin,
    "variable.other.tc": Name,
    "constant.numeric.tc": Number,
    "keyword.operator.tc": Operator,
    "punctuation.tc": Punctuation,
}
CORNERS = """\
def f1(float(N) A, bfloat16(3) B2) -> (C, min_) { # def in a comment
    C(i) min=! A(i) < .5 && !(A(i) >= 1.) ? A.0 : max(1e-3, exp2(A(i)))
    min_(i) = -2 * i % 3 where i in 1:N, exists A(i), definition = 1.5E+3 # end
    D *=! A(i)   E(i) max= A(i) == 2 || A(i) != 3 ? fma(1, 2, A(i)) : 0
}
"""


@pytest.fixture(scope="module")
def parser():
    return textmate.LanguageParser(json.loads(generate_grammar.PATH.read_text("utf-8")))


def test_the_grammar_is_up_to_date():
    assert generate_grammar.PATH.read_text("utf-8") == generate_grammar.text(), "run `make docs`"


@pytest.mark.parametrize("text", [*(p.read_text("utf-8") for p in SPECS), CORNERS])
def test_the_grammar_colours_as_the_compiler_reads(parser, text):
    """Character by character, against the tokens of the compiler."""
    expected = {
        at + i: kind
        for at, kind, value in TcLexer().get_tokens_unprocessed(text)
        for i in range(len(value))
        if kind is not Whitespace
    }
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    found = {}
    for (line, column), content, (_, *scopes) in parser.parse_string(text).flatten():
        if scopes:
            start = starts[line] + column
            found |= {start + i: SCOPES[scopes[-1]] for i in range(len(content))}
    wrong = {
        text[at]: (at, kind, found.get(at))
        for at, kind in expected.items()
        if found.get(at) is not kind
    }
    assert {k: w for k, w in wrong.items() if not k.isspace()} == {}


def test_the_extension_is_complete():
    files = [PACKAGE["main"]]
    files += [language["configuration"] for language in PACKAGE["contributes"]["languages"]]
    files += [g["path"] for g in PACKAGE["contributes"]["grammars"]]
    assert all((EXTENSION / f).is_file() for f in files)
    json.loads((EXTENSION / "language-configuration.json").read_text("utf-8"))
    (grammar,) = PACKAGE["contributes"]["grammars"]
    assert grammar["scopeName"] == generate_grammar.grammar()["scopeName"]
    command = PACKAGE["contributes"]["configuration"]["properties"]["tcc.command"]
    assert command["default"] == ["tcc", "lsp"]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_the_extension_starts_the_server():
    """With stand-ins for VS Code and its client, which say what they are told."""
    script = textwrap.dedent("""\
        const Module = require("module");
        const load = Module._load;
        class LanguageClient {
          constructor(...told) { this.told = told; }
          start() { console.log(JSON.stringify(this.told)); }
          stop() { console.log("stopped"); }
        }
        const get = () => ["python", "-m", "tcc", "lsp"];
        const stand_ins = {
          vscode: { workspace: { getConfiguration: () => ({ get }) } },
          "vscode-languageclient/node": { LanguageClient },
        };
        Module._load = (name, ...rest) => stand_ins[name] ?? load(name, ...rest);
        const extension = require(process.argv[1]);
        extension.deactivate();
        extension.activate();
        extension.deactivate();
        """)
    done = subprocess.run(
        ["node", "-e", script, str(EXTENSION / "extension.js")],
        capture_output=True,
        text=True,
        check=True,
    )
    told, stopped = done.stdout.splitlines()
    assert json.loads(told)[2:] == [
        {"command": "python", "args": ["-m", "tcc", "lsp"]},
        {"documentSelector": [{"language": "tc"}]},
    ]
    assert stopped == "stopped"


# -- pre-commit ----------------------------------------------------------------------------


def run_hook(name, *files, folder):
    """As pre-commit does: the entry, then the names of the files."""
    program, *words = shlex.split(HOOKS[name]["entry"])
    assert program == "tcc"
    return subprocess.run(
        [sys.executable, "-m", "tcc", *words, *files],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.tc").write_text("def f(float(N) A) -> (B) {\n    B(i) = A(i)\n}\n")
    (tmp_path / "messy.tc").write_text("def f(float(N)A)->(B){B(i)=A(i)}")
    (tmp_path / "wrong.tc").write_text("def f(float(N) A) -> (B) {\n    B(i) = C(i)\n}\n")
    return tmp_path


def test_hooks_of_formatting(folder):
    found = run_hook("tcc-fmt-check", "good.tc", "messy.tc", folder=folder)
    assert (found.returncode, found.stderr) == (1, "messy.tc: would be reformatted\n")
    assert run_hook("tcc-fmt", "good.tc", "messy.tc", folder=folder).returncode == 0
    assert (folder / "messy.tc").read_text() == (folder / "good.tc").read_text()
    assert run_hook("tcc-fmt-check", "good.tc", "messy.tc", folder=folder).returncode == 0


def test_the_hook_of_checking(folder):
    assert run_hook("tcc-check", "good.tc", "messy.tc", folder=folder).returncode == 0
    found = run_hook("tcc-check", "good.tc", "wrong.tc", folder=folder)
    assert found.returncode == 1
    assert "wrong.tc:2:12" in found.stderr


def test_hooks_are_for_programs():
    for hook in HOOKS.values():
        assert re.search(hook["files"], "src/gemm.tc")
        assert not re.search(hook["files"], "src/gemm.tcx")
        assert hook["language"] == "python"
