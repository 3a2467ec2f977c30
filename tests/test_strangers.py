"""Names and texts from strangers stay what they are: no command, no C++, no markup, no cursor."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tcc.cli import main
from tests.fuzz.called import CONTROL, Call, check

GOOD = "def f(float(N) A) -> (B) { B(i) = A(i) * 2.0 }\n"
NAMES = (
    "two words", "'quote", 'double"quote', "$(touch x)", "`touch x`", "back\\slash", "end\\",
    "a;touch x;", "a&&touch x", "a|b", "#hash", "100%", "%s%n{0}", "*", "a*", "?", "[a]", "$HOME",
    "~", "-o", "--help", "a=b", "colon:b", "größe", "a\nb", "a\tb", "a\rb", "\x1b[31mred",
    "\u202eevil", "\u2028", "<img src=x onerror=alert(1)>", "&amp;", "*\\", "\"); system(\"",
)  # fmt: skip
COMPILE = ("compile", "--size", "N=4", "-o", "f.cu", "--header", "f.h", "--manifest", "f.json",
           "--reference", "--depfile", "f.d")  # fmt: skip
OUTPUTS = ("f.cu", "f.h", "f.json", "f.reference.cu")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The outputs for a file with an ordinary name."""
    folder = tmp_path_factory.mktemp("plain")
    call = Call((*COMPILE, "plain.tc"), {"plain.tc": GOOD.encode()}, frozenset((*OUTPUTS, "f.d")))
    assert check(call, folder, "strangers") == 0
    return {name: (folder / name).read_bytes() for name in OUTPUTS}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_file_is_in_no_output(name: str, plain, tmp_path: Path) -> None:
    """Nothing is written but what was asked for, and the depfile is refused or is one rule."""
    file = f"{name}.tc"
    call = Call((*COMPILE, "--", file), {file: GOOD.encode()}, frozenset((*OUTPUTS, "f.d")))
    code = check(call, tmp_path, "strangers")
    if code == 0:
        assert {n: (tmp_path / n).read_bytes() for n in OUTPUTS} == plain
        rule, *others = (tmp_path / "f.d").read_text().removesuffix("\n").split("\n")
        assert rule.startswith("f.cu ")
        assert len(others) == (0 if "=" in name else 1)
    else:
        assert code == 2
        assert any(c in name for c in ";\n\t\r\x1b")
        assert not any((tmp_path / n).exists() for n in OUTPUTS)


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_file_in_diagnostics(name: str, tmp_path: Path, monkeypatch, capfd) -> None:
    """`check` finds no control characters on stderr; JSON has the very name."""
    file = f"{name}.tc"
    files = {file: b"def f(float(N) A) -> (B) { B(i) = C(i) }\n"}
    for form in ("text", "short", "json"):
        words = ("check", "--message-format", form, "--", file)
        assert check(Call(words, files), tmp_path, "strangers") == 1
    monkeypatch.chdir(tmp_path)
    capfd.readouterr()
    assert main(("check", "--message-format", "json", "--", file)) == 1
    found = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert found[0]["file"] == file
    assert main(("check", "--", f"no {file}")) == 2
    assert not CONTROL.search(capfd.readouterr().err.replace("\n", ""))


@pytest.mark.parametrize(
    "remark",
    ["*/ int x; /*", "\\", "??/", "\u202e", "\x1b[2J", '"); system("touch x', "<script>", "%n%s"],
)
def test_remarks_of_a_program_are_in_no_output(remark: str, plain, tmp_path: Path) -> None:
    text = GOOD.replace("B(i) =", f"# {remark}\n B(i) = # {remark}\n")
    files = {"plain.tc": text.encode()}
    call = Call((*COMPILE, "plain.tc"), files, frozenset((*OUTPUTS, "f.d")))
    assert check(call, tmp_path, "strangers") == 0
    got = (tmp_path / "f.cu").read_bytes()
    assert got == plain["f.cu"]


