"""Text files as sources, and option values that come from Python, through one reader."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcc.diagnostics import Report, error
from tcc.errors import CompileError
from tcc.limits import check_limits
from tcc.options import Options
from tcc.source import Source, Span
from tcc.target import DEFAULT_TARGET, TARGETS, Target


def source_of(name: str, data: bytes) -> Source:
    """The source in a file's bytes; CompileError when they are not UTF-8."""
    try:
        return Source(name, data.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as problem:
        source = Source(name, data.decode("utf-8", "replace"))
        at = len(data[: problem.start].decode("utf-8"))
        message = f"`{name}` is no text in UTF-8"
        label, help = f"byte {data[problem.start]:#x}", ("save it in UTF-8",)
        found = error("E0625", message, Span(source, at, at + 1), label, help=help)
        raise CompileError((found,)) from problem


def read_source(path: Path) -> Source:
    """The source in a file; OSError when it cannot be read."""
    return source_of(str(path), path.read_bytes())


def options_of_source(source: Source) -> Options:
    """The options in a YAML text; CompileError when something in it is wrong."""
    from tcc.options_file import read_options  # noqa: PLC0415  (yaml is loaded when it is needed)

    report = Report()
    options = read_options(source, report)
    if report.errors:
        raise CompileError(report.items)
    return options


def options_of_data(name: str, data: Mapping[str, Any]) -> Options:
    """The options in a Python dict of the same form; errors as in a file called `name`."""
    return options_of_source(Source(name, json.dumps(data, default=_plain)))


def target_of(options: Options, name: str | None) -> Target:
    """The target asked for: by `name`, else by the options, else the default.

    CompileError for options that no kernel on it can follow.
    """
    target = TARGETS[name or options.target or DEFAULT_TARGET]
    report = Report()
    check_limits(options, target, report)
    if report.errors:
        raise CompileError(report.items)
    return target


def _plain(value: object) -> object:
    """Integers of NumPy and its like as Python integers, other values as text."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return str(value)
