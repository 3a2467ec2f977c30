"""Makefile rules that say which inputs an output was made from, for make, Ninja and CMake."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tcc.errors import UsageError


def depfile(outputs: Sequence[str], inputs: Sequence[str]) -> str:
    """One rule `outputs: inputs`, and an empty rule for each input, escaped for GNU make.

    An input that is gone then means a new build, instead of an error about a missing file (as
    with `gcc -MP`). UsageError for a name that no rule can hold: one with a control character, a
    semicolon or a backslash at its end, or an output with an equals sign.
    """
    sources = [_escaped(name, "").replace("|", r"\|") for name in inputs]
    rule = f"{_targets(outputs)}: {_guarded(' '.join(sources))}\n"
    # Make has no way to write a target with an equals sign.
    return rule + "".join(f"{_targets([name])}:\n" for name in inputs if "=" not in name)


def _targets(names: Sequence[str]) -> str:
    return " ".join(_escaped(name, "=").replace("%", r"\%") for name in names)


def _escaped(name: str, also_refused: str) -> str:
    refused = f";\x7f{also_refused}"
    if name.endswith("\\") or any(ord(c) < ord(" ") or c in refused for c in name):
        raise UsageError(f"a dependency file cannot hold the name {name!r}")
    # Backslashes are literal except before something that a backslash would quote.
    quoted = re.sub(r"(\\*)([ #:*?\[])", r"\1\1\\\2", name)
    return f"{'./' if name.startswith('~') else ''}{quoted.replace('$', '$$')}"


def _guarded(names: str) -> str:
    """Make takes `a=b` at the start for a variable; an empty expansion before it prevents that."""
    return f"$() {names}" if "=" in names else names