@pytest.mark.parametrize(
    "remark", ['"); system("touch x', "\\", "%n%s", "*/", "\x1b[2J", "\u202e", "??/"]
)
def test_remarks_in_texts_of_a_kernel(remark: str, tmp_path: Path) -> None:
    """A subscript that a kernel checks is in a string of C++: the string is all that differs."""
    text = "def f(float(N) A, int32(M) I) -> (B) { B(i) = A(I(i @)) where i in 0:M }\n"
    found = []
    for inside in ("", f"# {remark}\n"):
        files = {"f.tc": text.replace("@", inside).encode()}
        words = ("compile", "f.tc", "--check-bounds", "-o", "f.cu")
        assert check(Call(words, files, frozenset(("f.cu",))), tmp_path, "strangers") == 0
        emitted = (tmp_path / "f.cu").read_text()
        assert emitted.isascii()
        assert "\x1b" not in emitted
        found.append(re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', emitted))
    assert found[0] == found[1]


@pytest.mark.parametrize("text", [n for n in NAMES if "\n" not in n and "\r" not in n])
def test_text_in_options(text: str, tmp_path: Path) -> None:
    """In every place of an options file that takes a name."""
    word = json.dumps(text)
    for options in (
        f"entry: {word}\n",
        f"target: {word}\n",
        f"preset: {word}\n",
        f"sizes: {{{word}: 3}}\n",
        f"{word}: 3\n",
        f"mapping: {{staging: {{{word}: shared}}}}\n",
        f"mapping: {{kernels: [[{word}]]}}\n",
        f"mapping: {{plan: {{{word}: {{parallel: {{i: [block.x]}}}}}}}}\n",
        f"mapping: {{plan: {{f_kernel: {{parallel: {{{word}: [block.x]}}}}}}}}\n",
        f"mapping: {{plan: {{f_kernel: {{parallel: {{i: [{word}]}}}}}}}}\n",
        f"verify: {{inputs: {{{word}: [0, 1]}}}}\n",
    ):
        files = {"f.tc": GOOD.encode(), "f.yaml": options.encode()}
        words = (*COMPILE, "f.tc", "--options", "f.yaml")
        code = check(Call(words, files, frozenset((*OUTPUTS, "f.d"))), tmp_path, "strangers")
        assert code in ((0, 1) if "verify" in options else (1,)), options


HOSTILE = {
    "billion laughs": "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "a tag": "mapping: !!python/object/apply:os.system ['touch x']\n",
    "a merge": "mapping: &m {tile: [4]}\nsizes: {<<: *m}\n",
    "a long integer": f"sizes: {{N: {'9' * 100_000}}}\n",
    "an integer of 64 bits": f"sizes: {{N: {2**63}}}\n",
    "an endless float": "verify: {relative_tolerance: 1e999999}\n",
    "the same key twice": "sizes: {N: 4, N: 5}\n",
    "deep": "mapping: " + "[" * 20_000 + "]" * 20_000 + "\n",
    "long": "x" * 1_000_000,
    "wide": "mapping: {tile: [" + "4, " * 200_000 + "4]}\n",
    "two documents": "sizes: {N: 4}\n---\nsizes: {N: 5}\n",
    "a directive": "%TAG ! tag:yaml.org,2002:python/\n---\nsizes: !object {N: 4}\n",
    "zero bytes": "sizes: {N: 4}\0\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_options(name: str, tmp_path: Path) -> None:
    files = {"f.tc": GOOD.encode(), "f.yaml": HOSTILE[name].encode()}
    words = ("compile", "f.tc", "--options", "f.yaml", "-o", "f.cu")
    assert check(Call(words, files, frozenset(("f.cu",))), tmp_path, "strangers") == 1
    assert not (tmp_path / "x").exists()


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(f"{tag} {[a for a, _ in attrs if a.startswith('on')]}")


def test_the_name_of_a_file_in_a_page(tmp_path: Path) -> None:
    """Markup in it is text: the page has the same elements as for an ordinary name."""
    found = []
    for file in ("plain.tc", "<img src=x onerror=alert(1)>.tc", '"><script>alert(1)<"script>.tc'):
        words = ("explain", "--size", "N=64", "--html", "f.html", "--", file)
        call = Call(words, {file: GOOD.encode()}, frozenset(("f.html",)))
        assert check(call, tmp_path, "strangers") == 0
        tags = _Tags()
        tags.feed((tmp_path / "f.html").read_text())
        found.append(tags.found)
    assert found[1] == found[0] == found[2]


def test_words_that_a_shell_asks_to_complete(tmp_path: Path) -> None:
    """They are compared with options, and never run."""
    words = "tcc compile $(touch x) `touch x` ; touch x \x1b[2J --pre"
    environment = {**os.environ, "_TCC_COMPLETE": "bash_complete", "COMP_WORDS": words}
    done = subprocess.run(
        [sys.executable, "-m", "tcc"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=environment | {"COMP_CWORD": "10"},
    )  # fmt: skip
    assert not list(tmp_path.iterdir())
    assert not CONTROL.search(done.stdout + done.stderr)
