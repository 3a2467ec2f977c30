"""The page of every code: what it means, a program that triggers it, and how to fix it.

A page is `CODE.md` in this folder: `# CODE: title`, prose, one fenced block (`tc`, `yaml` or
`console`) that triggers exactly this code, then `## Fix` with prose and a block that is accepted.
A line `sizes: N=4` above a block gives the sizes to compile it at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

CODE = re.compile(r"[EW][0-9]{4}")
_TITLE = re.compile(r"# ([EW][0-9]{4}): (.+)\n")
_BLOCK = re.compile(
    r"(?:^sizes: *(?P<sizes>.*)\n\s*)?^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Example:
    """A fenced block of a page."""

    language: str
    text: str
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class Page:
    """One code, explained. `wrong` triggers it, `right` does not."""

    code: str
    title: str
    text: str
    wrong: tuple[Example, ...]
    right: tuple[Example, ...]


def codes() -> tuple[str, ...]:
    """All codes that have a page, in order."""
    names = (entry.name.removesuffix(".md") for entry in files(__name__).iterdir())
    return tuple(sorted(name for name in names if CODE.fullmatch(name)))


def page(code: str) -> Page | None:
    """The page of a code; None when there is no such code."""
    if CODE.fullmatch(code) is None:
        return None
    file = files(__name__) / f"{code}.md"
    return parse(file.read_text("utf-8")) if file.is_file() else None


def parse(text: str) -> Page:
    """A page from its text; ValueError when it has not the form of one."""
    title = _TITLE.match(text)
    if title is None:
        raise ValueError("a page starts with `# CODE: title`")
    before, _, after = text.partition("\n## Fix\n")
    return Page(title[1], title[2], text, _examples(before), _examples(after))


def _examples(text: str) -> tuple[Example, ...]:
    return tuple(
        Example(block["language"], block["text"], _sizes(block["sizes"] or ""))
        for block in _BLOCK.finditer(text)
    )


def _sizes(text: str) -> dict[str, int]:
    pairs = (pair.split("=") for pair in re.split(r"[ ,]+", text.strip()) if pair)
    return {name: int(value) for name, value in pairs}
