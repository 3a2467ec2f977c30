"""The emitted code beside the statements it came from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup

from tcc.explain.facts import Explanation
from tcc.explain.markup import element
from tcc.kernel.safe_text import comment_text

_WORD = re.compile(
    r"//.*$|\b(?:for|if|else|const|int|float|double|void|return|unsigned|long)\b|#\w+"
)


def code_beside(explanation: Explanation) -> Markup:
    """Two columns: the program, and the emitted file. Both mark their lines with a statement."""
    compilation = explanation.compilation
    artifact = compilation.artifact
    text = artifact.cuda_source if artifact else ""
    numbers = {comment_text(s.text): k for k, s in enumerate(explanation.program.statements)}
    source = element("pre", *_source(explanation), class_="source")
    emitted = element("pre", *_emitted(text, numbers), class_="emitted", tabindex=0)
    return element("div", source, emitted, class_="code")


def _source(explanation: Explanation) -> Iterator[Markup]:
    """The statements as they were typed; those of a called def where they are put in."""
    yield element("span", f"def {explanation.program.name}\n", class_="line")
    for number, statement in enumerate(explanation.program.statements):
        text = f"  {statement.text}\n"
        yield element("span", text, class_="line s", data_s=number, tabindex=0)


def _emitted(text: str, numbers: dict[str, int]) -> Iterator[Markup]:
    """Every line; those of a kernel belong to the statement whose comment is above them."""
    current: int | None = None
    for line in text.rstrip("\n").split("\n"):
        if not line.startswith(" "):
            current = None
        elif line.lstrip().startswith("// "):
            current = numbers.get(line.lstrip().removeprefix("// "), current)
        marked = "line" if current is None else "line s"
        yield element("span", *_coloured(line), "\n", class_=marked, data_s=current)


def _coloured(line: str) -> Iterator[Markup | str]:
    """Comments and keywords stand out."""
    at = 0
    for match in _WORD.finditer(line):
        yield line[at : match.start()]
        kind = "comment" if match[0].startswith("//") else "keyword"
        yield element("i", match[0], class_=kind)
        at = match.end()
    yield line[at:]
