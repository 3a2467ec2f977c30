"""The code blocks of the documents: what they hold, and how what they promise is checked.

The word after the three backticks says what a block is, the words after it what it promises:

    tc ok            is accepted without a finding (`N=4` gives a size, `entry=f` picks the def)
    tc warn W0211    is accepted with exactly these warnings
    tc reject E0401  is rejected with exactly these codes
    yaml ok          is a valid options file; `yaml reject E0501` is not
    console          commands after `$ `, run by bash, with all that they print; not run where
                     `needs=TOOL,TOOL` names a program that is missing
    pycon, python    runs; what a `>>>` prints is compared. Not run where `needs=MODULE` names one
                     that is missing

`file=NAME` writes a block to a file for the blocks below it. All blocks of a document run in one
folder, which has the `specs`. In an expected output, `...` stands for any text, and a line of
nothing but `...` for any lines; times in milliseconds may differ. A command may fail where the
output shows an error, or where `echo $?` follows. Blocks in `sh`, `text`, `ebnf`
and `mermaid` are for the eyes only; `sh install` is run by tests/test_tutorial.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
SILENT = ("sh", "text", "ebnf", "mermaid")
RUNS = ("console", "pycon", "python")

_FENCE = re.compile(r"^```(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TIME = re.compile(r" *\b[0-9]+\.[0-9]+ ms\b")
_PROMPT, _MORE = "$ ", "> "


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is that of its first line of text."""

    document: str
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def name(self) -> str:
        """For test names and messages."""
        return f"{self.document}:{self.line}"

    @property
    def file(self) -> str | None:
        """The file that the block writes."""
        return self._value("file")

    @property
    def needs(self) -> tuple[str, ...]:
        """The programs without which the block cannot run."""
        value = self._value("needs")
        return () if value is None else tuple(value.split(","))

    @property
    def entry(self) -> str | None:
        """The def to compile."""
        return self._value("entry")

    @property
    def sizes(self) -> dict[str, int]:
        """Given sizes: words such as `N=4`."""
        pairs = (word.split("=") for word in self.words if re.fullmatch(r"[A-Z]\w*=\d+", word))
        return {name: int(value) for name, value in pairs}

    @property
    def codes(self) -> set[str]:
        """The codes that the block promises."""
        return {word for word in self.words if re.fullmatch(r"[EW]\d{4}", word)}

    @property
    def promises(self) -> bool:
        """Whether the block says of itself what the compiler says of it."""
        return bool({"ok", "warn", "reject"} & set(self.words))

    def _value(self, key: str) -> str | None:
        found = (word.partition("=") for word in self.words)
        return next((value for name, _, value in found if name == key), None)


@dataclass(frozen=True)
class Command:
    """One command of a `console` block, and what it prints."""

    text: str
    output: tuple[str, ...]


def blocks(path: Path) -> tuple[Block, ...]:
    """All fenced blocks of a document, in order."""
    text = path.read_text("utf-8")
    found = []
    for match in _FENCE.finditer(text):
        language, *words = match[1].split() or [""]
        line = text.count("\n", 0, match.start()) + 2
        name = path.relative_to(ROOT).as_posix()
        found.append(Block(name, line, language, tuple(words), match[2]))
    return tuple(found)


def commands(block: Block) -> list[Command]:
    """The commands of a `console` block; `> ` goes on with the command above."""
    found: list[Command] = []
    for line in block.text.splitlines():
        last = found[-1] if found else None
        if line.startswith(_PROMPT):
            found.append(Command(line.removeprefix(_PROMPT), ()))
        elif last is None:
            raise ValueError(f"{block.name}: a console block starts with `$ `")
        elif line.startswith(_MORE) and not last.output:
            found[-1] = Command(f"{last.text}\n{line.removeprefix(_MORE)}", ())
        else:
            found[-1] = Command(last.text, (*last.output, line))
    return found


def agrees(expected: str, actual: str) -> bool:
    """Whether a text is the one that was promised, as far as that says."""
    return re.fullmatch(_pattern(_lines(expected)), "".join(_lines(actual))) is not None


def _pattern(lines: list[str]) -> str:
    any_lines, any_text = "...\n", re.escape("...")
    parts = (
        "(?:.*\n)*?" if line.lstrip() == any_lines else re.escape(line).replace(any_text, ".*?")
        for line in lines
    )
    return "".join(parts)


def _lines(text: str) -> list[str]:
    stripped = (_TIME.sub(" # ms", line.rstrip()) for line in text.strip("\n").splitlines())
    return [f"{line}\n" for line in stripped]
