"""The key of a request, and plans under canonical names, so that renamed programs share them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tcc import __version__
from tcc.diagnostics import Report
from tcc.driver import Request
from tcc.errors import CompileError
from tcc.frontend.canonical import canonical, canonical_names
from tcc.frontend.elaborate import choose
from tcc.frontend.parser import parse
from tcc.inputs import options_of_source
from tcc.options import given
from tcc.source import Source
from tcc.tune.record import Key

_LINE = re.compile(r"((?:  )*)([A-Za-z_][A-Za-z0-9_]*):(.*\n)")


def key_of(request: Request) -> Key | None:
    """The key of a request; None where no def is meant, which compiling it reports.

    CompileError when the program cannot be parsed.
    """
    report = Report()
    module = parse(request.source, report)
    if report.errors:
        raise CompileError(report.items)
    definition = choose(module, request.entry, Report())
    if definition is None:
        return None
    names = canonical_names(module, definition.name.text)
    short = {spelled: name for name, spelled in names.items() if name != "f0"}
    sizes = sorted((short[n], v) for n, v in request.sizes.items() if n in short)
    return Key(
        canonical(module, definition.name.text),
        tuple(sizes),
        tuple(p.type.scalar.value for p in definition.parameters),
        request.target.name,
        __version__,
        names,
    )


def to_canonical(plan: str, key: Key) -> str:
    """A plan with the canonical names of a program for its own ones, written anew.

    CompileError when it is no options file.
    """
    options = options_of_source(Source("<plan>", plan))
    head = "" if options.preset is None else f"preset: {options.preset}\n"
    back = {spelled: short for short, spelled in key.names.items() if short != "f0"}
    text = head + mapping_text(given(options).get("mapping", {}))
    return _renamed(text, back, {key.entry: "f0"})


def from_canonical(plan: str, key: Key) -> str:
    """A plan as `to_canonical` writes it, with the names of a program. ValueError for others."""
    return _renamed(plan, key.names, {"f0": key.entry})


def mapping_text(mapping: Mapping[str, Any]) -> str:
    """An options file with these mapping options: a line for each leaf."""
    return f"mapping:{_block(mapping, '  ')}\n"


def _renamed(plan: str, names: Mapping[str, str], entries: Mapping[str, str]) -> str:
    """Rename in a text of `mapping_text`, line by line: ten times as fast as to read it."""
    path: list[str] = []
    lines = [_renamed_line(line, path, names, entries) for line in plan.splitlines(keepends=True)]
    if path[:1] not in (["mapping"], ["preset"]):
        raise ValueError("this is no plan")
    return "".join(lines)


def _renamed_line(
    line: str, path: list[str], names: Mapping[str, str], entries: Mapping[str, str]
) -> str:
    """One line; `path` has the tables that it is in, and its own name afterwards."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError("this is no plan")
    indent, name, rest = match.groups()
    del path[len(indent) // 2 :]
    new = name
    match path:
        case ["mapping", "staging"] | ["mapping", "plan", _, "parallel" | "loops" | "staging"]:
            new = names.get(name, name)
        case ["mapping", "plan"]:
            entry, mark, number = name.rpartition("_kernel")
            new = f"{entries.get(entry, entry)}{mark}{number}"
        case ["mapping"] if name == "kernels":
            groups = [[names.get(t, t) for t in group] for group in json.loads(rest)]
            rest = f" {json.dumps(groups)}\n"
        case _:
            pass
    path.append(name)
    return f"{indent}{new}:{rest}"


def _block(table: Mapping[str, Any], indent: str) -> str:
    """A table in lines; lists and scalars on one line."""
    if not table:
        return " {}"
    lines = (
        f"\n{indent}{name}:{_block(value, indent + '  ')}"
        if isinstance(value, Mapping)
        else f"\n{indent}{name}: {json.dumps(value)}"
        for name, value in table.items()
    )
    return "".join(lines)
