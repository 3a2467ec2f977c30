"""The key of a request, and plans under canonical names, so that renamed programs share them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tcc import __version__
from tcc.diagnostics import Report
from tcc.driver import Request
from tcc.errors import CompileError
from tcc.frontend.ast import Definition, Module
from tcc.frontend.canonical import canonical, canonical_names
from tcc.frontend.parser import parse
from tcc.inputs import options_of_source
from tcc.options import given
from tcc.source import Source
from tcc.tune.record import Key


def key_of(request: Request) -> Key | None:
    """The key of a request; None where the entry is open, which compiling it reports.

    CompileError when the program cannot be parsed.
    """
    report = Report()
    module = parse(request.source, report)
    if report.errors:
        raise CompileError(report.items)
    definition = _entry(module, request.entry)
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
    """A plan with the canonical names of a program for its own ones.

    CompileError when it is no options file.
    """
    back = {spelled: short for short, spelled in key.names.items() if short != "f0"}
    return _renamed(plan, back, {key.entry: "f0"})


def from_canonical(plan: str, key: Key) -> str:
    """A plan with the names of a program for the canonical ones."""
    return _renamed(plan, key.names, {"f0": key.entry})


def mapping_text(mapping: Mapping[str, Any]) -> str:
    """An options file with these mapping options: a line for each leaf."""
    return f"mapping:{_block(mapping, '  ')}\n"


def _entry(module: Module, name: str | None) -> Definition | None:
    found = [d for d in module.definitions if name in (None, d.name.text)]
    return found[0] if len(found) == 1 else None


def _renamed(plan: str, names: Mapping[str, str], entries: Mapping[str, str]) -> str:
    options = options_of_source(Source("<plan>", plan))
    mapping = given(options).get("mapping", {})

    def other(name: str) -> str:
        return names.get(name, name)

    def kernel(name: str) -> str:
        entry, mark, number = name.rpartition("_kernel")
        return f"{entries.get(entry, entry)}{mark}{number}"

    if "staging" in mapping:
        mapping["staging"] = _with_keys(mapping["staging"], other)
    if "kernels" in mapping:
        mapping["kernels"] = [[other(t) for t in group] for group in mapping["kernels"]]
    if "plan" in mapping:
        plans = {
            name: {
                part: _with_keys(value, other) if isinstance(value, dict) else value
                for part, value in parts.items()
            }
            for name, parts in mapping["plan"].items()
        }
        mapping["plan"] = _with_keys(plans, kernel)
    preset = {} if options.preset is None else {"preset": options.preset}
    head = "".join(f"{name}: {value}\n" for name, value in preset.items())
    return head + mapping_text(mapping)


def _with_keys(table: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    return {change(name): value for name, value in table.items()}


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
