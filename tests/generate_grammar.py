"""The TextMate grammar, made from the words of the compiler; `make docs` writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tcc.frontend.builtins import BUILTINS
from tcc.frontend.tokens import ASSIGNMENTS, KEYWORDS, PRECEDENCE
from tcc.scalar import SPELLINGS
from tests.doc_blocks import ROOT

PATH = ROOT / "editors" / "vscode" / "syntaxes" / "tc.tmLanguage.json"
NAME = r"[A-Za-z_]\w*"
NUMBER = r"(?<!\w)(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w)"
CALLED = frozenset({"min", "max"})
OPERATORS = {*ASSIGNMENTS, *PRECEDENCE, "->", "<=>", "?", ":", "!"}


def grammar() -> dict[str, Any]:
    """The grammar as plain data."""
    return {
        "name": "Tensor Comprehensions",
        "scopeName": "source.tc",
        "fileTypes": ["tc"],
        "patterns": [
            rule("comment.line.number-sign.tc", "#.*$"),
            {
                "match": rf"\b(def)\s+({NAME})",
                "captures": {
                    "1": {"name": "keyword.control.tc"},
                    "2": {"name": "entity.name.function.tc"},
                },
            },
            rule("keyword.operator.tc", f"(?:{any_of(CALLED)})=!?"),
            rule("keyword.control.tc", words(KEYWORDS - CALLED)),
            rule("storage.type.tc", words(SPELLINGS)),
            rule("support.function.builtin.tc", words({*BUILTINS, *CALLED})),
            rule("variable.other.tc", rf"\b{NAME}"),
            rule("constant.numeric.tc", NUMBER),
            rule("keyword.operator.tc", any_of(OPERATORS - {f"{w}=" for w in CALLED})),
            rule("punctuation.tc", r"[(){},.]"),
        ],
    }


def rule(scope: str, match: str) -> dict[str, str]:
    """A pattern with its scope."""
    return {"name": scope, "match": match}


def words(names: Iterable[str]) -> str:
    """A pattern of whole words."""
    return rf"\b(?:{any_of(names)})\b"


def any_of(texts: Iterable[str]) -> str:
    """A pattern of any of the texts, the longest that fits."""
    return "|".join(re.escape(t) for t in sorted(texts, key=lambda t: (-len(t), t)))


def text() -> str:
    """The file."""
    return json.dumps(grammar(), indent=2) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
