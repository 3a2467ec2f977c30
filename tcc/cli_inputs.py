"""The options that commands share, and what they become: sources, options, requests."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tcc.cli_session import Session
from tcc.diagnostics import Diagnostic, Label, error
from tcc.errors import UsageError
from tcc.source import Source, Span
from tcc.target import TARGETS

if TYPE_CHECKING:
    from tcc.driver import Request

F = TypeVar("F", bound=Callable[..., Any])
_SIZE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=([0-9]{1,10})")
LARGEST_SIZE = 2**31 - 1


@dataclass(frozen=True)
class Program:
    """What most commands take: a file, and how to compile it."""

    file: str
    entry: str | None
    options: str | None
    size: tuple[str, ...]
    arch: str | None
    check_bounds: bool = False


def message_format(command: F) -> F:
    """`--message-format`, kept in the session."""

    def keep(context: click.Context, _: click.Parameter, value: str) -> None:
        context.find_root().obj.message_format = value

    return click.option(
        "--message-format",
        type=click.Choice(["text", "short", "json"]),
        default="text",
        metavar="FORM",
        is_eager=True,
        expose_value=False,
        callback=keep,
        help="Diagnostics as text, short or json.  [default: text]",
    )(command)


def program(command: F) -> F:
    """The file, and the options of `Program`."""
    return _program(command, several=False)


def programs(command: F) -> F:
    """The same for several architectures: `arch` is a tuple."""
    return _program(command, several=True)


def _program(command: F, *, several: bool) -> F:
    return click.argument("file", metavar="FILE.tc")(compiling(command, several=several))


def compiling(command: F, *, several: bool = False) -> F:
    """The options of `Program`, without the file."""
    command = message_format(command)
    command = click.option(
        "--check-bounds",
        is_flag=True,
        help="Kernels that stop where a subscript from data is outside.",
    )(command)
    command = click.option(
        "--arch",
        type=click.Choice(list(TARGETS)),
        multiple=several,
        metavar="SM",
        help="GPU architecture, see `tcc targets`"
        + ("; may be repeated." if several else ".")
        + "  [default: sm_90]",
    )(command)
    command = click.option(
        "--size", multiple=True, metavar="NAME=VALUE", help="Value of a size; may be repeated."
    )(command)
    command = click.option("--options", metavar="YAML", help="Options file, see `tcc options`.")(
        command
    )
    return click.option("--entry", metavar="DEF", help="Def to compile, where there are several.")(
        command
    )


def request(session: Session, given: Program) -> Request:
    """The request of a command. CompileError or UsageError when something given is wrong."""
    from tcc.api import request_of
    from tcc.inputs import options_of_source
    from tcc.options import Options

    sizes = _sizes(session, given.size)
    source = read_text(session, given.file)
    options = Options()
    if given.options is not None:
        options = options_of_source(read_text(session, given.options))
    if given.check_bounds:
        options = replace(options, mapping=replace(options.mapping, check_bounds=True))
    return request_of(source, given.entry, sizes, options, given.arch, _places(session, given))


def read_text(session: Session, path: str) -> Source:
    """The text of a file, `-` for standard input; the session keeps it."""
    from tcc.inputs import source_of

    name = "<stdin>" if path == "-" else path
    source = source_of(name, read_bytes(session, path))
    session.read[name] = source.text
    return source


def read_bytes(session: Session, path: str) -> bytes:
    """The contents of a file, `-` for standard input. UsageError when it cannot be read."""
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as problem:
        message, help = f"cannot read `{path}`", (_way_to_read(path, problem),)
        found = error("E0623", message, session.word(path), reason(problem), help=help)
        raise UsageError(message, (found,)) from problem


def cannot_write(session: Session, path: str, problem: OSError) -> UsageError:
    """The failure to write an output."""
    message, help = f"cannot write `{path}`", (_way_to_write(path, problem),)
    found = error("E0624", message, session.word(path), reason(problem), help=help)
    return UsageError(message, (found,))


def _way_to_read(path: str, problem: OSError | ValueError) -> str:
    match problem:
        case FileNotFoundError():
            from tcc.frontend.suggest import closest

            near = closest(Path(path).name, _beside(Path(path)))
            return "check the name and its folder" if near is None else f"did you mean `{near}`?"
        case IsADirectoryError():
            return "name a file in it"
        case PermissionError():
            return "make it readable for you"
        case _:
            return "name another file, or `-` for standard input"


def _beside(path: Path) -> list[str]:
    """The names in the folder of a file, as far as it can be read."""
    try:
        return sorted(p.name for p in path.parent.iterdir())
    except OSError:
        return []


def _way_to_write(path: str, problem: OSError) -> str:
    match problem:
        case FileNotFoundError():
            return f"make the folder first: `mkdir -p {Path(path).parent}`"
        case IsADirectoryError():
            return "name a file in it"
        case _:
            return "name a file in a folder of yours that has room"


def reason(problem: OSError | ValueError) -> str:
    """Why a file is out of reach, in lower case: `no such file or directory`."""
    text = problem.strerror if isinstance(problem, OSError) else None
    return (text or str(problem)).lower()


def _places(session: Session, given: Program) -> dict[str, Span]:
    """Where the entry and the names of the sizes stand in the command line."""
    found = {} if given.entry is None else {"entry": session.value("--entry", given.entry)}
    for text in given.size:
        word, name = session.value("--size", text), text.partition("=")[0]
        found[f"sizes.{name}"] = Span(word.source, word.start, word.start + len(name))
    return found


def _sizes(session: Session, texts: tuple[str, ...]) -> Mapping[str, int]:
    """The sizes of all `--size`. UsageError, with every mistake, when one is wrong."""
    found: list[Diagnostic] = []
    first: dict[str, str] = {}
    for position, text in enumerate(texts):
        span = session.word(text, texts[:position].count(text))
        match = _SIZE.fullmatch(text)
        if match is None or not 1 <= int(match[2]) <= LARGEST_SIZE:
            label = "needs `NAME=VALUE` with a value from 1 to 2^31 - 1"
            help = ("for example: `--size M=1024`",)
            found.append(error("E0621", f"cannot read the size `{text}`", span, label, help=help))
        elif first.get(match[1], text) != text:
            before = Label(session.word(first[match[1]]), "first value")
            message = f"size `{match[1]}` is given twice"
            found.append(
                error(
                    "E0622",
                    message,
                    span,
                    "another value",
                    secondary=(before,),
                    help=("remove one of them",),
                )
            )
        else:
            first[match[1]] = text
    if found:
        raise UsageError(found[0].message, found)
    return {name: int(text.partition("=")[2]) for name, text in first.items()}
